// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's first process: sets the stage, runs one job, hands its results to the host.
 *
 * Built statically for x86-64 and arm64 by irqpath-lab (guest/program.rs), which puts it into
 * every initramfs; result.h is the contract with the host side (vm/result.rs).
 *
 * The rule: between the start and the end of the job this process sleeps in one system call.
 * It neither prints nor polls, and the job's output stays in memory until everything has ended,
 * because a console write costs more instructions than most paths that are measured here.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "result.h"

#define LOG "/results/job.log"
#define SETUP "/etc/irqpath/"
#define LINE_MAX_BYTES 512
#define NS_PER_S UINT64_C(1000000000)

/* What the kernel command line asks for. */
static bool want_shell;
static unsigned int limit_s; /* 0: the job may take as long as it likes */

/* What goes into the header. */
static struct irqpath_result result = {
	.magic = IRQPATH_RESULT_MAGIC,
	.version = IRQPATH_RESULT_VERSION,
	.state = IRQPATH_RESULT_COMPLETE,
};

static void say(const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	if (len > (int)sizeof(line) - 2)
		len = sizeof(line) - 2;
	line[len++] = '\n';
	/* One write, so that a kernel message cannot come between. */
	if (write(STDOUT_FILENO, line, len) < 0)
		return;
}

static void power_off(void)
{
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

/* The job cannot be run as it was meant: say why, and let the host know. */
static void setup_failed(const char *what, const char *which)
{
	say("irqpath: cannot %s %s: %s", what, which, strerror(errno));
	result.state = IRQPATH_RESULT_SETUP_FAILED;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Reads at most size - 1 bytes of a small file; an unreadable file is an empty one. */
static void read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? 0 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[len > 0 ? len : 0] = '\0';
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) >= 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

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

static void open_console(void)
{
	int fd = open("/dev/console", O_RDWR);

	if (fd < 0)
		return; /* nothing can be said; the results still reach the host */
	dup2(fd, STDIN_FILENO);
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	if (fd > STDERR_FILENO)
		close(fd);
}

static void read_command_line(void)
{
	static char text[4096];
	char *rest = text;
	char *word;

	read_file("/proc/cmdline", text, sizeof(text));
	while ((word = strsep(&rest, " \n"))) {
		if (!strcmp(word, "irqpath.shell"))
			want_shell = true;
		else if (!strncmp(word, "irqpath.limit_s=", 16))
			limit_s = strtoul(word + 16, NULL, 10);
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

/* The job. */

static void exec_job(void)
{
	int in = open("/dev/null", O_RDONLY);
	int out = open(LOG, O_WRONLY | O_CREAT | O_APPEND, 0644);

	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	close(in);
	close(out);
	if (chdir("/results"))
		_exit(126);
	execl("/bin/sh", "sh", "/job", NULL);
	_exit(127);
}

static void exec_shell(void)
{
	ioctl(STDIN_FILENO, TIOCSCTTY, 0);
	setenv("PS1", "guest:\\w# ", 1);
	setenv("TERM", "vt100", 1);
	execl("/bin/sh", "sh", NULL);
	_exit(127);
}

/* Sleeps until the job's first process ended; reaps what it orphaned. */
static void wait_for(pid_t job)
{
	const uint64_t end_ns = result.job_start_ns + limit_s * NS_PER_S;
	struct timespec left = { 0 };
	sigset_t child;
	uint64_t now;
	int status;
	pid_t ended;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
			if (ended != job)
				continue;
			result.job_end = WIFSIGNALED(status) ? IRQPATH_JOB_SIGNALLED :
							       IRQPATH_JOB_EXITED;
			result.job_code = WIFSIGNALED(status) ? WTERMSIG(status) :
								WEXITSTATUS(status);
			return;
		}
		now = now_ns();
		left.tv_sec = now < end_ns ? (end_ns - now) / NS_PER_S : 0;
		left.tv_nsec = now < end_ns ? (end_ns - now) % NS_PER_S : 0;
		if (sigtimedwait(&child, NULL, limit_s ? &left : NULL) < 0 && errno == EAGAIN) {
			result.job_end = IRQPATH_JOB_LIMIT;
			result.job_code = limit_s;
			return;
		}
	}
}

static void run_job(void)
{
	sigset_t child;
	pid_t job;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	result.job_start_ns = now_ns();
	job = fork();
	if (!job) {
		sigprocmask(SIG_UNBLOCK, &child, NULL);
		setsid();
		if (want_shell)
			exec_shell();
		exec_job();
	}
	if (job < 0) {
		setup_failed("start", "the job");
		return;
	}
	wait_for(job);
	result.job_end_ns = now_ns();
	sigprocmask(SIG_UNBLOCK, &child, NULL);
}

/* Nothing may change /results while it is copied. */
static void end_all_processes(void)
{
	kill(-1, SIGKILL);
	while (wait(NULL) > 0)
		;
}

/* The results. */

/* Maps the shared memory that the host gave as a PCI device; NULL when there is none. */
static uint8_t *map_shared(size_t *size)
{
	static const char devices[] = "/sys/bus/pci/devices";
	char path[LINE_MAX_BYTES], id[64];
	struct dirent *entry;
	struct stat bar;
	uint8_t *memory = MAP_FAILED;
	DIR *dir = opendir(devices);
	int fd;

	while (dir && memory == MAP_FAILED && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s/modalias", devices, entry->d_name);
		read_file(path, id, sizeof(id));
		if (strncmp(id, "pci:v00001AF4d00001110", 22))
			continue;
		snprintf(path, sizeof(path), "%s/%s/enable", devices, entry->d_name);
		write_file(path, "1");
		snprintf(path, sizeof(path), "%s/%s/resource2", devices, entry->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &bar))
			break;
		*size = bar.st_size;
		memory = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		close(fd);
	}
	if (dir)
		closedir(dir);
	return memory == MAP_FAILED ? NULL : memory;
}

