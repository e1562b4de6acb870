/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hist.bpf.h - times into log-linear histograms, whose pages come from one pool.
 */
#ifndef IRQPATH_HIST_BPF_H
#define IRQPATH_HIST_BPF_H

static __always_inline __u32 ip_log2(__u64 v)
{
	__u32 r, shift;

	r = (v > 0xffffffffULL) << 5; v >>= r;
	shift = (v > 0xffff) << 4; v >>= shift; r |= shift;
	shift = (v > 0xff) << 3; v >>= shift; r |= shift;
	shift = (v > 0xf) << 2; v >>= shift; r |= shift;
	shift = (v > 0x3) << 1; v >>= shift; r |= shift;
	return r | (v >> 1);
}

/* Log-linear like an HDR histogram: IP_HIST_BITS bits below the leading one. */
static __always_inline __u32 ip_bucket(__u64 ns)
{
	__u32 e;

	if (ns < (1 << IP_HIST_BITS))
		return ns;
	e = ip_log2(ns) - IP_HIST_BITS;
	return ((e + 1) << IP_HIST_BITS) | ((ns >> e) & ((1 << IP_HIST_BITS) - 1));
}

static __always_inline void ip_raise_max(__u64 *max, __u64 v)
{
	__u64 old = *max;
	int i;

	/* A maximum that loses a race would be a lie: retry while somebody else raises it. */
	for (i = 0; i < 4; i++) {
		__u64 seen;

		if (v <= old)
			return;
		seen = __sync_val_compare_and_swap(max, old, v);
		if (seen == old)
			return;
		old = seen;
	}
}

/* The number in @page, which gets one if it has none; 0 if there is no page left. */
static __always_inline __u32 ip_page_number(struct ip_cpu *c, __u32 *page, __u32 keep)
{
	__u32 nr = *(volatile __u32 *)page, seen;

	if (nr)
		return nr;
	nr = __sync_lock_test_and_set(&c->spare_page, 0);
	if (!nr)
		nr = ip_take_page(keep);
	if (!nr)
		return 0;
	seen = __sync_val_compare_and_swap(page, 0, nr);
	if (!seen)
		return nr;
	c->spare_page = nr;	/* another CPU was faster: ours is for the next one */
	return seen;
}

/* Count @ns; a further page is taken if more than @keep are left. */
__noinline int ip_hist_add(struct ip_cpu *c, struct ip_hist *h, __u64 ns, __u32 keep)
{
	struct ip_hist_page *page;
	__u32 nr, bucket, at;

	if (!c || !h)
		return 0;
	if (ns < IP_HIST_LIMIT) {
		bucket = ip_bucket(ns);
		at = (bucket / IP_PAGE_BUCKETS) & (IP_HIST_PAGES - 1);
		nr = ip_page_number(c, &h->page[at], keep);
		page = nr ? bpf_map_lookup_elem(&ip_hist_pages, &nr) : NULL;
		if (!page) {
			ip_lose(c, IP_LOSS_HIST_TABLE_FULL);
			return 0;
		}
		__sync_fetch_and_add(&page->bucket[bucket & (IP_PAGE_BUCKETS - 1)], 1);
	} else {
		__sync_fetch_and_add(&h->nr_overflow, 1);
	}
	ip_raise_max(&h->max_ns, ns);
	ip_raise_max(&h->min_ns_inverted, ~ns);
	__sync_fetch_and_add(&h->sum_ns, ns);
	__sync_fetch_and_add(&h->nr, 1);	/* last: says that there are extremes */
	return 0;
}

#endif /* IRQPATH_HIST_BPF_H */
