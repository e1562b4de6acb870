// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * netping - requests and responses over UDP or TCP, and how long each of them takes.
 *
 * The server is netserver in another namespace, or the built-in peer of the test NIC (UDP only).
 * Every response is compared with its request. The CSV comes at the end: number, cycle counter
 * before the request and after the response; lines that begin with # hold what else happened:
 * responses that did not come within a second, or -T, or were not right (the exit status is 1 then),
 * context switches of this task and of the whole machine. With -a several of them begin at the same
 * moment of CLOCK_MONOTONIC, with -d they last equally long. With -j a task sleeps so long at most
 * before a request: two of them, each with a period of its own, would else meet in the same phase
 * again and again. That time is not in the totals.
 *
 * With -B the task polls its device for so long before it sleeps, with -P it asks the device to leave
 * its interrupt off meanwhile, and with -E it does so by epoll (UDP only). With -H a line tells how long
 * the CPU-bound task below ran.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#include "busypoll.h"
#include "intsight_mark.h"
#include "net.h"

struct sample {
	uint64_t begin;
	uint64_t end;
};

struct totals {
	struct timespec time;
	struct rusage usage;
	unsigned long long switches;
};

static const char usage[] =
"usage: netping [-t (TCP)] [-n COUNT] [-w WARMUP] [-b BYTES] [-p FIFO_PRIORITY] [-i INTERVAL_NS]\n"
"               [-j SPREAD_NS (asleep, before a request)]\n"
"               [-a AT_MS] [-d AT_MOST_MS] [-T ANSWER_WITHIN_MS] [-H (CPU-bound task below)]\n"
"               [-B BUSY_POLL_US] [-P (interrupt off meanwhile)] [-E (by epoll)]\n"
"               IP PORT\n";

static uint64_t count = 1000, warmup = 10, size = 10, priority, interval_ns, spread_ns, at_ms;
static uint64_t at_most_ms, within_ms = 1000, poll_us;
static bool tcp, hog, prefer_polling, by_epoll;
static clockid_t below;
static char request[MAX_MESSAGE], response[MAX_MESSAGE];
static uint64_t nr_lost, nr_wrong, lingered_ns;

static void start_hog(void)
{
	pid_t pid = fork();

	switch (pid) {
	case -1:
		die("fork");
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			__asm__ __volatile__("" : : : "memory");
	}
	errno = clock_getcpuclockid(pid, &below);
	if (errno)
		die("the clock of the task below");
}

/* Of the task below, 0 without one. */
static int64_t ran_ns(void)
{
	struct timespec time = { .tv_sec = 0 };

	if (hog)
		clock_gettime(below, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* Each request differs from the one before it, as far as its size allows. */
static void fill(uint64_t number)
{
	for (size_t i = 8; i < size; i++)
		request[i] = number + i;
	memcpy(request, &number, size < sizeof(number) ? size : sizeof(number));
}

static bool receive_all(int fd)
{
	size_t done = 0;

	while (done < size) {
		ssize_t now = recv(fd, response + done, size - done, 0);

		if (now < 0 && errno == EAGAIN)
			return false;
		if (now <= 0)
			die("receive");
		done += now;
	}
	return true;
}

static void send_all(int fd)
{
	size_t done = 0;

	while (done < size) {
		ssize_t now = send(fd, request + done, size - done, 0);

		if (now <= 0)
			die("send");
		done += now;
	}
}

/* A datagram that comes too late is the answer to an earlier request. */
static void transact(int fd, uint64_t number, struct sample *sample)
{
	uint64_t answered;
	bool came;

	fill(number);
	sample->begin = cycles();
	send_all(fd);
	do {
		came = tcp ? receive_all(fd) :
			     recv(fd, response, sizeof(response), 0) == (ssize_t)size;
		INTSIGHT_MARK(INTSIGHT_MARK_TARGET_USER);
		sample->end = cycles();
		memcpy(&answered, response, sizeof(answered));
	} while (came && !tcp && size >= sizeof(answered) && answered < number);
	if (!came)
		nr_lost++;
	else if (memcmp(request, response, size))
		nr_wrong++;
}

/* By epoll; see transact(). */
static void transact_polling(int epoll, int fd, uint64_t number, struct sample *sample)
{
	struct epoll_event readable;
	bool came;

	fill(number);
	sample->begin = cycles();
	send_all(fd);
	came = epoll_wait(epoll, &readable, 1, within_ms) == 1 &&
	       recv(fd, response, sizeof(response), 0) == (ssize_t)size;
	INTSIGHT_MARK(INTSIGHT_MARK_TARGET_USER);
	sample->end = cycles();
	if (!came)
		nr_lost++;
	else if (memcmp(request, response, size))
		nr_wrong++;
}

static void take_totals(struct totals *totals)
{
	clock_gettime(CLOCK_MONOTONIC, &totals->time);
	getrusage(RUSAGE_SELF, &totals->usage);
	totals->switches = context_switches();
}

static void print_totals(const struct totals *a, const struct totals *b, uint64_t nr)
{
	int64_t elapsed = (b->time.tv_sec - a->time.tv_sec) * 1000000000LL + b->time.tv_nsec -
			  a->time.tv_nsec - (int64_t)lingered_ns;

	printf("# transactions %llu lost %llu wrong %llu elapsed_ns %lld\n",
	       (unsigned long long)nr, (unsigned long long)nr_lost,
	       (unsigned long long)nr_wrong, (long long)elapsed);
	printf("# switches own %ld machine %llu\n",
	       b->usage.ru_nvcsw + b->usage.ru_nivcsw - a->usage.ru_nvcsw - a->usage.ru_nivcsw,
	       b->switches - a->switches);
}

static void parse(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "tn:w:b:p:i:j:a:d:T:B:HPE")) != -1) {
		switch (opt) {
		case 't': tcp = true; break;
		case 'n': count = number(optarg); break;
		case 'w': warmup = number(optarg); break;
		case 'b': size = number(optarg); break;
		case 'p': priority = number(optarg); break;
		case 'i': interval_ns = number(optarg); break;
		case 'j': spread_ns = number(optarg); break;
		case 'a': at_ms = number(optarg); break;
		case 'd': at_most_ms = number(optarg); break;
		case 'T': within_ms = number(optarg); break;
		case 'B': poll_us = number(optarg); break;
		case 'H': hog = true; break;
		case 'P': prefer_polling = true; break;
		case 'E': by_epoll = true; break;
		default: quit(usage);
		}
	}
	if (argc - optind != 2 || !size || size > MAX_MESSAGE || (by_epoll && tcp))
		quit(usage);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