/* CRC-32 as in zip and Ethernet. */
static uint32_t crc32(uint32_t crc, const uint8_t *data, size_t len)
{
	static uint32_t table[256];

	if (!table[1])
		for (uint32_t i = 0; i < 256; i++) {
			table[i] = i;
			for (int bit = 0; bit < 8; bit++)
				table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
		}
	crc = ~crc;
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *data++) & 0xff];
	return ~crc;
}

/* Starts `tar` over /results; its output is read from the descriptor that is returned. */
static int start_tar(void)
{
	int ends[2];
	pid_t tar;

	if (pipe(ends))
		return -1;
	tar = fork();
	if (!tar) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl("/bin/busybox", "tar", "-c", "-C", "/results", ".", NULL);
		_exit(127);
	}
	close(ends[1]);
	return tar < 0 ? -1 : ends[0];
}

/* Copies the archive to memory and counts on when it does not fit, to say how big it was. */
static void copy_archive(int from, uint8_t *memory, size_t size)
{
	static uint8_t buffer[65536];
	ssize_t len;
	int status = 0;

	while ((len = read(from, buffer, sizeof(buffer))) > 0) {
		if (result.length + len <= size) {
			memcpy(memory + result.length, buffer, len);
			result.crc = crc32(result.crc, buffer, len);
		} else {
			result.state = IRQPATH_RESULT_OVERFLOW;
		}
		result.length += len;
	}
	if (wait(&status) < 0 || status)
		setup_failed("archive", "/results");
}

static void hand_over(void)
{
	char taint[32];
	uint8_t *memory;
	size_t size;
	int tar;

	read_file("/proc/sys/kernel/tainted", taint, sizeof(taint));
	result.taint = strtoull(taint, NULL, 10);
	memory = map_shared(&size);
	if (!memory || size <= sizeof(result)) {
		setup_failed("map", "the memory shared with the host");
		return;
	}
	tar = start_tar();
	if (tar < 0)
		setup_failed("archive", "/results");
	else
		copy_archive(tar, memory + sizeof(result), size - sizeof(result));
	/* The header comes last: without it the host takes nothing for a result. */
	__sync_synchronize();
	memcpy(memory, &result, sizeof(result));
	say("irqpath: %llu bytes of results%s", (unsigned long long)result.length,
	    result.state == IRQPATH_RESULT_OVERFLOW ? " do not fit" : "");
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
