/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rows.bpf.h - numbers from the pool, and the rows of paths.
 *
 * A row that user space has retired belongs to another path later. The table of paths names rows by
 * number, and an entry that is deleted may be another's when its value is read: a row counts only
 * for the path whose key it has.
 */
#ifndef IRQPATH_ROWS_BPF_H
#define IRQPATH_ROWS_BPF_H

/*
 * The next number of a ring, or 0 if no more than @keep are left. What was read from the ring is
 * still there if nobody has taken it: it has room for all numbers that there are.
 */
static __always_inline __u32 ip_take(__u32 *taken, __u32 *put, __u32 *ring, __u32 mask, __u32 keep)
{
	int i;

	for (i = 0; i < 8; i++) {
		__u32 at = *(volatile __u32 *)taken, nr;

		/* Atomic for its order: the number is put before it is counted. */
		if (__sync_fetch_and_add(put, 0) - at <= keep)
			return 0;
		nr = *(volatile __u32 *)&ring[at & mask];
		if (__sync_val_compare_and_swap(taken, at, at + 1) == at)
			return nr;
	}
	return 0;
}

__noinline __u32 ip_take_page(__u32 keep)
{
	return ip_take(&ip_pool.pages_taken, &ip_pool.pages_put, ip_pool.page, IP_PAGE_RING - 1,
		       keep);
}

static __always_inline bool ip_same_path(struct ip_path_key *a, struct ip_path_key *b)
{
	return a->comm[0] == b->comm[0] && a->comm[1] == b->comm[1] &&
	       a->origin_nr == b->origin_nr && a->via == b->via &&
	       a->origin_kind == b->origin_kind && a->normal_prio == b->normal_prio &&
	       a->policy == b->policy && a->others == b->others;
}

/* The row of a path, if it has one. */
static __always_inline struct ip_path_stat *ip_row_of(struct ip_path_key *key)
{
	__u32 *there = bpf_map_lookup_elem(&ip_paths, key), nr;
	struct ip_path_stat *row;

	if (!there)
		return NULL;
	nr = *(volatile __u32 *)there;
	row = bpf_map_lookup_elem(&ip_rows, &nr);
	return row && ip_same_path(&row->key, key) ? row : NULL;
}

/* Give a path a row; not 0 if it has one by now, or there is none left. */
__noinline int ip_add_row(struct ip_cpu *c, struct ip_path_key *path, struct ip_rec_path *r,
			  __u32 uid)
{
	struct ip_path_stat *row;
	struct ip_path_key key;
	__u32 nr;

	if (!c || !path || !r)
		return -1;
	key = *path;
	nr = __sync_lock_test_and_set(&c->spare_row, 0);
	if (!nr)
		nr = ip_take(&ip_pool.rows_taken, &ip_pool.rows_put, ip_pool.row, IP_ROW_RING - 1, 0);
	row = nr ? bpf_map_lookup_elem(&ip_rows, &nr) : NULL;
	if (!row)
		return -1;
	row->key = key;
	row->born_ns = bpf_ktime_get_ns();
	row->comm[0] = r->comm[0];
	row->comm[1] = r->comm[1];
	row->uid = uid;
	row->tid = r->tid;
	row->keep_pages = uid ? ip_config.keep_pages : 0;
	if (!bpf_map_update_elem(&ip_paths, &key, &nr, BPF_NOEXIST))
		return 0;
	c->spare_row = nr;	/* another CPU was faster: ours is for the next path */
	return -1;
}

#endif /* IRQPATH_ROWS_BPF_H */
