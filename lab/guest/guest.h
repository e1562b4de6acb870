/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * guest.h - the little that the guest programs share: cycle counter, priority,
 * errors. Static C programs with one purpose each, so that an initramfs needs
 * nothing else and an exact run executes nothing else.
 */
#ifndef GUEST_H
#define GUEST_H

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The counter of which the kernel module's stamps are. */
static inline uint64_t cycles(void)
{
#if defined(__x86_64__)
	uint32_t lo, hi;

	__asm__ __volatile__("rdtsc" : "=a" (lo), "=d" (hi));
	return (uint64_t)hi << 32 | lo;
#elif defined(__aarch64__)
	uint64_t now;

	__asm__ __volatile__("isb\n\tmrs %0, cntvct_el0" : "=r" (now));
	return now;
#else
#error "which cycle counter can user space read here?"
#endif
}

static inline __attribute__((noreturn, format(printf, 1, 2)))
void die(const char *format, ...)
{
	int err = errno;
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, err ? ": %s\n" : "\n", strerror(err));
	exit(1);
}

/* For what is wrong with the command line. */
static inline __attribute__((noreturn)) void quit(const char *text)
{
	errno = 0;
	die("%s", text);
}

static inline uint64_t number(const char *text)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno || !*text || *end)
		die("%s: not a number", text);
	return value;
}

static inline void be_fifo(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	if (priority && sched_setscheduler(0, SCHED_FIFO, &param))
		die("FIFO %d", priority);
}

static inline void be_ordinary(void)
{
	const struct sched_param none = { 0 };

	if (sched_setscheduler(0, SCHED_OTHER, &none))
		die("SCHED_OTHER");
}

static inline void lock_memory(void)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		die("mlockall");
}

/* Of the whole machine since boot. */
static inline uint64_t context_switches(void)
{
	FILE *stat = fopen("/proc/stat", "r");
	unsigned long long nr;
	char line[4096];

	while (stat && fgets(line, sizeof(line), stat)) {
		if (sscanf(line, "ctxt %llu", &nr) == 1) {
			fclose(stat);
			return nr;
		}
	}
	die("/proc/stat has no ctxt");
}

#endif /* GUEST_H */
