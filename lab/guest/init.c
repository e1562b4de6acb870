// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's first process: sets the stage, runs one job, hands its results to the host.
 *
 * Built statically for x86-64 and arm64 by irqpath-lab (guest/program.rs), which puts it into
 * every initramfs. What it does with the job is in job.h.
 */
#define _GNU_SOURCE
#include <net/if.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "job.h"

#define SETUP "/etc/irqpath/"

/* The stage. */

static const struct {
	const char *type, *where, *options;
	bool may_fail; /* not in every kernel */
} mounts[] = {
	{ "proc", "/proc", NULL, false },
	{ "sysfs", "/sys", NULL, false },
	{ "devtmpfs", "/dev", NULL, false },
	{ "devpts", "/dev/pts", NULL, true },
	{ "tmpfs", "/dev/shm", NULL, false },
	{ "tmpfs", "/tmp", NULL, false },
	{ "tmpfs", "/run", NULL, false },
	{ "tmpfs", "/results", NULL, false },
	{ "debugfs", "/sys/kernel/debug", NULL, true },
	{ "tracefs", "/sys/kernel/tracing", NULL, true },
	{ "cgroup2", "/sys/fs/cgroup", NULL, true },
	{ "bpf", "/sys/fs/bpf", NULL, true },
};

static void mount_all(void)
{
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		mkdir(mounts[i].where, 0755);
		if (mount(mounts[i].type, mounts[i].where, mounts[i].type, 0, mounts[i].options) &&
		    !mounts[i].may_fail)
			setup_failed("mount", mounts[i].where);
	}
}

static void loopback_up(void)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return; /* a kernel without network */
	if (!ioctl(fd, SIOCGIFFLAGS, &request)) {
		request.ifr_flags |= IFF_UP | IFF_RUNNING;
		ioctl(fd, SIOCSIFFLAGS, &request);
	}
	close(fd);
}

/* Runs a program to its end, for the few that are needed before the job. */
static bool run(char *const argv[])
{
	pid_t child = fork();
	int status;

	if (!child) {
		execv(argv[0], argv);
		_exit(127);
	}
	return child > 0 && waitpid(child, &status, 0) == child && !status;
}

/* One line of SETUP "modules": path, space, module parameters. */
static void load_module(char *line)
{
	const char *path = strsep(&line, " ");
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || (syscall(SYS_finit_module, fd, line ? line : "", 0) && errno != EEXIST))
		setup_failed("load", path);
	if (fd >= 0)
		close(fd);
}

/* One line of SETUP "sysctl": path below /proc/sys, space, value. */
static void set_sysctl(char *line)
{
	char path[LINE_MAX_BYTES];
	const char *name = strsep(&line, " ");

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	if (!write_file(path, line ? line : ""))
		setup_failed("set", path);
}

static void for_each_line(const char *path, void (*act)(char *line))
{
	char line[LINE_MAX_BYTES];
	FILE *file = fopen(path, "re");

	if (!file)
		return; /* nothing asked for */
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0])
			act(line);
	}
	fclose(file);
}

static void set_stage(void)
{
	mount_all();
	open_console();
	read_command_line();
	setenv("PATH", "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", "/tmp", 1);
	if (!run((char *[]){ "/bin/busybox", "--install", "-s", "/bin", NULL }))
		setup_failed("install", "the commands of busybox");
	loopback_up();
	for_each_line(SETUP "modules", load_module);
	for_each_line(SETUP "sysctl", set_sysctl);
}

/* Nothing may change /results while it is copied. */
static void end_all_processes(void)
{
	kill(-1, SIGKILL);
	while (wait(NULL) > 0)
		;
}

int main(void)
{
	set_stage();
	if (result.state == IRQPATH_RESULT_COMPLETE) {
		say("irqpath: %s starts", want_shell ? "shell" : "job");
		run_job();
		end_all_processes();
	}
	if (!want_shell)
		hand_over();
	power_off();
}
