// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * timer.bpf.c - the raise of a timer path is the programmed expiry of its hrtimer.
 *
 * While an hrtimer's callback runs, the surrounding chain carries that expiry. A timer may run
 * early within its slack, or ride along with another timer's interrupt: its raise is then the
 * start of that interrupt, never later, so IRQ latency is never negative. One that was due when it
 * was set (a periodic task that overran, TIMER_ABSTIME) is raised by its setting: nothing kept an
 * interrupt waiting before. Timers of the wheel (struct timer_list) have no exact expiry; only their
 * callback is noted.
 */

/* *@hard tells which of ip_cpu.outer_raise_ns belongs to it: one may interrupt the other. */
static __always_inline struct ip_chain *ip_timer_context(struct ip_cpu *c, bool *hard)
{
	*hard = c->hard_depth;
	if (c->hard_depth)
		return ip_hard_frame(c);
	return c->softirq_active && c->softirq.origin_kind ? &c->softirq : NULL;
}

/* The earliest stamp after the raise. */
static __always_inline __u64 ip_after_raise_ns(struct ip_chain *ch)
{
	int i;

	for (i = IP_HARDIRQ; i < IP_NR_POINTS; i++)
		if (ch->ns[i])
			return ch->ns[i];
	return 0;
}

/* Interrupts are off. A timer that is due is queued on the CPU that sets it. */
SEC("tp_btf/hrtimer_start")
int BPF_PROG(ip_hrtimer_start, struct hrtimer *timer)
{
	__u64 now = bpf_ktime_get_ns(), expiry = timer->node.expires - timer->base->offset;
	struct ip_cpu *c = ip_this_cpu();
	struct ip_overdue *o;

	if (!c)
		return 0;
	c->nr_events++;
	if ((__s64)(expiry - now) >= 0)
		return 0;
	o = &c->overdue[c->nr_overdue++ & (IP_MAX_OVERDUE - 1)];
	o->timer = (__u64)timer;
	o->set_ns = now;
	return 0;
}

/* When the timer was set, if it was due by then, or its expiry. */
static __always_inline __u64 ip_timer_raise_ns(struct ip_cpu *c, struct hrtimer *timer)
{
	/* To CLOCK_MONOTONIC: the base's offset is what its clock is ahead. */
	__u64 expiry = timer->node.expires - timer->base->offset;
	int i;

	for (i = 0; i < IP_MAX_OVERDUE; i++) {
		struct ip_overdue *o = &c->overdue[i];

		if (o->timer != (__u64)timer)
			continue;
		o->timer = 0;
		if ((__s64)(o->set_ns - expiry) > 0)
			return o->set_ns;
	}
	return expiry;
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(ip_hrtimer_expire_entry, struct hrtimer *timer)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_chain *ch;
	__u64 raise, first;
	bool hard;

	if (!c)
		return 0;
	c->nr_events++;
	ch = ip_timer_context(c, &hard);
	if (!ch)
		return 0;
	raise = ip_timer_raise_ns(c, timer);
	first = ip_after_raise_ns(ch);
	c->outer_raise_ns[hard ? 1 : 0] = ch->ns[IP_RAISE];
	ch->ns[IP_RAISE] = raise < first ? raise : first;
	ch->cpu[IP_RAISE] = bpf_get_smp_processor_id();
	ch->timer_fn = (__u64)timer->function;
	if (hard)
		ip_blocked(c, raise, first, IP_BLOCKED_IRQS, 0);
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int ip_hrtimer_expire_exit(void *ctx)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_chain *ch;
	bool hard;

	if (!c)
		return 0;
	c->nr_events++;
	ch = ip_timer_context(c, &hard);
	if (!ch)
		return 0;
	ch->ns[IP_RAISE] = c->outer_raise_ns[hard ? 1 : 0];
	ch->timer_fn = 0;
	return 0;
}

/* Timers of the wheel leave the raise alone: it is that of the interrupt they ride on. */
static __always_inline int ip_wheel_timer(__u64 function)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_chain *ch;
	bool hard;

	if (!c)
		return 0;
	c->nr_events++;
	ch = ip_timer_context(c, &hard);
	if (ch)
		ch->timer_fn = function;
	return 0;
}

SEC("tp_btf/timer_expire_entry")
int BPF_PROG(ip_timer_expire_entry, struct timer_list *timer)
{
	return ip_wheel_timer((__u64)timer->function);
}

SEC("tp_btf/timer_expire_exit")
int ip_timer_expire_exit(void *ctx)
{
	return ip_wheel_timer(0);
}
