/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * devtest.h - what the tests of /dev/intsight0 share: requests in one line, a failure that names
 * the place, and a main() that runs the test of the given name.
 *
 * devwaits.c has the tests of what the device promises, devmisuse.c those of what it must survive;
 * kernel/module/intsight/tests/device.sh calls them. A test returns, or fails with a line on
 * standard output; FAR must be long enough for a busy host and costs nothing in the lab's mode
 * exact.
 */
#ifndef DEVTEST_H
#define DEVTEST_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "disturb.h"

#define DEVICE		"/dev/intsight0"
#define MS		1000000ULL	/* ns */
#define FAR_MS		2000		/* if it has not come by then, it does not come */

#define expect(condition, ...)							\
	do {									\
		if (!(condition)) {						\
			printf("# %s:%d: %s is not so; ", __func__, __LINE__, #condition); \
			printf(__VA_ARGS__);					\
			printf("\n");						\
			exit(1);						\
		}								\
	} while (0)

/* A call that must fail with this errno. */
#define refused(call, error)							\
	do {									\
		errno = 0;							\
		expect((call) < 0 && errno == (error), "errno %d, not %d", errno, (error)); \
	} while (0)

struct test {
	const char *name;
	void (*run)(void);
};

static inline int open_device(int flags)
{
	int fd = open(DEVICE, O_RDWR | O_CLOEXEC | flags);

	if (fd < 0)
		die(DEVICE);
	return fd;
}

static inline struct intsight_arm arm_of(uint64_t delay_ns, uint64_t period_ns, uint64_t count)
{
	return (struct intsight_arm){ .size = sizeof(struct intsight_arm), .delay_ns = delay_ns,
				      .period_ns = period_ns, .count = count };
}

static inline int arm(int fd, uint64_t delay_ns, uint64_t period_ns, uint64_t count)
{
	struct intsight_arm arm = arm_of(delay_ns, period_ns, count);

	return ioctl(fd, INTSIGHT_IOC_ARM, &arm);
}

static inline void must_arm(int fd, uint64_t delay_ns, uint64_t period_ns, uint64_t count)
{
	if (arm(fd, delay_ns, period_ns, count))
		die("arm");
}

static inline struct intsight_info info_of(int fd)
{
	struct intsight_info info = { .size = sizeof(info) };

	request(fd, INTSIGHT_IOC_INFO, &info, "info");
	return info;
}

static inline struct intsight_counts counts_of(int fd)
{
	struct intsight_counts counts = { .size = sizeof(counts) };

	request(fd, INTSIGHT_IOC_COUNTS, &counts, "counts");
	return counts;
}

static inline struct intsight_disturb disturbed(int fd, int kind)
{
	struct intsight_disturb got = { .size = sizeof(got), .kind = kind };

	request(fd, INTSIGHT_IOC_DISTURBED, &got, "disturbed");
	return got;
}

static inline void set_disturb(int fd, int kind, uint64_t busy_ns, uint64_t first, uint64_t every)
{
	struct intsight_disturb set = { .size = sizeof(set), .kind = kind, .busy_ns = busy_ns,
					.first = first, .every = every };

	request(fd, INTSIGHT_IOC_DISTURB, &set, kinds[kind]);
}

static inline void set_mode(int fd, unsigned long mode)
{
	if (ioctl(fd, INTSIGHT_IOC_MODE, mode))
		die("mode %lu", mode);
}

/* Nothing is under way after this. */
static inline struct intsight_counts settled(int fd)
{
	struct intsight_counts counts;

	request(fd, INTSIGHT_IOC_DISARM, NULL, "disarm");
	counts = counts_of(fd);
	expect(counts.handled == counts.raised, "raised %llu handled %llu", counts.raised,
	       counts.handled);
	expect(counts.expired == counts.raised + counts.overruns,
	       "expired %llu raised %llu overruns %llu", counts.expired, counts.raised,
	       counts.overruns);
	expect(!counts.spurious, "spurious %llu", counts.spurious);
	return counts;
}

static inline struct intsight_event read_event(int fd)
{
	struct intsight_event event;

	if (read(fd, &event, sizeof(event)) != sizeof(event))
		die("read");
	return event;
}

/* Whether poll() finds an event; a signal ends it early. */
static inline bool comes(int fd, int timeout_ms)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	int nr = poll(&pollfd, 1, timeout_ms);

	if (nr < 0 && errno != EINTR)
		die("poll");
	return nr > 0;
}

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static inline void sleep_ms(unsigned int ms)
{
	struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MS };

	while (nanosleep(&pause, &pause))
		;
}

static inline void on_cpu0(void)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("CPU 0");
}

/* A child that dies with us. What it printed is there when it has ended. */
static inline pid_t start(void)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child < 0)
		die("fork");
	if (!child)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return child;
}

static inline __attribute__((noreturn)) void end_child(void)
{
	fflush(stdout);
	_exit(0);
}

static inline void join(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		die("wait");
	if (status)
		exit(1);
}

/* Waits until a thread sleeps in this module: nothing else that the tests do sleeps for long. */
static inline void until_asleep(pid_t pid)
{
	char path[64], stat[256], state;
	int asleep = 0, tries = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	while (asleep < 3) {
		FILE *file = fopen(path, "r");

		if (!file || !fgets(stat, sizeof(stat), file) ||
		    sscanf(strrchr(stat, ')') + 1, " %c", &state) != 1)
			die("%s", path);
		fclose(file);
		asleep = state == 'S' ? asleep + 1 : 0;
		expect(tries++ < 1000 && state != 'Z', "it is in state %c", state);
		sleep_ms(5);
	}
}

static inline int run_test(const struct test *tests, int argc, char **argv)
{
	for (; argc == 2 && tests->name; tests++) {
		if (strcmp(tests->name, argv[1]))
			continue;
		alarm(120);
		tests->run();
		return 0;
	}
	fprintf(stderr, "usage: %s TEST\n", argv[0]);
	return 2;
}

#endif /* DEVTEST_H */
