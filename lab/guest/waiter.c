// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * waiter - a task that sleeps on /dev/intsightN until its interrupt came, many times.
 *
 * It has a FIFO priority and locked memory, arms the device, sleeps in read(), poll() or an ioctl,
 * stamps its return to user space and keeps everything in memory; the CSV is written at the end:
 * one line per interrupt, the cycle counter at each point (intsight_uapi.h), `user` last. Lines
 * that begin with # hold the device's own counts.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "intsight_mark.h"
#include "disturb.h"
#include "guest.h"

struct sample {
	struct intsight_event event;
	uint64_t user;
};

static const char usage[] =
"usage: waiter [-d DEVICE] [-n REPETITIONS] [-w WARMUP] [-t DELAY_NS] [-j SPREAD_NS (more delay)]\n"
"              [-p FIFO_PRIORITY] [-c CPU]\n"
"              [-s read|poll|ioctl] [-D (hardirq wakes directly) | -W (a worker wakes)]\n"
"              [-H (CPU-bound task below)]\n"
"              [-k KIND:BUSY_NS:FIRST:EVERY (disturb raise FIRST and each EVERYth after it)]...\n"
"       KIND: handler tasklet hardirq thread irqs_off preempt_off\n";

/*
 * The delay of a repetition: spread evenly over delay_ns to delay_ns + spread_ns, so that whatever
 * else is periodic is met in all its phases. Multiples of the golden ratio leave no phase out, however many
 * there are, and are the same ones in every series.
 */
static uint64_t spread(uint64_t repetition, uint64_t delay_ns, uint64_t spread_ns)
{
	uint32_t turn = (uint32_t)repetition * 0x9e3779b9u;

	return delay_ns + (spread_ns * turn >> 32);
}

static void start_hog(void)
{
	struct sched_param other = { 0 };

	switch (fork()) {
	case -1:
		die("fork");
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sched_setscheduler(0, SCHED_OTHER, &other);
		for (;;)
			__asm__ __volatile__("" : : : "memory");
	}
}

static void wait_once(int fd, char how, uint64_t delay_ns, struct sample *sample)
{
	struct intsight_arm_wait both = {
		.arm = { .size = sizeof(both.arm), .delay_ns = delay_ns },
		.event = { .size = sizeof(both.event) },
	};
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	if (how == 'i') {
		if (ioctl(fd, INTSIGHT_IOC_ARM_WAIT, &both))
			die("arm and wait");
		INTSIGHT_MARK(INTSIGHT_MARK_TARGET_USER);
		sample->user = cycles();
		sample->event = both.event;
		return;
	}
	request(fd, INTSIGHT_IOC_ARM, &both.arm, "arm");
	if (how == 'p') {
		if (poll(&pollfd, 1, -1) != 1)
			die("poll");
		INTSIGHT_MARK(INTSIGHT_MARK_TARGET_USER);
		sample->user = cycles();
	}
	if (read(fd, &sample->event, sizeof(sample->event)) != sizeof(sample->event))
		die("read");
	if (how == 'r') {
		INTSIGHT_MARK(INTSIGHT_MARK_TARGET_USER);
		sample->user = cycles();
	}
}

static void print_samples(const struct sample *sample, size_t nr)
{
	puts("seq,missed,raise,primary,handler,wake,resumed,task,user");
	for (; nr--; sample++)
		printf("%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu\n", sample->event.seq,
		       sample->event.missed, sample->event.raise, sample->event.primary,
		       sample->event.handler, sample->event.wake, sample->event.resumed,
		       sample->event.task, (unsigned long long)sample->user);
}

static void print_counts(int fd)
{
	struct intsight_info info = { .size = sizeof(info) };
	struct intsight_counts counts = { .size = sizeof(counts) };

	request(fd, INTSIGHT_IOC_DISARM, NULL, "disarm");
	request(fd, INTSIGHT_IOC_INFO, &info, "info");
	request(fd, INTSIGHT_IOC_COUNTS, &counts, "counts");
	printf("# irq %u cycles_khz %llu\n", info.irq, info.cycles_khz);
	printf("# expired %llu raised %llu handled %llu overruns %llu spurious %llu read %llu\n",
	       counts.expired, counts.raised, counts.handled, counts.overruns, counts.spurious,
	       counts.read);
	disturb_print(fd);
}

int main(int argc, char **argv)
{
	const char *path = "/dev/intsight", *how = "read";
	uint64_t reps = 1000, warmup = 10, delay_ns = 5000000, spread_ns = 0, priority = 80;
	struct intsight_counts counts = { .size = sizeof(counts) };
	enum intsight_mode mode = INTSIGHT_MODE_DRIVER;
	bool hog = false;
	char *disturbances[INTSIGHT_NR_DISTURB];
	int opt, fd, nr_disturbances = 0;
	struct sample *samples;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	while ((opt = getopt(argc, argv, "d:n:w:t:j:p:c:s:DWHk:")) != -1) {
		switch (opt) {
		case 'd': path = optarg; break;
		case 'n': reps = number(optarg); break;
		case 'w': warmup = number(optarg); break;
		case 't': delay_ns = number(optarg); break;
		case 'j': spread_ns = number(optarg); break;
		case 'p': priority = number(optarg); break;
		case 'c': CPU_SET(number(optarg), &cpus); break;
		case 's': how = optarg; break;
		case 'D': mode = INTSIGHT_MODE_DIRECT; break;
		case 'W': mode = INTSIGHT_MODE_WORK; break;
		case 'H': hog = true; break;
		case 'k':
			if (nr_disturbances == INTSIGHT_NR_DISTURB)
				quit("too many -k");
			disturbances[nr_disturbances++] = optarg;
			break;
		default: quit(usage);
		}
	}
	if (strcmp(how, "read") && strcmp(how, "poll") && strcmp(how, "ioctl"))
		quit(usage);

	fd = open(path, O_RDWR);
	if (fd < 0)
		die("%s", path);
	if (ioctl(fd, INTSIGHT_IOC_MODE, mode))
		die("mode");
	request(fd, INTSIGHT_IOC_COUNTS, &counts, "counts");
	disturb_none(fd);
	while (nr_disturbances--)
		disturb(fd, disturbances[nr_disturbances], counts.raised + warmup);

	samples = calloc(reps + 1, sizeof(*samples));
	if (!samples)
		die("memory for %llu samples", (unsigned long long)reps);
	if (CPU_COUNT(&cpus) && sched_setaffinity(0, sizeof(cpus), &cpus))
		die("CPU");
	if (hog)
		start_hog();
	lock_memory();
	be_fifo(priority);
	while (warmup--)
		wait_once(fd, *how, delay_ns, &samples[reps]);
	for (uint64_t i = 0; i < reps; i++)
		wait_once(fd, *how, spread(i, delay_ns, spread_ns), &samples[i]);

	print_samples(samples, reps);
	print_counts(fd);
	return 0;
}
