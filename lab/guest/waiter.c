// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * waiter - a task that sleeps on /dev/intsightN until its interrupt came, many times.
 *
 * It has a FIFO priority and locked memory, arms the device, sleeps in read(), poll(), select(),
 * epoll_wait() or an ioctl, stamps its return to user space and keeps everything in memory; the CSV is written at the end:
 * one line per interrupt, the cycle counter at each point (intsight_uapi.h), `user` last. Lines
 * that begin with # hold the device's own counts, and the machine's context switches meanwhile.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
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
"              [-s read|poll|select|epoll|ioctl] [-D (hardirq wakes directly) | -W (a worker wakes) |\n"
"               -T (the handler is threaded by itself) | -N (no line: the timer wakes)]\n"
"              [-P PERIOD_NS (armed once, and again by itself; with -r only that, until it is ended) |\n"
"               -a (another process arms)]\n"
"              [-H (CPU-bound task below)]\n"
"              [-b PRIORITY:MS (a thread of that priority waits for a mutex of the task, so long of each 2 MS)]\n"
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
	switch (fork()) {
	case -1:
		die("fork");
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_ordinary();
		for (;;)
			__asm__ __volatile__("" : : : "memory");
	}
}

struct lender {
	pthread_mutex_t mutex;
	int priority;
	unsigned int ms;
};

static struct timespec in_ms(unsigned int ms)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_sec += ms / 1000;
	time.tv_nsec += ms % 1000 * 1000000;
	if (time.tv_nsec >= 1000000000) {
		time.tv_sec++;
		time.tv_nsec -= 1000000000;
	}
	return time;
}

/* The task that has the mutex inherits its priority while it waits. */
static void *lend(void *data)
{
	struct lender *lender = data;
	struct timespec limit;

	be_fifo(lender->priority);
	for (;;) {
		limit = in_ms(lender->ms);
		if (pthread_mutex_timedlock(&lender->mutex, &limit) != ETIMEDOUT)
			quit("waiter: the mutex is free");
		usleep(lender->ms * 1000);
	}
	return NULL;
}

static void start_lender(const char *what)
{
	static struct lender lender;
	pthread_mutexattr_t attr;
	pthread_t thread;

	if (sscanf(what, "%d:%u", &lender.priority, &lender.ms) != 2)
		quit(usage);
	if (pthread_mutexattr_init(&attr) ||
	    pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT) ||
	    pthread_mutex_init(&lender.mutex, &attr) || pthread_mutex_lock(&lender.mutex) ||
	    pthread_create(&thread, NULL, lend, &lender))
		quit("waiter: no lender");
}

/* Instead of a delay: the device is armed and raises by itself. */
#define ARMED UINT64_MAX

static void arm_periodically(int fd, uint64_t period_ns)
{
	struct intsight_arm arm = {
		.size = sizeof(arm), .delay_ns = period_ns, .period_ns = period_ns,
	};

	request(fd, INTSIGHT_IOC_ARM, &arm, "arm");
}

static int epoll_of(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = epoll_create1(0);

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll");
	return epoll;
}

/* Returns false if this is not how the task waits. */
static bool until_readable(int fd, char how)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	struct epoll_event event;
	static int epoll = -1;
	fd_set set;

	switch (how) {
	case 'p':
		if (poll(&pollfd, 1, -1) != 1)
			die("poll");
		return true;
	case 's':
		FD_ZERO(&set);
		FD_SET(fd, &set);
		if (select(fd + 1, &set, NULL, NULL, NULL) != 1)
			die("select");
		return true;
	case 'e':
		if (epoll < 0)
			epoll = epoll_of(fd);
		if (epoll_wait(epoll, &event, 1, -1) != 1)
			die("epoll_wait");
		return true;
	default:
		return false;
	}
}

