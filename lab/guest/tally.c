// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * tally - runs a command, once or several times, and tells how many cycles and context switches
 * passed meanwhile.
 *
 * In an exact guest a cycle is an instruction and nothing else runs, so the difference of two
 * runs of the same work is what something else cost. A process that looks on (-p, the tracer)
 * is told apart: `observer_cycles` is the time of its threads, `work_cycles` is the rest. The
 * values go to OUT.values, the command's output to where it always goes.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <getopt.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static const char usage[] = "usage: tally -o OUT [-n RUNS] [-p PID] COMMAND...\n";

struct tally {
	uint64_t cycles, observer, switches;
};

/* Time of all threads of a process, ns, which are cycles at the 1 GHz of an exact guest. */
static uint64_t process_cycles(const char *pid)
{
	char path[300];
	struct dirent *entry;
	uint64_t sum = 0;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	tasks = opendir(path);
	if (!tasks)
		die("%s", path);
	while ((entry = readdir(tasks))) {
		unsigned long ns;
		FILE *file;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%s/task/%s/schedstat", pid, entry->d_name);
		file = fopen(path, "r");
		if (!file || fscanf(file, "%lu", &ns) != 1)
			die("%s", path);
		fclose(file);
		sum += ns;
	}
	closedir(tasks);
	return sum;
}

static struct tally take(const char *observer)
{
	struct tally now = { .switches = context_switches() };

	if (observer)
		now.observer = process_cycles(observer);
	now.cycles = cycles();
	return now;
}

static void run(char **command)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		execvp(command[0], command);
		die("%s", command[0]);
	}
	if (waitpid(pid, &status, 0) != pid)
		die("wait");
	errno = 0;
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		die("%s failed, status %#x", command[0], status);
}

int main(int argc, char **argv)
{
	const char *out = NULL, *observer = NULL;
	struct tally before, after;
	uint64_t runs = 1;
	char path[512];
	FILE *values;

	for (int opt; (opt = getopt(argc, argv, "+o:n:p:")) != -1;) {
		switch (opt) {
		case 'o': out = optarg; break;
		case 'n': runs = number(optarg); break;
		case 'p': observer = optarg; break;
		default: quit(usage);
		}
	}
	if (!out || optind == argc)
		quit(usage);
	before = take(observer);
	while (runs--)
		run(argv + optind);
	after = take(observer);

	snprintf(path, sizeof(path), "%s.values", out);
	values = fopen(path, "w");
	if (!values)
		die("%s", path);
	after.cycles -= before.cycles;
	after.observer -= before.observer;
	fprintf(values, "cycles %lu\nobserver_cycles %lu\nwork_cycles %lu\nswitches %lu\n",
		after.cycles, after.observer, after.cycles - after.observer,
		after.switches - before.switches);
	if (fclose(values))
		die("%s", path);
	return 0;
}
