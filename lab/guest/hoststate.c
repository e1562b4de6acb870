// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hoststate - every value that a shield may change, and whether it is as it was.
 *
 *   hoststate FILE           writes the state to FILE
 *   hoststate FILE CPUS      compares with FILE; a task that came since must have the affinity CPUS
 *
 * Files with masks, the cgroup directories and what they say, and of every task its affinity, policy,
 * priority, nice value and cgroup. Differences are printed; the exit code is 1 then. Tasks are
 * known by number and start. Left out are affinities that are the kernel's to move: those of
 * interrupt threads, of kworkers, and of RCU's threads for expedited grace periods (at hotplug).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <glob.h>
#include <unistd.h>

#include "guest.h"

#define ROOT "/sys/fs/cgroup"

static const char *const patterns[] = {
	"/proc/irq/default_smp_affinity", "/proc/irq/*/smp_affinity",
	"/sys/devices/virtual/workqueue/cpumask", "/sys/devices/virtual/workqueue/*/cpumask",
	"/proc/sys/kernel/watchdog_cpumask", "/proc/sys/kernel/timer_migration",
	"/proc/sys/net/core/rps_default_mask", "/sys/class/net/*/queues/*/?ps_cpus",
	"/proc/sys/vm/stat_interval", "/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us",
	ROOT "/cgroup.subtree_control", ROOT "/cpuset.cpus*",
	ROOT "/*/cgroup.subtree_control", ROOT "/*/cpuset.cpus*",
	ROOT "/*/*/cgroup.subtree_control", ROOT "/*/*/cpuset.cpus*",
};

struct line {
	char *key, *value;
	int is_task;
};

static struct line *lines;
static size_t nr_lines;

/* What a file says, without line ends; an empty text if it cannot be read. */
static void slurp(const char *path, char *text, size_t room)
{
	FILE *file = fopen(path, "r");
	size_t length = file ? fread(text, 1, room - 1, file) : 0;
	char *end;

	if (file)
		fclose(file);
	text[length] = 0;
	for (end = text; (end = strchr(end, '\n')); )
		*end = end[1] ? ' ' : 0;
}

static void add(const char *key, const char *value, int is_task)
{
	if (!(nr_lines & (nr_lines - 1)))
		lines = realloc(lines, (nr_lines ? 2 * nr_lines : 1) * sizeof(*lines));
	lines[nr_lines++] = (struct line){ strdup(key), strdup(value), is_task };
}

static void files(void)
{
	char text[4096];
	size_t i, k;

	for (i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		glob_t found = { 0 };

		if (!glob(patterns[i], 0, NULL, &found))
			for (k = 0; k < found.gl_pathc; k++) {
				slurp(found.gl_pathv[k], text, sizeof(text));
				add(found.gl_pathv[k], text, 0);
			}
		globfree(&found);
	}
}

static void directories(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	char child[4096];

	while (dir && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		snprintf(child, sizeof(child), "%s/%s", path, entry->d_name);
		add(child, "a directory", 0);
		directories(child);
	}
	if (dir)
		closedir(dir);
}

/* The text behind a label in /proc/PID/status. */
static const char *field(const char *status, const char *label, char *out, size_t room)
{
	const char *at = strstr(status, label);

	snprintf(out, room, "%.*s", at ? (int)strcspn(at + strlen(label), " \n") : 0,
		 at ? at + strlen(label) : "");
	return out;
}

