/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * share.bpf.h - who may have rows of the path table, and where the rest is counted.
 *
 * Any task can take a new name as often as it likes, and every name would be a row. So a task, a
 * name and a user have a share of the rows each, and the users together leave some to root and the
 * kernel; a user that comes later still finds half of what those before have left. A path beyond a
 * share is counted in the row "others" of its origin, which always has room. Runs for paths without
 * a row only: seldom, or as often as somebody floods the table.
 */
#ifndef IRQPATH_SHARE_BPF_H
#define IRQPATH_SHARE_BPF_H

/* The limit of an account and its key, or 0 where this path does not count in it. */
static __always_inline __u32 ip_share_of(enum ip_share which, struct ip_rec_path *r, __u32 uid,
					 struct ip_share_key *key)
{
	/* What --task names is not to be folded; root's part is kept even from that. */
	bool named = ip_config.nr_tids || ip_config.nr_comms;

	__builtin_memset(key, 0, sizeof(*key));
	key->which = which;
	switch (which) {
	case IP_SHARE_TABLE:
		return ip_config.max_paths;
	case IP_SHARE_USERS:
		return uid ? ip_config.max_paths * IP_USERS_SHARE / IP_SHARES : 0;
	case IP_SHARE_USER:
		key->id = uid;
		return uid && !named ? ip_config.max_paths * IP_USERS_SHARE / IP_SHARES : 0;
	case IP_SHARE_NAME:
		key->id = uid;
		key->comm[0] = r->comm[0];
		key->comm[1] = r->comm[1];
		return named ? 0 : ip_config.max_paths * IP_NAME_SHARE / IP_SHARES;
	default:
		key->id = r->tid;
		return named ? 0 : ip_config.max_paths * IP_TASK_SHARE / IP_SHARES;
	}
}

/* May this path have a row? */
__noinline int ip_may_have_row(struct ip_rec_path *r, __u32 uid)
{
	struct ip_share_key key;
	__u32 *rows, nr, limit, of_users = 0;
	int i;

	if (!r)
		return 0;
	for (i = 0; i < IP_NR_SHARES; i++) {
		limit = ip_share_of(i, r, uid, &key);
		if (!limit)
			continue;
		rows = bpf_map_lookup_elem(&ip_shares, &key);
		nr = rows ? *(volatile __u32 *)rows : 0;
		if (i == IP_SHARE_USERS)
			of_users = nr;
		/* As many for one user as for all that come after it. */
		if (nr + (i == IP_SHARE_USER ? of_users : 0) >= limit)
			return 0;
	}
	return 1;
}

/* It has one now. CPUs that race may go over a limit by one each. */
__noinline int ip_charge_row(struct ip_rec_path *r, __u32 uid)
{
	struct ip_share_key key;
	__u32 *rows, one = 1;
	int i;

	if (!r)
		return 0;
	for (i = 0; i < IP_NR_SHARES; i++) {
		if (!ip_share_of(i, r, uid, &key))
			continue;
		rows = bpf_map_lookup_elem(&ip_shares, &key);
		if (rows)
			__sync_fetch_and_add(rows, 1);
		else
			bpf_map_update_elem(&ip_shares, &key, &one, BPF_NOEXIST);
	}
	return 0;
}

/* HyperLogLog: user space estimates from it how many different values there were. */
static __always_inline void ip_sketch_add(__u8 *sketch, __u64 value)
{
	__u64 hash = (value ^ value >> 32) * 0x9e3779b97f4a7c15ULL;
	__u32 at, rank;

	hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ULL;
	hash ^= hash >> 32;
	at = hash & (IP_SKETCH_LEN - 1);
	rank = 64 - IP_SKETCH_BITS - ip_log2(hash >> IP_SKETCH_BITS | 1);
	if (sketch[at] < rank)
		sketch[at] = rank;
}

/* The row of all paths of an origin that have none of their own. */
static __always_inline struct ip_path_stat *ip_others_of(struct ip_cpu *c, struct ip_rec_path *r)
{
	struct ip_path_key key = {
		.origin_nr = r->chain.origin_nr,
		.origin_kind = r->chain.origin_kind,
		.others = 1,
	};
	struct ip_path_stat *stat = ip_row_of(&key);
	struct ip_folded *folded;
	__u32 zero = 0;

	if (!stat) {
		ip_add_row(c, &key, r, 0);
		stat = ip_row_of(&key);
	}
	folded = bpf_map_lookup_elem(&ip_folded, &zero);
	if (stat && folded) {
		__sync_fetch_and_add(&folded->nr_paths, 1);
		ip_sketch_add(folded->names, r->comm[0] * 31 + r->comm[1]);
		ip_sketch_add(folded->tasks, r->tid);
	}
	return stat;
}

#endif /* IRQPATH_SHARE_BPF_H */
