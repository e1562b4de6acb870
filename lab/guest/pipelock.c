// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pipelock N: the longest wait for a pipe's mutex in N times, nanoseconds.
 *
 * One task writes and reads a pipe by the megabyte, and with that holds its mutex nearly always,
 * without ever sleeping; the other one asks every 20 ms what there is to read, which needs the
 * mutex for a few instructions. Both are ordinary tasks of one CPU: how long the second one
 * waits says whether the mutex is ever handed over.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

#define PIPE_BYTES (1 << 20)

static char buffer[PIPE_BYTES];

static void keep(const int *ends, pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	for (;;)
		if (write(ends[1], buffer, PIPE_BYTES) != PIPE_BYTES ||
		    read(ends[0], buffer, PIPE_BYTES) != PIPE_BYTES)
			_exit(1);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static uint64_t ask(int end)
{
	uint64_t asked = now();
	int bytes;

	if (ioctl(end, FIONREAD, &bytes))
		die("FIONREAD");
	return now() - asked;
}

int main(int argc, char **argv)
{
	uint64_t longest = 0, times = argc == 2 ? number(argv[1]) : 0;
	pid_t parent = getpid(), keeper;
	cpu_set_t first;
	int ends[2];

	if (!times)
		quit("usage: pipelock N");
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	memset(buffer, 1, sizeof(buffer));
	if (sched_setaffinity(0, sizeof(first), &first))
		die("CPU 0");
	if (pipe(ends) || fcntl(ends[0], F_SETPIPE_SZ, PIPE_BYTES) < PIPE_BYTES)
		die("a pipe of %d bytes", PIPE_BYTES);
	keeper = fork();
	if (keeper < 0)
		die("fork");
	if (keeper == 0)
		keep(ends, parent);
	for (uint64_t i = 0; i < times; i++) {
		uint64_t waited;

		usleep(20000);
		waited = ask(ends[0]);
		if (waited > longest)
			longest = waited;
	}
	errno = 0;
	if (waitpid(keeper, NULL, WNOHANG))
		die("nobody kept the mutex");
	kill(keeper, SIGKILL);
	printf("%llu\n", (unsigned long long)longest);
	return 0;
}
