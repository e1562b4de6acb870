// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * softirq.bpf.c - stages: hardirq -> softirq_raise -> softirq.
 *
 * A vector is one pending bit per CPU, so its origin waits in one slot per CPU and vector
 * until the action starts: in irq exit, at local_bh_enable, in ksoftirqd or an irq thread.
 * Entry takes the origin out, hence a raise while the action runs starts a new one and no
 * negative delay can arise.
 */

SEC("tp_btf/softirq_raise")
int BPF_PROG(ip_softirq_raise, unsigned int vec)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_chain *pending, *context;
	__u64 now;

	if (!c || vec >= IP_NR_SOFTIRQS)
		return 0;
	now = ip_now(c);
	c->nr_events++;
	pending = &c->pending[ip_softirq_index(vec)];
	if (pending->origin_kind)
		return 0;	/* already pending: the first raise counts */
	context = ip_context(c);
	if (!context && (c->hard_depth || c->softirq_active)) {
		pending->origin_kind = IP_ORIGIN_UNSEEN;
		return 0;
	}
	if (context)
		__builtin_memcpy(pending, context, sizeof(*pending));
	else
		ip_chain_start(pending, IP_ORIGIN_SOFTIRQ, vec);
	ip_stamp(pending, IP_SOFTIRQ_RAISE, now);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(ip_softirq_entry, unsigned int vec)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_chain *pending;
	struct ip_softirq *s;
	__u64 now, delay_ns;

	if (!c || vec >= IP_NR_SOFTIRQS)
		return 0;
	now = ip_now(c);
	ip_check_current(c, now);
	c->nr_events++;
	pending = &c->pending[ip_softirq_index(vec)];
	__builtin_memcpy(&c->softirq, pending, sizeof(c->softirq));
	pending->origin_kind = IP_ORIGIN_NONE;
	if (c->softirq.origin_kind == IP_ORIGIN_UNSEEN)
		c->softirq.origin_kind = IP_ORIGIN_NONE;
	c->softirq_vec = vec;
	c->softirq_entry_ns = ip_run_ns(c, now);
	s = &c->softirqs[ip_softirq_index(vec)];
	s->nr++;
	if (c->softirq.origin_kind) {
		delay_ns = now - c->softirq.ns[IP_SOFTIRQ_RAISE];
		s->delay_ns += delay_ns;
		if (delay_ns > s->max_delay_ns)
			s->max_delay_ns = delay_ns;
		ip_blocked(c, now - delay_ns, now, IP_BLOCKED_SOFTIRQS, 0);
		ip_stamp(&c->softirq, IP_SOFTIRQ, now);
		c->softirq.via |= 1 << vec | c->softirqd_via;
	}
	c->softirq_active = 1;
	ip_occ_softirq(c, now, IP_OCC_SOFTIRQ_ENTRY, vec);
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(ip_softirq_exit, unsigned int vec)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_softirq *s;
	__u64 now, run_ns;
	bool entered;

	if (!c || vec >= IP_NR_SOFTIRQS)
		return 0;
	now = ip_now(c);
	c->nr_events++;
	entered = c->softirq_active;
	/* First: an interrupt that begins a chunk after the exit must not restate the softirq. */
	c->softirq_active = 0;
	barrier();
	ip_occ_softirq(c, now, IP_OCC_SOFTIRQ_EXIT, vec);
	if (!entered)
		return 0;
	run_ns = ip_run_ns(c, now) - c->softirq_entry_ns;
	s = &c->softirqs[ip_softirq_index(vec)];
	s->run_ns += run_ns;
	if (run_ns > s->max_run_ns)
		s->max_run_ns = run_ns;
	return 0;
}

/* A CPU that goes away takes its pending bits along: what waits here would be stale. */
SEC("tp_btf/cpuhp_enter")
int BPF_PROG(ip_cpuhp_enter, unsigned int cpu)
{
	__u32 zero = 0;
	struct ip_cpu *c = bpf_map_lookup_percpu_elem(&ip_cpus, &zero, cpu);
	int i;

	if (!c || cpu == bpf_get_smp_processor_id())
		return 0;
	for (i = 0; i < IP_NR_SOFTIRQS; i++)
		c->pending[i].origin_kind = IP_ORIGIN_NONE;
	c->ipi_raise_ns[0] = 0;
	c->ipi_raise_ns[1] = 0;
	return 0;
}