static uint64_t now_ms(void)
{
	return now_ns() / 1000000;
}

static void begin_together(void)
{
	struct timespec at = { .tv_sec = at_ms / 1000, .tv_nsec = at_ms % 1000 * 1000000 };

	if (now_ms() >= at_ms)
		quit("the time to begin has passed; -a must be later");
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* Evenly over 0 to spread_ns, in the order of multiples of the golden ratio: as waiter does. */
static void linger(uint64_t number)
{
	uint64_t begun = now_ns();
	struct timespec pause = {
		.tv_nsec = spread_ns * ((uint32_t)number * 0x9e3779b9u) >> 32,
	};

	nanosleep(&pause, NULL);
	lingered_ns += now_ns() - begun;
}

/* Returns how many there were. */
static uint64_t transact_all(int epoll, int fd, struct sample *samples)
{
	const uint64_t until = at_most_ms ? now_ms() + at_most_ms : UINT64_MAX;
	struct timespec pause = { .tv_nsec = interval_ns };
	uint64_t i;

	for (i = 0; i < count && (!at_most_ms || now_ms() < until); i++) {
		if (interval_ns)
			nanosleep(&pause, NULL);
		if (spread_ns)
			linger(i);
		if (by_epoll)
			transact_polling(epoll, fd, warmup + i, &samples[i]);
		else
			transact(fd, warmup + i, &samples[i]);
	}
	return i;
}

int main(int argc, char **argv)
{
	struct totals before, after;
	struct sample *samples;
	struct timeval within;
	int fd, epoll = -1;
	uint64_t i, nr;
	int64_t ran;

	parse(argc, argv);
	within.tv_sec = within_ms / 1000;
	within.tv_usec = within_ms % 1000 * 1000;
	samples = calloc(count + 1, sizeof(*samples));
	if (!samples)
		die("memory for %llu samples", (unsigned long long)count);
	fd = connected_socket(tcp ? SOCK_STREAM : SOCK_DGRAM, argv[optind],
			      number(argv[optind + 1]));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &within, sizeof(within));
	if (by_epoll)
		epoll = busypoll_epoll(fd, poll_us, prefer_polling);
	else if (poll_us)
		busypoll_socket(fd, poll_us, prefer_polling);
	if (hog)
		start_hog();
	lock_memory();
	be_fifo(priority);

	for (i = 0; i < warmup; i++) {
		if (by_epoll)
			transact_polling(epoll, fd, i, &samples[count]);
		else
			transact(fd, i, &samples[count]);
	}
	if (at_ms)
		begin_together();
	ran = ran_ns();
	take_totals(&before);
	nr = transact_all(epoll, fd, samples);
	take_totals(&after);
	ran = ran_ns() - ran;

	/* Others may still wait for their last answer: printing is no work for a priority. */
	be_ordinary();
	puts("number,begin,end");
	for (i = 0; i < nr; i++)
		printf("%llu,%llu,%llu\n", (unsigned long long)i,
		       (unsigned long long)samples[i].begin, (unsigned long long)samples[i].end);
	print_totals(&before, &after, nr);
	if (hog)
		printf("# below ran_ns %lld\n", (long long)ran);
	return nr_lost || nr_wrong;
}
