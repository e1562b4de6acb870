// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stopper PID... - stops each process by ptrace, as a debugger would, and lets it go on.
 *
 * One that is gone, or that another tracer has, is left out. Prints how many were stopped.
 */
#define _GNU_SOURCE
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

/* How long a stopped process stays so. */
#define STOPPED_US 5000

int main(int argc, char **argv)
{
	int i, nr = 0;

	for (i = 1; i < argc; i++) {
		pid_t pid = (pid_t)number(argv[i]);

		if (ptrace(PTRACE_SEIZE, pid, 0, 0))
			continue;
		if (!ptrace(PTRACE_INTERRUPT, pid, 0, 0) && waitpid(pid, NULL, __WALL) == pid) {
			usleep(STOPPED_US);
			nr++;
		}
		ptrace(PTRACE_DETACH, pid, 0, 0);
	}
	printf("%d\n", nr);
	return 0;
}
