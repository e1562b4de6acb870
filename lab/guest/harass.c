// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * harass FAULT MS COUNT STOP [NAME]... - every MS does something to the tasks of these names until there is
 * a file STOP.
 *
 * FAULT: kill one of them (SIGKILL), move each to other CPUs, demote (give each FIFO task another
 * priority, 40 to 89, and the threads of the test devices' interrupts one, too, 1 to 98), trace each (stop it as a
 * debugger does, and let it go on), freeze all of them (cgroup v2). How often that went well is added to
 * the number in the file COUNT. What is gone by then is no error.
 *
 * One program, as on a kernel that checks all that it does a shell that starts one for each step comes
 * to a step every few seconds.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define MAX_TASKS	128
#define STOPPED_US	5000
#define FROZEN_US	20000
#define FREEZER		"/tmp/cgroup/targets/"
/* Who has this directory, has no CPU go off or come back meanwhile: see torture.sh. */
#define CPUS_STAY	"/tmp/moving"

static char **names;
static pid_t tasks[MAX_TASKS];
static int nr_tasks;

static int below(int limit)
{
	return rand() % limit;
}

static int read_comm(const char *pid, char *comm, size_t size)
{
	char path[300];
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return 0;
	len = read(fd, comm, size - 1);
	close(fd);
	if (len <= 0)
		return 0;
	comm[len - 1] = '\0';
	return 1;
}

static int is_named(const char *comm)
{
	char **name;

	for (name = names; *name; name++) {
		if (!strcmp(*name, comm))
			return 1;
	}
	return 0;
}

static int is_devices_thread(const char *comm)
{
	return !strncmp(comm, "irq/", 4) && (strstr(comm, "-intsight") || strstr(comm, "-isight"));
}

static void find(int (*is_one)(const char *comm))
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	char comm[64];

	if (!proc)
		die("/proc");
	nr_tasks = 0;
	while (nr_tasks < MAX_TASKS && (entry = readdir(proc))) {
		if (isdigit(entry->d_name[0]) && read_comm(entry->d_name, comm, sizeof(comm)) &&
		    is_one(comm))
			tasks[nr_tasks++] = atoi(entry->d_name);
	}
	closedir(proc);
}

static int kill_one(void)
{
	find(is_named);
	return nr_tasks && !kill(tasks[below(nr_tasks)], SIGKILL);
}

static int move(void)
{
	int nr = 0, nr_cpus = sysconf(_SC_NPROCESSORS_CONF), i, cpu, mask;

	find(is_named);
	while (mkdir(CPUS_STAY, 0700)) {
		if (errno != EEXIST)
			die(CPUS_STAY);
		usleep(10000);
	}
	for (i = 0; i < nr_tasks; i++) {
		cpu_set_t cpus;

		CPU_ZERO(&cpus);
		mask = 1 + below((1 << nr_cpus) - 1);
		for (cpu = 0; cpu < nr_cpus; cpu++) {
			if (mask & 1 << cpu)
				CPU_SET(cpu, &cpus);
		}
		nr += !sched_setaffinity(tasks[i], sizeof(cpus), &cpus);
	}
	rmdir(CPUS_STAY);
	return nr;
}

/* Ordinary tasks may compute all the time, and stay what they are; threads of interrupts do not. */
static int reprioritise(int lowest, int nr_priorities, int also_ordinary)
{
	int nr = 0, i;

	for (i = 0; i < nr_tasks; i++) {
		struct sched_param param = { .sched_priority = lowest + below(nr_priorities) };

		if (also_ordinary || sched_getscheduler(tasks[i]) == SCHED_FIFO)
			nr += !sched_setscheduler(tasks[i], SCHED_FIFO, &param);
	}
	return nr;
}

static int demote(void)
{
	int nr;

	find(is_devices_thread);
	nr = reprioritise(1, 98, 1);
	find(is_named);
	return nr + reprioritise(40, 50, 0);
}

static int trace(void)
{
	int nr = 0, i;

	find(is_named);
	for (i = 0; i < nr_tasks; i++) {
		if (ptrace(PTRACE_SEIZE, tasks[i], 0, 0))
			continue;
		if (!ptrace(PTRACE_INTERRUPT, tasks[i], 0, 0) &&
		    waitpid(tasks[i], NULL, __WALL) == tasks[i]) {
			usleep(STOPPED_US);
			nr++;
		}
		ptrace(PTRACE_DETACH, tasks[i], 0, 0);
	}
	return nr;
}

static int put(const char *file, int value)
{
	char text[16];
	int fd = open(file, O_WRONLY), len = snprintf(text, sizeof(text), "%d", value);
	int done = fd >= 0 && write(fd, text, len) == len;

	close(fd);
	return done;
}

static int freeze(void)
{
	int nr = 0, i;

	find(is_named);
	for (i = 0; i < nr_tasks; i++)
		nr += put(FREEZER "cgroup.procs", tasks[i]);
	if (!put(FREEZER "cgroup.freeze", 1))
		die(FREEZER);
	usleep(FROZEN_US);
	if (!put(FREEZER "cgroup.freeze", 0))
		die(FREEZER);
	return nr;
}

static const struct {
	const char *name;
	int (*once)(void);
} faults[] = {
	{ "kill", kill_one }, { "move", move }, { "demote", demote }, { "trace", trace }, { "freeze", freeze },
};

int main(int argc, char **argv)
{
	int (*once)(void) = NULL;
	unsigned int ms;
	long done = 0;
	FILE *count;
	size_t i;

	for (i = 0; argc > 4 && i < sizeof(faults) / sizeof(*faults); i++) {
		if (!strcmp(faults[i].name, argv[1]))
			once = faults[i].once;
	}
	if (!once)
		quit("usage: harass kill|move|demote|trace|freeze MS COUNT STOP [NAME]...");
	ms = number(argv[2]);
	names = argv + 5;
	count = fopen(argv[3], "a+");
	if (!count)
		die("%s", argv[3]);
	if (fscanf(count, "%ld", &done) != 1)
		done = 0;
	fclose(count);
	for (;;) {
		count = fopen(argv[3], "w");
		if (!count || fprintf(count, "%ld\n", done) < 0 || fclose(count))
			die("%s", argv[3]);
		if (!access(argv[4], F_OK))
			return 0;
		usleep(ms * 1000);
		done += once();
	}
}
