/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * race.h - two CPUs that use the same memory at the same time, as real threads: they add to the same
 * fresh histograms, or ask a third CPU for its transitions.
 *
 * Everything else in this directory runs one event at a time; only a race can try atomics.
 */
#ifndef RACE_H
#define RACE_H

#define RACE_THREADS	2

static struct ip_hist *race_hists;
static __u64 *race_asks;
static __u32 race_nr, race_ready;

/* The threads begin each round together. */
static void race_await_round(__u32 i)
{
	__sync_fetch_and_add(&race_ready, 1);
	while (*(volatile __u32 *)&race_ready < RACE_THREADS * (i + 1))
		;
}

static void *race_add(void *c)
{
	__u32 i;

	for (i = 0; i < race_nr; i++) {
		race_await_round(i);
		ip_hist_add(c, &race_hists[i], 100, 0);
	}
	return NULL;
}

/* Each thread wants another time; the earliest is 1. */
static void *race_ask(void *number)
{
	__u64 from_ns = 1 + *(__u32 *)number;
	__u32 i;

	for (i = 0; i < race_nr; i++) {
		race_await_round(i);
		ip_ask_since(&race_asks[i], from_ns);
	}
	return NULL;
}

/* Runs @run in all threads, each with an element of @args. */
static void race_threads(void *(*run)(void *), void *args, size_t size)
{
	pthread_t thread[RACE_THREADS];
	__u32 i;

	race_ready = 0;
	for (i = 0; i < RACE_THREADS; i++)
		if (pthread_create(&thread[i], NULL, run, (char *)args + i * size))
			sim_die("no thread", "race");
	for (i = 0; i < RACE_THREADS; i++)
		pthread_join(thread[i], NULL);
}

/* Prints how many pages were taken, how many of those a histogram has, and how many are spare. */
static void race_for_pages(__u32 nr)
{
	struct ip_cpu *c = calloc(RACE_THREADS, sizeof(*c));
	__u32 used = 0, spare = 0, i, taken = ip_pool.pages_taken;
	__u64 nr_times = 0;

	race_hists = calloc(nr, sizeof(*race_hists));
	race_nr = nr;
	race_threads(race_add, c, sizeof(*c));
	for (i = 0; i < RACE_THREADS; i++)
		spare += !!c[i].spare_page;
	for (i = 0; i < nr; i++) {
		used += !!race_hists[i].page[0];
		nr_times += race_hists[i].nr;
	}
	printf("race taken=%u used=%u spare=%u times=%llu\n", ip_pool.pages_taken - taken, used, spare,
	       nr_times);
	free(race_hists);
	free(c);
}

/* Prints in how many rounds the earliest request was the one that was kept. */
static void race_to_ask(__u32 nr)
{
	__u32 number[RACE_THREADS], kept = 0, i;

	race_asks = calloc(nr, sizeof(*race_asks));
	race_nr = nr;
	for (i = 0; i < RACE_THREADS; i++)
		number[i] = i;
	race_threads(race_ask, number, sizeof(*number));
	for (i = 0; i < nr; i++)
		kept += race_asks[i] == 1;
	printf("race kept=%u\n", kept);
	free(race_asks);
}

#endif /* RACE_H */
