// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * stopper PID... - stops each process by ptrace, as a debugger would, and lets it go on.
 * stopper -a MS PID... - is their tracer for so many milliseconds, and does not stop them.
 *
 * One that is gone, or that another tracer has, is left out. Prints how many it had.
 */
#define _GNU_SOURCE
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

/* How long a stopped process stays so. */
#define STOPPED_US 5000

static int stop(pid_t pid)
{
	int stopped;

	if (ptrace(PTRACE_SEIZE, pid, 0, 0))
		return 0;
	stopped = !ptrace(PTRACE_INTERRUPT, pid, 0, 0) && waitpid(pid, NULL, __WALL) == pid;
	if (stopped)
		usleep(STOPPED_US);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	return stopped;
}

/* They are let go when this process ends. */
static int attach(char **pids, unsigned int ms)
{
	int nr = 0;

	for (; *pids; pids++)
		nr += !ptrace(PTRACE_SEIZE, (pid_t)number(*pids), 0, 0);
	printf("%d\n", nr);
	fflush(stdout);
	usleep(ms * 1000);
	return 0;
}

int main(int argc, char **argv)
{
	int i, nr = 0;

	if (argc > 2 && !strcmp(argv[1], "-a"))
		return attach(argv + 3, number(argv[2]));
	for (i = 1; i < argc; i++)
		nr += stop((pid_t)number(argv[i]));
	printf("%d\n", nr);
	return 0;
}
