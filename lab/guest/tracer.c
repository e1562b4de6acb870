// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tracer MS PID... - is the tracer of each process for so many milliseconds, and does not stop them.
 *
 * One that is gone, or that another tracer has, is left out. Prints how many it has.
 */
#define _GNU_SOURCE
#include <sys/ptrace.h>
#include <unistd.h>

#include "guest.h"

int main(int argc, char **argv)
{
	int i, nr = 0;

	if (argc < 3)
		quit("usage: tracer MS PID...");
	for (i = 2; i < argc; i++)
		nr += !ptrace(PTRACE_SEIZE, (pid_t)number(argv[i]), 0, 0);
	printf("%d\n", nr);
	fflush(stdout);
	/* They are let go when this process ends. */
	usleep(number(argv[1]) * 1000);
	return 0;
}
