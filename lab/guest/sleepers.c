// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sleepers - tasks that sleep by one kind of timer, to see on which CPU their timers expire.
 *
 *   sleepers KIND TASKS PERIOD_US PRIORITY SECONDS
 *
 * KIND is hrtimer (clock_nanosleep(2)), wheel (a timeout of recv(2), a timer of the kernel's timer
 * wheel), or kept: nobody sleeps, and the kernel's keep-alive timers of TASKS TCP connections expire
 * once a second, each set again by its own expiry. Where a PRIORITY is not 0, tasks are SCHED_FIFO.
 * Prints the number of wakeups, and by how much they came too late in the mean and at most, in ns.
 * A timeout of recv(2) is a number of ticks, which the lateness of `wheel` contains.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

#define NSEC	1000000000ULL

struct late {
	uint64_t nr, sum_ns, max_ns;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NSEC + now.tv_nsec;
}

static int silent_socket(uint64_t period_ns)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct timeval limit = { .tv_sec = period_ns / NSEC, .tv_usec = period_ns % NSEC / 1000 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		die("socket with a timeout");
	return fd;
}

static struct late sleep_until(uint64_t end_ns, uint64_t period_ns, int fd)
{
	struct late late = { 0 };
	uint64_t due = now_ns(), now;
	struct timespec at;
	char byte;

	while (due < end_ns) {
		if (fd < 0) {
			due += period_ns;
			at = (struct timespec){ .tv_sec = due / NSEC, .tv_nsec = due % NSEC };
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		} else {
			due = now_ns() + period_ns;
			recv(fd, &byte, 1, 0);
		}
		now = now_ns();
		late.nr++;
		if (now <= due)
			continue; /* a timeout in ticks, which began late in one */
		late.sum_ns += now - due;
		if (late.max_ns < now - due)
			late.max_ns = now - due;
	}
	return late;
}

static void keep_alive(uint64_t connections)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd, yes = 1;

	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, connections) || getsockname(listener, (struct sockaddr *)&address, &length))
		die("listener");
	for (uint64_t i = 0; i < connections; i++) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &yes, sizeof(yes)) ||
		    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &yes, sizeof(yes)) ||
		    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof(yes)) ||
		    connect(fd, (struct sockaddr *)&address, length))
			die("connection");
	}
}

int main(int argc, char **argv)
{
	uint64_t tasks, period_ns, priority, end_ns;
	struct late all = { 0 }, one;
	int wheel, results[2];

	if (argc != 6)
		quit("usage: sleepers hrtimer|wheel|kept TASKS PERIOD_US PRIORITY SECONDS");
	wheel = !strcmp(argv[1], "wheel");
	tasks = number(argv[2]);
	period_ns = number(argv[3]) * 1000;
	priority = number(argv[4]);
	end_ns = now_ns() + number(argv[5]) * NSEC;
	if (!strcmp(argv[1], "kept")) {
		keep_alive(tasks);
		sleep(number(argv[5]));
		return 0;
	}
	if (priority)
		be_fifo(priority);
	if (pipe(results))
		die("pipe");
	for (uint64_t i = 0; i < tasks; i++) {
		pid_t child = fork();

		if (child < 0)
			die("fork");
		if (!child) {
			one = sleep_until(end_ns, period_ns, wheel ? silent_socket(period_ns) : -1);
			if (write(results[1], &one, sizeof(one)) != sizeof(one))
				die("result");
			return 0;
		}
	}
	for (uint64_t i = 0; i < tasks; i++) {
		if (read(results[0], &one, sizeof(one)) != sizeof(one))
			die("result");
		all.nr += one.nr;
		all.sum_ns += one.sum_ns;
		if (all.max_ns < one.max_ns)
			all.max_ns = one.max_ns;
	}
	printf("wakeups %llu\nlate_ns %llu\nlatest_ns %llu\n", (unsigned long long)all.nr,
	       (unsigned long long)(all.nr ? all.sum_ns / all.nr : 0), (unsigned long long)all.max_ns);
	return 0;
}
