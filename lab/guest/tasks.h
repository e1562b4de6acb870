/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tasks.h - the tasks of certain names, for programs that do something to them.
 */
#ifndef TASKS_H
#define TASKS_H

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "guest.h"

#define MAX_TASKS	1024
/* A worker's name in /proc is longer than TASK_COMM_LEN. */
#define MAX_COMM	64

struct tasks {
	int nr;
	struct {
		pid_t pid;
		char comm[MAX_COMM];
	} task[MAX_TASKS + 1];
};

/* Whether the task is there; its name without the line's end. */
static inline int read_comm(const char *pid, char *comm)
{
	char path[300];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return 0;
	len = read(fd, comm, MAX_COMM);
	close(fd);
	if (len <= 0)
		return 0;
	comm[len - 1] = '\0';
	return 1;
}

static inline void find(struct tasks *tasks, int (*is_one)(const char *comm))
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (!proc)
		die("/proc");
	tasks->nr = 0;
	while ((entry = readdir(proc))) {
		/* One more than fits, for a name that is not wanted. */
		char *comm = tasks->task[tasks->nr].comm;

		if (!isdigit(entry->d_name[0]) || !read_comm(entry->d_name, comm) || !is_one(comm))
			continue;
		tasks->task[tasks->nr++].pid = atoi(entry->d_name);
		if (tasks->nr > MAX_TASKS)
			quit("more tasks of this name than expected");
	}
	closedir(proc);
}

#endif /* TASKS_H */
