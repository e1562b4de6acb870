/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flight.bpf.h - the flight recorder: every CPU keeps its newest paths beside its newest transitions.
 *
 * Nothing leaves the kernel until user space reads the rings, so the recorder costs no system call
 * and no wakeup while nothing happens. Only a path over a threshold is delivered, as a record, which
 * tells user space to read. The recorder alone has no statistics: those of a capture are made from its
 * paths. An agent keeps statistics beside the rings, and reports paths for both (finish.bpf.h).
 */
#ifndef IRQPATH_FLIGHT_BPF_H
#define IRQPATH_FLIGHT_BPF_H

/* Is the whole path over its threshold, or one of its stages over that of the stage? */
static __noinline bool ip_is_over(struct ip_chain *ch)
{
	__u64 prev = 0;
	int i;

	if (ip_config.kept_ns && ip_length(ch) >= ip_config.kept_ns)
		return true;
	for (i = 0; i < IP_NR_POINTS; i++) {
		__u64 ns = ch->ns[i], limit = ip_config.stage_ns[i];

		if (!ns)
			continue;
		if (limit && prev && ns > prev && ns - prev >= limit)
			return true;
		if (ns > prev)
			prev = ns;
	}
	return false;
}

/*
 * Keep a path in the ring of this CPU. An interrupt in between takes the next place. A reader
 * believes a place whose number is what it expects, before and after it was copied.
 */
static __noinline int ip_keep_path(struct ip_cpu *c, struct ip_rec_path *r)
{
	__u64 nr = __sync_fetch_and_add(&c->nr_kept, 1);
	struct ip_kept_path *kept;
	__u32 i;

	i = bpf_get_smp_processor_id() * ip_config.nr_kept_paths + nr % ip_config.nr_kept_paths;
	kept = bpf_map_lookup_elem(&ip_kept_paths, &i);
	if (kept) {
		kept->nr = 0;
		barrier();
		__builtin_memcpy(&kept->r, r, sizeof(kept->r));
		barrier();
		kept->nr = nr + 1;
	}
	if (!ip_config.only_keeps || !ip_is_over(&r->chain))
		return 0;
	/* Nothing else happened until the return to user space: say so, by restating the task. */
	if (r->chain.ns[IP_USER])
		ip_occ_task(c, true, r->chain.ns[IP_USER], bpf_get_current_task_btf());
	if (bpf_ringbuf_output(&ip_records, r, sizeof(*r), BPF_RB_NO_WAKEUP))
		ip_lose(c, IP_LOSS_RINGBUF_FULL);
	return 0;
}

#endif /* IRQPATH_FLIGHT_BPF_H */
