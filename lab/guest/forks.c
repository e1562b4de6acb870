// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * forks RATE - forks RATE children per second until it is told to end (SIGTERM), and then prints
 * how many there were, in how many milliseconds.
 *
 * A child sleeps for a millisecond. Every 64th forks a grandchild that lives until forks ends,
 * and ends itself, so that the grandchild's parent is gone. What is tested with it must find
 * tasks that are born while it looks.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

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

static void child(int orphan)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	if (orphan && fork() == 0) {
		/* Ends with the session of forks; see main. */
		signal(SIGTERM, SIG_DFL);
		for (;;)
			pause();
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
	began = now_ns();
	while (!ended) {
		uint64_t due = began + nr * 1000000000ull / rate, now = now_ns();

		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (now < due) {
			const struct timespec until = { due / 1000000000, due % 1000000000 };

			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
			continue;
		}
		if (fork() == 0)
			child(nr % 64 == 63);
		nr++;
	}
	printf("%llu %llu\n", (unsigned long long)nr,
	       (unsigned long long)(now_ns() - began) / 1000000);
	fflush(stdout);
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM); /* the grandchildren, and nobody else in this session */
	return 0;
}
