// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * harass FAULT MS COUNT STOP [NAME]... - every MS does something to the tasks of these names until there is
 * a file STOP.
 *
 * FAULT: kill one of them (SIGKILL), move each to other CPUs, prioritise (give each FIFO task another
 * priority, 40 to 89), demote (give each FIFO task one below a task that computes meanwhile, and then its own
 * again: it may be running a handler), thread (give the thread of one of the test devices' interrupts one, 1 to 98), trace each
 * (stop it as a debugger does, and let it go on), freeze all of them (cgroup v2). How often that went well is
 * added to the number in the file COUNT. What is gone by then is no error.
 *
 * One program, as on a kernel that checks all that it does a shell that starts one for each step comes
 * to a step every few seconds.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "tasks.h"

#define STOPPED_US	5000
#define FROZEN_US	20000
#define DEMOTED_US	3000
#define FREEZER		"/tmp/cgroup/targets/"
/* Who has this directory, has no CPU go off or come back meanwhile: see torture.sh. */
#define CPUS_STAY	"/tmp/moving"

static char **names;
static struct tasks tasks;

static int below(int limit)
{
	return rand() % limit;
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

static int kill_one(void)
{
	find(&tasks, is_named);
	return tasks.nr && !kill(tasks.task[below(tasks.nr)].pid, SIGKILL);
}

static int move(void)
{
	int nr = 0, nr_cpus = sysconf(_SC_NPROCESSORS_CONF), i, cpu, mask;

	find(&tasks, is_named);
	while (mkdir(CPUS_STAY, 0700)) {
		if (errno != EEXIST)
			die(CPUS_STAY);
		usleep(10000);
	}
	for (i = 0; i < tasks.nr; i++) {
		cpu_set_t cpus;

		CPU_ZERO(&cpus);
		mask = 1 + below((1 << nr_cpus) - 1);
		for (cpu = 0; cpu < nr_cpus; cpu++) {
			if (mask & 1 << cpu)
				CPU_SET(cpu, &cpus);
		}
		nr += !sched_setaffinity(tasks.task[i].pid, sizeof(cpus), &cpus);
	}
	rmdir(CPUS_STAY);
	return nr;
}

static int set_fifo(int at, int lowest, int nr_priorities)
{
	struct sched_param param = { .sched_priority = lowest + below(nr_priorities) };

	return !sched_setscheduler(tasks.task[at].pid, SCHED_FIFO, &param);
}

/* Ordinary tasks may compute all the time, and stay what they are. */
static int prioritise(void)
{
	int nr = 0, i;

	find(&tasks, is_named);
	for (i = 0; i < tasks.nr; i++) {
		if (sched_getscheduler(tasks.task[i].pid) == SCHED_FIFO)
			nr += set_fifo(i, 40, 50);
	}
	return nr;
}

static void compute(long us)
{
	struct timespec begin, now;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

/* At FIFO 90, to find them in the middle of something. */
static int demote(void)
{
	struct sched_param param;
	int nr = 0, i;

	be_fifo(90);
	find(&tasks, is_named);
	for (i = 0; i < tasks.nr; i++) {
		if (sched_getscheduler(tasks.task[i].pid) != SCHED_FIFO ||
		    sched_getparam(tasks.task[i].pid, &param) || !set_fifo(i, 1, 1))
			continue;
		be_fifo(2);
		compute(DEMOTED_US);
		be_fifo(90);
		nr += !sched_setscheduler(tasks.task[i].pid, SCHED_FIFO, &param);
	}
	be_ordinary();
	return nr;
}

/* One only: `selective` leaves alone what was set by hand, as long as it is there. */
static int set_thread(void)
{
	find(&tasks, is_devices_thread);
	return tasks.nr && set_fifo(below(tasks.nr), 1, 98);
}

/*
 * Whether a task that was asked to stop has. Linux 6.12 does not wake a tracer that waits for a leader
 * by its number when another thread of the group becomes another program and takes the number: de_thread()
 * exchanges them before it calls __wake_up_parent(). So this looks again and again.
 */
static int is_stopped(pid_t pid)
{
	int status, turns;
	pid_t found = 0;

	for (turns = 0; !found && turns < 1000; turns++) {
		usleep(1000);
		found = waitpid(pid, &status, __WALL | WNOHANG);
	}
	return found == pid && WIFSTOPPED(status);
}

static int trace(void)
{
	int nr = 0, i;

	find(&tasks, is_named);
	for (i = 0; i < tasks.nr; i++) {
		if (ptrace(PTRACE_SEIZE, tasks.task[i].pid, 0, 0))
			continue;
		if (!ptrace(PTRACE_INTERRUPT, tasks.task[i].pid, 0, 0) &&
		    is_stopped(tasks.task[i].pid)) {
			usleep(STOPPED_US);
			nr++;
		}
		ptrace(PTRACE_DETACH, tasks.task[i].pid, 0, 0);
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

	find(&tasks, is_named);
	for (i = 0; i < tasks.nr; i++)
		nr += put(FREEZER "cgroup.procs", tasks.task[i].pid);
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
	{ "kill", kill_one }, { "move", move }, { "prioritise", prioritise },
	{ "demote", demote }, { "thread", set_thread }, { "trace", trace }, { "freeze", freeze },
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
		quit("usage: harass kill|move|prioritise|demote|thread|trace|freeze MS COUNT STOP [NAME]...");
	ms = number(argv[2]);
	names = argv + 5;
	count = fopen(argv[3], "a+");
	if (!count)
		die("%s", argv[3]);
	if (fscanf(count, "%ld", &done) != 1)
		done = 0;
	fclose(count);
	srand(done); /* each round draws other numbers */
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
