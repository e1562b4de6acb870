// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hog N: N processes that never sleep, until this one is killed or its input ends.
 *
 * The load of an experiment: ordinary scheduling class, no memory traffic, no system calls, so
 * that what it does to a path is preemption and nothing else. Prints one line when every process
 * runs, so that a job can wait for it. The children die with the parent.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static void spin(pid_t parent)
{
	const struct sched_param none = { 0 };

	/* The parent may have a priority, so that it can start them all at once. */
	if (sched_setscheduler(0, SCHED_OTHER, &none))
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	/* One jump in many instructions: the translator that counts them is ten times as fast. */
	for (;;)
		__asm__ volatile(".rept 500\n\tnop\n\t.endr" ::: "memory");
}

int main(int argc, char **argv)
{
	long nr = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
	pid_t parent = getpid();
	char end;

	if (nr < 1 || nr > 4096) {
		fprintf(stderr, "usage: hog N (1..4096)\n");
		return 2;
	}
	for (long i = 0; i < nr; i++) {
		pid_t child = fork();

		if (child < 0) {
			perror("hog: fork");
			return 2;
		}
		if (child == 0)
			spin(parent);
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &end, 1) < 0 && errno == EINTR)
		;
	return 0;
}
