// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * forks RATE - makes RATE processes per second until it is told to end (SIGTERM), and then prints
 * how many there were, in how many milliseconds.
 *
 * A child sleeps for a millisecond. Every 64th forks a grandchild that lives for some seconds, and
 * ends itself, so that the grandchild's parent is gone. The others share the memory of their
 * parent, because copying it is what a guest takes most of the time for. What is tested with it
 * must find tasks that are born while it looks.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

#define NR_CHILDREN 512
#define STACK 4096

/* A child that shares our memory; the kernel writes 0 into `tid` when it has left it. */
static struct {
	char stack[STACK] __attribute__((aligned(16)));
	volatile pid_t tid;
} children[NR_CHILDREN];

static const struct timespec nap = { .tv_nsec = 1000000 }, life = { .tv_sec = 8 };
static volatile sig_atomic_t ended;

static void end(int signal)
{
	(void)signal;
	ended = 1;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

static int sleep_once(void *unused)
{
	(void)unused;
	syscall(SYS_nanosleep, &nap, NULL);
	return 0;
}

/* False when all are still there. */
static int share(void)
{
	size_t i;

	for (i = 0; i < NR_CHILDREN && children[i].tid; i++)
		;
	if (i == NR_CHILDREN)
		return 0;
	children[i].tid = -1;
	if (clone(sleep_once, children[i].stack + STACK,
		  CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD, NULL, NULL, NULL,
		  &children[i].tid) < 0)
		die("clone");
	return 1;
}

static void orphan(void)
{
	if (fork())
		return;
	if (fork() == 0) {
		/* Ends with the session of forks at the latest; see main. */
		signal(SIGTERM, SIG_DFL);
		nanosleep(&life, NULL);
		_exit(0);
	}
	nanosleep(&nap, NULL);
	_exit(0);
}

int main(int argc, char **argv)
{
	uint64_t rate = argc == 2 ? number(argv[1]) : 0, began, nr = 0;

	if (!rate)
		quit("usage: forks RATE");
	setsid();
	signal(SIGTERM, end);
	signal(SIGCHLD, SIG_IGN); /* the kernel reaps them */
	began = now_ns();
	while (!ended) {
		uint64_t due = began + nr * 1000000000ull / rate, now = now_ns();

		if (now < due) {
			const struct timespec until = { due / 1000000000, due % 1000000000 };

			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
			continue;
		}
		if (nr % 64 == 63) {
			orphan();
		} else if (!share()) {
			nanosleep(&nap, NULL);
			continue;
		}
		nr++;
	}
	printf("%llu %llu\n", (unsigned long long)nr,
	       (unsigned long long)(now_ns() - began) / 1000000);
	fflush(stdout);
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM); /* the grandchildren, and nobody else in this session */
	return 0;
}
