/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * chain.bpf.h - how the origin of an interrupt travels with the work that it starts.
 *
 * Rule: stamping a point clears every later one, so that a chain is always in order of time
 * even where work goes round (a work item that raises a softirq). `via` remembers all of it.
 */
#ifndef IRQPATH_CHAIN_BPF_H
#define IRQPATH_CHAIN_BPF_H

static __always_inline void ip_stamp(struct ip_chain *ch, enum ip_point point, __u64 now)
{
	int i;

	ch->ns[point] = now;
	ch->cpu[point] = bpf_get_smp_processor_id();
#pragma unroll
	for (i = 0; i < IP_NR_POINTS; i++)
		if (i > point)
			ch->ns[i] = 0;
}

static __always_inline void ip_chain_start(struct ip_chain *ch, __u16 kind, __u32 nr)
{
	__builtin_memset(ch, 0, sizeof(*ch));
	ch->origin_kind = kind;
	ch->origin_nr = nr;
}

/* First stamp of a path. */
static __always_inline __u64 ip_first_ns(struct ip_chain *ch)
{
	int i;

	for (i = 0; i < IP_NR_POINTS; i++)
		if (ch->ns[i])
			return ch->ns[i];
	return 0;
}

/* First to last stamp, for a path that has no statistics. */
static __always_inline __u64 ip_length(struct ip_chain *ch)
{
	__u64 last = 0;
	int i;

	for (i = 0; i < IP_NR_POINTS; i++)
		if (ch->ns[i] > last)
			last = ch->ns[i];
	return last - ip_first_ns(ch);
}

/* The innermost hardirq, or NULL where it is nested too deep to be followed. */
static __always_inline struct ip_chain *ip_hard_frame(struct ip_cpu *c)
{
	__u32 depth = c->hard_depth - 1;

	return depth < IP_MAX_NEST ? &c->hard[depth & (IP_MAX_NEST - 1)] : NULL;
}

/* The innermost context of this CPU that belongs to an interrupt, or NULL. */
static __always_inline struct ip_chain *ip_context(struct ip_cpu *c)
{
	struct ip_slot *slot;
	struct ip_tag *tag;

	if (c->hard_depth)
		return ip_hard_frame(c);
	if (ip_config.hardirqs_only)
		return NULL;
	if (c->softirq_active)
		return c->softirq.origin_kind ? &c->softirq : NULL;
	if (!c->carrier)
		return NULL;
	tag = ip_tag_of(c->cur_tid);
	if (!tag || tag->tid != c->cur_tid || tag->state != IP_SLOT_CARRIER)
		return NULL;
	slot = ip_slot_of(c->cur_tid);
	return slot ? &slot->chain : NULL;
}

/* Enter a hardirq: @raise_ns, where its raise may be stamped, or NULL. Takes the stamp. */
static __always_inline void ip_hard_enter(struct ip_cpu *c, __u16 kind, __u32 nr,
					  __u64 *raise_ns)
{
	__u64 now = ip_now(c);
	__u32 depth = c->hard_depth;
	__u64 raised;

	ip_check_current(c, now);
	raised = raise_ns ? *raise_ns : 0;
	if (raised)
		*raise_ns = 0;
	c->nr_events++;
	c->hard_depth = depth + 1;
	if (depth >= IP_MAX_NEST) {
		ip_lose(c, IP_LOSS_NESTING_TOO_DEEP);
		return;
	}
	depth &= IP_MAX_NEST - 1;
	ip_chain_start(&c->hard[depth], kind, nr);
	if (raised) {
		c->hard[depth].ns[IP_RAISE] = raised < now ? raised : now;
		c->hard[depth].cpu[IP_RAISE] = bpf_get_smp_processor_id();
	}
	c->hard[depth].ns[IP_HARDIRQ] = now;
	c->hard[depth].cpu[IP_HARDIRQ] = bpf_get_smp_processor_id();
	c->hard_entry_ns[depth] = ip_run_ns(c, now);
	ip_occ_hardirq(c, now, IP_OCC_HARDIRQ_ENTRY, kind, nr);
}

/* Leave the innermost hardirq. Returns its run time, or 0 if it was not followed. */
static __always_inline __u64 ip_hard_exit(struct ip_cpu *c)
{
	__u64 now = ip_now(c);
	__u32 depth = c->hard_depth;

	c->nr_events++;
	if (!depth)
		return 0;	/* entered before we were attached */
	c->hard_depth = --depth;
	if (depth >= IP_MAX_NEST)
		return 0;
	ip_occ_hardirq(c, now, IP_OCC_HARDIRQ_EXIT, 0, 0);
	return ip_run_ns(c, now) - c->hard_entry_ns[depth & (IP_MAX_NEST - 1)];
}

static __always_inline void ip_line_add(struct ip_line *line, __u64 run_ns)
{
	line->run_ns += run_ns;
	if (run_ns > line->max_run_ns)
		line->max_run_ns = run_ns;
}

#endif /* IRQPATH_CHAIN_BPF_H */
