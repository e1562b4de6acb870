// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * netjob - a CPU-bound job, and how long it takes each time, whatever interrupts it.
 *
 * Executes about -i instructions, -n times, one time in each period of -P nanoseconds: what is
 * left of the period is for others. Prints CSV: number, cycle counter before and after; the last
 * line tells how often the job had not ended when the next one had to begin.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

#define NS_PER_S	1000000000LL

struct sample {
	uint64_t begin;
	uint64_t end;
};

static const char usage[] =
"usage: netjob [-n COUNT] [-i INSTRUCTIONS] [-P PERIOD_NS] [-p FIFO_PRIORITY]\n";

/* One jump in many instructions: the translator that counts them is ten times as fast. */
static void work(uint64_t instructions)
{
	for (uint64_t i = 0; i < instructions / 500; i++)
		__asm__ volatile(".rept 498\n\tnop\n\t.endr" ::: "memory");
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static void sleep_until(int64_t ns)
{
	struct timespec until = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

int main(int argc, char **argv)
{
	uint64_t count = 10, instructions = 100000000, priority = 0, nr_missed = 0;
	int64_t period_ns = NS_PER_S, begin_ns;
	struct sample *samples;
	int opt;

	while ((opt = getopt(argc, argv, "n:i:P:p:")) != -1) {
		switch (opt) {
		case 'n': count = number(optarg); break;
		case 'i': instructions = number(optarg); break;
		case 'P': period_ns = number(optarg); break;
		case 'p': priority = number(optarg); break;
		default: quit(usage);
		}
	}
	samples = calloc(count, sizeof(*samples));
	if (optind != argc || !samples)
		quit(usage);
	lock_memory();
	be_fifo(priority);
	work(instructions / 10);

	begin_ns = now_ns();
	for (uint64_t i = 0; i < count; i++) {
		begin_ns += period_ns;
		sleep_until(begin_ns);
		samples[i].begin = cycles();
		work(instructions);
		samples[i].end = cycles();
		nr_missed += now_ns() > begin_ns + period_ns;
	}

	puts("number,begin,end");
	for (uint64_t i = 0; i < count; i++)
		printf("%llu,%llu,%llu\n", (unsigned long long)i,
		       (unsigned long long)samples[i].begin, (unsigned long long)samples[i].end);
	printf("# missed %llu\n", (unsigned long long)nr_missed);
	return 0;
}
