/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * job.h - runs the job of a guest and hands its results to the host.
 *
 * For the two programs that do: init.c, a guest's first process, and unitjob.c, a service of a guest
 * whose first process is systemd. result.h is the contract with the host side (vm/result.rs).
 *
 * The rule: between the start and the end of the job the caller sleeps in one system call. It
 * neither prints nor polls, and the job's output stays in memory until everything has ended, because
 * a console write costs more instructions than most paths that are measured here.
 */
#ifndef IRQPATH_JOB_H
#define IRQPATH_JOB_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "result.h"

#define LOG "/results/job.log"
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

#endif /* IRQPATH_JOB_H */
