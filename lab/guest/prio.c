// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * prio - gives every thread whose name contains NAME a FIFO priority (0: back to SCHED_OTHER).
 *
 * What `chrt` would do for one process id, for threads that are known by name only: the interrupt
 * threads (irq/24-intsight0), ksoftirqd, ktimers. Prints what it changed; finding nothing is an
 * error, so that a run with a wrong name cannot pass for a tuned one.
 */
#define _GNU_SOURCE
#include <dirent.h>

#include "guest.h"

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

int main(int argc, char **argv)
{
	struct sched_param param = { 0 };
	struct dirent *entry;
	int found = 0;
	DIR *proc;

	if (argc != 3)
		die("usage: prio PRIORITY NAME");
	param.sched_priority = number(argv[1]);
	proc = opendir("/proc");
	if (!proc)
		die("/proc");
	while ((entry = readdir(proc))) {
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    !has_name(entry->d_name, argv[2]))
			continue;
		if (sched_setscheduler(atoi(entry->d_name),
				       param.sched_priority ? SCHED_FIFO : SCHED_OTHER, &param))
			die("priority of %s", entry->d_name);
		found = 1;
	}
	errno = 0;
	if (!found)
		die("no thread whose name contains %s", argv[2]);
	return 0;
}