static void wait_once(int fd, char how, uint64_t delay_ns, struct sample *sample)
{
	struct intsight_arm_wait both = {
		.arm = { .size = sizeof(both.arm), .delay_ns = delay_ns },
		.event = { .size = sizeof(both.event) },
	};
	bool polled;

	if (how == 'i') {
		if (ioctl(fd, INTSIGHT_IOC_ARM_WAIT, &both))
			die("arm and wait");
		INTSIGHT_MARK(INTSIGHT_MARK_TARGET_USER);
		sample->user = cycles();
		sample->event = both.event;
		return;
	}
	if (delay_ns != ARMED)
		request(fd, INTSIGHT_IOC_ARM, &both.arm, "arm");
	polled = until_readable(fd, how);
	if (polled) {
		INTSIGHT_MARK(INTSIGHT_MARK_TARGET_USER);
		sample->user = cycles();
	}
	if (read(fd, &sample->event, sizeof(sample->event)) != sizeof(sample->event))
		die("read");
	if (!polled) {
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

struct options {
	const char *path;
	const char *how, *lender;
	uint64_t reps, warmup, delay_ns, spread_ns, period_ns, priority;
	enum intsight_mode mode;
	bool hog, attached, raiser;
	cpu_set_t cpus;
	int nr_disturbances;
	char *disturbances[INTSIGHT_NR_DISTURB];
};

static void parse(int argc, char **argv, struct options *o)
{
	int opt;

	while ((opt = getopt(argc, argv, "d:n:w:t:j:p:c:s:P:b:arDWTNHk:")) != -1) {
		switch (opt) {
		case 'd': o->path = optarg; break;
		case 'n': o->reps = number(optarg); break;
		case 'w': o->warmup = number(optarg); break;
		case 't': o->delay_ns = number(optarg); break;
		case 'j': o->spread_ns = number(optarg); break;
		case 'p': o->priority = number(optarg); break;
		case 'c': CPU_SET(number(optarg), &o->cpus); break;
		case 's': o->how = optarg; break;
		case 'P': o->period_ns = number(optarg); break;
		case 'b': o->lender = optarg; break;
		case 'a': o->attached = true; break;
		case 'r': o->raiser = true; break;
		case 'D': o->mode = INTSIGHT_MODE_DIRECT; break;
		case 'W': o->mode = INTSIGHT_MODE_WORK; break;
		case 'T': o->mode = INTSIGHT_MODE_THREADED; break;
		case 'N': o->mode = INTSIGHT_MODE_TIMER; break;
		case 'H': o->hog = true; break;
		case 'k':
			if (o->nr_disturbances == INTSIGHT_NR_DISTURB)
				quit("too many -k");
			o->disturbances[o->nr_disturbances++] = optarg;
			break;
		default: quit(usage);
		}
	}
	if ((strcmp(o->how, "read") && strcmp(o->how, "poll") && strcmp(o->how, "select") &&
	     strcmp(o->how, "epoll") && strcmp(o->how, "ioctl")) ||
	    ((o->period_ns || o->attached) && *o->how == 'i') || (o->raiser && !o->period_ns))
		quit(usage);
}

static int open_device(struct options *o)
{
	struct intsight_counts counts = { .size = sizeof(counts) };
	int fd = open(o->path, O_RDWR);

	if (fd < 0)
		die("%s", o->path);
	if (o->attached)
		return fd;
	if (ioctl(fd, INTSIGHT_IOC_MODE, o->mode))
		die("mode");
	request(fd, INTSIGHT_IOC_COUNTS, &counts, "counts");
	disturb_none(fd);
	while (o->nr_disturbances--)
		disturb(fd, o->disturbances[o->nr_disturbances], counts.raised + o->warmup);
	return fd;
}

int main(int argc, char **argv)
{
	struct options o = {
		.path = "/dev/intsight", .how = "read", .reps = 1000, .warmup = 10,
		.delay_ns = 5000000, .priority = 80, .mode = INTSIGHT_MODE_DRIVER,
	};
	unsigned long long switches;
	struct sample *samples;
	int fd;

	parse(argc, argv, &o);
	fd = open_device(&o);
	samples = calloc(o.reps + 1, sizeof(*samples));
	if (!samples)
		die("memory for %llu samples", (unsigned long long)o.reps);
	if (CPU_COUNT(&o.cpus) && sched_setaffinity(0, sizeof(o.cpus), &o.cpus))
		die("CPU");
	if (o.raiser) {
		arm_periodically(fd, o.period_ns);
		pause();
	}
	if (o.hog)
		start_hog();
	lock_memory();
	be_fifo(o.priority);
	if (o.lender)
		start_lender(o.lender);
	if (o.period_ns)
		arm_periodically(fd, o.period_ns);
	if (o.period_ns || o.attached) {
		o.delay_ns = ARMED;
		o.spread_ns = 0;
	}
	while (o.warmup--)
		wait_once(fd, *o.how, o.delay_ns, &samples[o.reps]);
	switches = context_switches();
	for (uint64_t i = 0; i < o.reps; i++)
		wait_once(fd, *o.how, spread(i, o.delay_ns, o.spread_ns), &samples[i]);
	switches = context_switches() - switches;

	print_samples(samples, o.reps);
	if (!o.attached)
		print_counts(fd);
	printf("# switches %llu\n", switches);
	return 0;
}