static void task(const char *tid)
{
	char path[64], status[4096], stat[1024], cgroup[1024], cpus[256], comm[64], value[4096];
	unsigned long long start = 0;
	long nice = 0, priority = 0, policy = 0;
	const char *rest;

	snprintf(path, sizeof(path), "/proc/%s/status", tid);
	slurp(path, status, sizeof(status));
	snprintf(path, sizeof(path), "/proc/%s/stat", tid);
	slurp(path, stat, sizeof(stat));
	rest = strrchr(stat, ')');
	if (!rest || strstr(status, "State:\tZ") || atoi(tid) == getpid())
		return;
	sscanf(rest, ") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %*s %*s"
	       " %llu %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld %ld",
	       &nice, &start, &priority, &policy);
	snprintf(path, sizeof(path), "/proc/%s/cgroup", tid);
	slurp(path, cgroup, sizeof(cgroup));
	field(status, "Cpus_allowed_list:\t", cpus, sizeof(cpus));
	field(status, "Name:\t", comm, sizeof(comm));
	/* Kernel threads have no memory, so no such line. */
	if (!strstr(status, "VmSize:") && (!strncmp(comm, "irq/", 4) ||
	    !strncmp(comm, "kworker", 7) || !strncmp(comm, "rcu_exp", 7)))
		cpus[0] = 0;
	snprintf(path, sizeof(path), "%s@%llu", tid, start);
	snprintf(value, sizeof(value), "%s policy %ld priority %ld nice %ld cgroup %s of %s%s",
		 cpus, policy, priority, nice, cgroup, comm,
		 strstr(status, "VmSize:") ? "" : " (kernel)");
	add(path, value, 1);
}

static void tasks(void)
{
	char path[300];
	DIR *all = opendir("/proc"), *threads;
	struct dirent *process, *thread;

	while (all && (process = readdir(all))) {
		if (process->d_name[0] < '1' || process->d_name[0] > '9')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/task", process->d_name);
		threads = opendir(path);
		while (threads && (thread = readdir(threads)))
			if (thread->d_name[0] != '.')
				task(thread->d_name);
		if (threads)
			closedir(threads);
	}
	if (all)
		closedir(all);
}

static const struct line *find(const struct line *in, size_t nr, const char *key)
{
	size_t i;

	for (i = 0; i < nr; i++)
		if (!strcmp(in[i].key, key))
			return &in[i];
	return NULL;
}

/* The name may change (kworkers show what they work on). */
static int same(const char *a, const char *b)
{
	const char *end_a = strstr(a, " of "), *end_b = strstr(b, " of ");

	if (end_a && end_b)
		return end_a - a == end_b - b && !strncmp(a, b, end_a - a);
	return !strcmp(a, b);
}

static int compare(const struct line *was, size_t nr_was, const char *cpus)
{
	size_t i;
	int differs = 0;

	for (i = 0; i < nr_lines; i++) {
		const struct line *now = &lines[i], *old = find(was, nr_was, now->key);

		if (old && same(old->value, now->value))
			continue;
		if (!old && now->is_task && (strstr(now->value, "(kernel)") ||
		    (!strncmp(now->value, cpus, strlen(cpus)) && now->value[strlen(cpus)] == ' ')))
			continue;
		printf("%s: %s -> %s\n", now->key, old ? old->value : "not there", now->value);
		differs = 1;
	}
	for (i = 0; i < nr_was; i++)
		if (!was[i].is_task && !find(lines, nr_lines, was[i].key)) {
			printf("%s: %s -> not there\n", was[i].key, was[i].value);
			differs = 1;
		}
	return differs;
}

static void load(const char *path)
{
	FILE *file = fopen(path, "r");
	char text[8192], *value;

	if (!file)
		die("%s", path);
	while (fgets(text, sizeof(text), file)) {
		text[strcspn(text, "\n")] = 0;
		value = strchr(text + 1, '\t');
		if (value) {
			*value++ = 0;
			add(text + 1, value, text[0] == 't');
		}
	}
	fclose(file);
}

static void store(const char *path)
{
	FILE *file = fopen(path, "w");
	size_t i;

	if (!file)
		die("%s", path);
	for (i = 0; i < nr_lines; i++)
		fprintf(file, "%c%s\t%s\n", lines[i].is_task ? 't' : 'f', lines[i].key,
			lines[i].value);
	if (fclose(file))
		die("%s", path);
}

int main(int argc, char **argv)
{
	struct line *was = NULL;
	size_t nr_was = 0;

	if (argc < 2 || argc > 3)
		quit("usage: hoststate FILE [CPUS]");
	if (argc == 3) {
		load(argv[1]);
		was = lines;
		nr_was = nr_lines;
		lines = NULL;
		nr_lines = 0;
	}
	files();
	directories(ROOT);
	tasks();
	if (was)
		return compare(was, nr_was, argv[2]);
	store(argv[1]);
	return 0;
}
