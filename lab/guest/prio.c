// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * prio - gives every thread whose name contains NAME a FIFO priority (0: back to SCHED_OTHER), and with four
 * arguments another one and this one by turns, each for MS, until all of them are gone.
 *
 * What `chrt` would do for one process id, for threads that are known by name only: the interrupt
 * threads (irq/24-intsight0), ksoftirqd, ktimers. Prints what it changed; finding nothing is an
 * error, so that a run with a wrong name cannot pass for a tuned one.
 */
#define _GNU_SOURCE
#include "tasks.h"

static const char *name;
static struct tasks tasks;

static int is_named(const char *comm)
{
	return strstr(comm, name) != NULL;
}

/* Gives all of them the priority, and forgets those that are gone. */
static void set(int priority)
{
	struct sched_param param = { .sched_priority = priority };
	int i, left = 0;

	for (i = 0; i < tasks.nr; i++) {
		if (!sched_setscheduler(tasks.task[i].pid, priority ? SCHED_FIFO : SCHED_OTHER, &param))
			tasks.task[left++] = tasks.task[i];
		else if (errno != ESRCH)
			die("priority of %d", tasks.task[i].pid);
	}
	tasks.nr = left;
}

int main(int argc, char **argv)
{
	int turn, i;

	if (argc != 3 && argc != 5)
		quit("usage: prio PRIORITY NAME [PRIORITY MS]");
	name = argv[2];
	find(&tasks, is_named);
	for (i = 0; i < tasks.nr; i++)
		printf("%d %s\n", tasks.task[i].pid, tasks.task[i].comm);
	fflush(stdout);
	set(number(argv[1]));
	errno = 0;
	if (!tasks.nr)
		die("no thread whose name contains %s", name);
	for (turn = 1; argc == 5 && tasks.nr; turn = !turn) {
		usleep(number(argv[4]) * 1000);
		set(number(argv[turn ? 3 : 1]));
	}
	return 0;
}
