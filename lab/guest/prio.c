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
#include <dirent.h>
#include <unistd.h>

#include "guest.h"

#define MAX_THREADS	1024

static int has_name(const char *pid, const char *name)
{
	char path[300], comm[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (!fgets(comm, sizeof(comm), file))
		comm[0] = '\0';
	fclose(file);
	comm[strcspn(comm, "\n")] = '\0';
	if (!strstr(comm, name))
		return 0;
	printf("%s %s\n", pid, comm);
	return 1;
}

/* Gives all of them the priority, and returns how many are left. */
static int set(pid_t *threads, int nr, int priority)
{
	struct sched_param param = { .sched_priority = priority };
	int i, left = 0;

	for (i = 0; i < nr; i++) {
		if (!sched_setscheduler(threads[i], priority ? SCHED_FIFO : SCHED_OTHER, &param))
			threads[left++] = threads[i];
		else if (errno != ESRCH)
			die("priority of %d", threads[i]);
	}
	return left;
}

int main(int argc, char **argv)
{
	pid_t threads[MAX_THREADS];
	struct dirent *entry;
	int nr = 0, turn;
	DIR *proc;

	if (argc != 3 && argc != 5)
		quit("usage: prio PRIORITY NAME [PRIORITY MS]");
	proc = opendir("/proc");
	if (!proc)
		die("/proc");
	while (nr < MAX_THREADS && (entry = readdir(proc))) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    has_name(entry->d_name, argv[2]))
			threads[nr++] = atoi(entry->d_name);
	}
	nr = set(threads, nr, number(argv[1]));
	errno = 0;
	if (!nr)
		die("no thread whose name contains %s", argv[2]);
	for (turn = 1; argc == 5 && nr; turn = !turn) {
		usleep(number(argv[4]) * 1000);
		nr = set(threads, nr, number(argv[turn ? 3 : 1]));
	}
	return 0;
}
