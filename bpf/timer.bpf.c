// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * timer.bpf.c - the raise of a timer path is the programmed expiry of its hrtimer.
 *
 * While an hrtimer's callback runs, the surrounding chain carries that expiry. A timer may run
 * early within its slack, or ride along with another timer's interrupt: its raise is then the
 * start of that interrupt, never later, so IRQ latency is never negative. Timers of the wheel
 * (struct timer_list) have no exact expiry; only their callback is noted.
 */

static __always_inline struct ip_chain *ip_timer_context(struct ip_cpu *c)
{
	if (c->hard_depth)
		return &c->hard[(c->hard_depth - 1) & (IP_MAX_NEST - 1)];
	return c->softirq_active && c->softirq.origin_kind ? &c->softirq : NULL;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(ip_hrtimer_expire_entry, struct hrtimer *timer)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_chain *ch;
	__u64 raise, first;

	if (!c)
		return 0;
	c->nr_events++;
	ch = ip_timer_context(c);
	if (!ch)
		return 0;
	/* To CLOCK_MONOTONIC: the base's offset is what its clock is ahead. */
	raise = timer->node.expires - timer->base->offset;
	first = ch->ns[IP_HARDIRQ] ?: ch->ns[IP_SOFTIRQ_RAISE];
	ch->ns[IP_RAISE] = raise < first ? raise : first;
	ch->cpu[IP_RAISE] = bpf_get_smp_processor_id();
	ch->timer_fn = (__u64)timer->function;
	return 0;
}

static __always_inline int ip_timer_exit(void)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_chain *ch;

	if (!c)
		return 0;
	c->nr_events++;
	ch = ip_timer_context(c);
	if (!ch)
		return 0;
	ch->ns[IP_RAISE] = 0;
	ch->timer_fn = 0;
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int ip_hrtimer_expire_exit(void *ctx)
{
	return ip_timer_exit();
}

SEC("tp_btf/timer_expire_entry")
int BPF_PROG(ip_timer_expire_entry, struct timer_list *timer)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_chain *ch;

	if (!c)
		return 0;
	c->nr_events++;
	ch = ip_timer_context(c);
	if (ch)
		ch->timer_fn = (__u64)timer->function;
	return 0;
}

SEC("tp_btf/timer_expire_exit")
int ip_timer_expire_exit(void *ctx)
{
	return ip_timer_exit();
}
