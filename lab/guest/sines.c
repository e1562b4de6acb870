// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sines CPU PRIORITY SINES SECONDS: the determinism test of the RCIM document, for the lab.
 *
 * A SCHED_FIFO task with locked memory computes the same sines again and again on one CPU. Each
 * loop lies between two marks, so that the lab's counter tells how many instructions its virtual
 * CPU executed meanwhile, the kernel's and other tasks' with them. What the loop itself executes is
 * always the same. Prints how many loops there were.
 */
#define _GNU_SOURCE
#include <time.h>

#include "guest.h"
#include "intsight_mark.h"

/* Terms of the series; where x is not above 1, that is exact to 1e-7. */
static double sine(double x)
{
	double square = x * x;

	return x * (1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72))));
}

static double loop(uint64_t sines)
{
	double sum = 0;

	for (uint64_t i = 0; i < sines; i++)
		sum += sine((double)(i & 1023) / 1024);
	return sum;
}

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

int main(int argc, char **argv)
{
	uint64_t nr = 0, sines;
	volatile double sink;
	cpu_set_t cpus;
	time_t end;

	if (argc != 5)
		quit("usage: sines CPU PRIORITY SINES SECONDS");
	CPU_ZERO(&cpus);
	CPU_SET(number(argv[1]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("CPU %s", argv[1]);
	lock_memory();
	be_fifo(number(argv[2]));
	sines = number(argv[3]);
	end = seconds() + number(argv[4]);
	do {
		INTSIGHT_MARK(INTSIGHT_MARK_WORKLOAD_GO);
		sink = loop(sines);
		INTSIGHT_MARK(INTSIGHT_MARK_WORKLOAD_END);
		nr++;
	} while (seconds() < end);
	(void)sink;
	printf("%llu\n", (unsigned long long)nr);
	return 0;
}
