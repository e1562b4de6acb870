/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * race.h - two CPUs that add to the same fresh histograms at the same time, as real threads.
 *
 * Everything else in this directory runs one event at a time; pages are handed out by atomics, which
 * only a race can try.
 */
#ifndef RACE_H
#define RACE_H

#define RACE_THREADS	2

static struct ip_hist *race_hists;
static __u32 race_nr, race_ready;

static void *race_run(void *c)
{
	__u32 i;

	__sync_fetch_and_add(&race_ready, 1);
	for (i = 0; i < race_nr; i++) {
		/* Together at each histogram. */
		while (*(volatile __u32 *)&race_ready < RACE_THREADS * (i + 1))
			;
		ip_hist_add(c, &race_hists[i], 100, IP_MAX_PAGES);
		__sync_fetch_and_add(&race_ready, 1);
	}
	return NULL;
}

/* Prints how many pages were taken, how many of those a histogram has, and how many are spare. */
static void race(__u32 nr)
{
	struct ip_cpu *c = calloc(RACE_THREADS, sizeof(*c));
	__u32 used = 0, spare = 0, i, taken = ip_nr_pages;
	pthread_t thread[RACE_THREADS];
	__u64 nr_times = 0;

	race_hists = calloc(nr, sizeof(*race_hists));
	race_nr = nr;
	for (i = 0; i < RACE_THREADS; i++)
		if (pthread_create(&thread[i], NULL, race_run, &c[i]))
			sim_die("no thread", "race");
	for (i = 0; i < RACE_THREADS; i++) {
		pthread_join(thread[i], NULL);
		spare += !!c[i].spare_page;
	}
	for (i = 0; i < nr; i++) {
		used += !!race_hists[i].page[0];
		nr_times += race_hists[i].nr;
	}
	printf("race taken=%u used=%u spare=%u times=%llu\n", ip_nr_pages - taken, used, spare,
	       nr_times);
	free(race_hists);
	free(c);
}

#endif /* RACE_H */
