/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * steal.bpf.h - time that the hypervisor took from this CPU, and the clock that knows of it.
 *
 * KVM counts for each virtual CPU how long it was ready to run and did not, in the guest's per-CPU
 * variable steal_time, and brings it up to date before the CPU runs again. Its symbol need not be
 * in kallsyms, but BTF has its distance from the run queues, to which every task has a pointer.
 */
#ifndef IRQPATH_STEAL_BPF_H
#define IRQPATH_STEAL_BPF_H

/* Since Linux 6.2 by a plain load, which gives 0 if it faults; a helper call takes longer. */
static __always_inline __u64 ip_read_stolen(struct ip_cpu *c)
{
	__u64 ns = 0;

	if (bpf_ksym_exists(bpf_rdonly_cast))
		return bpf_core_cast((void *)c->stolen_at, struct kvm_steal_time)->steal;
	bpf_probe_read_kernel(&ns, sizeof(ns), (void *)c->stolen_at);
	return ns;
}

/* The first look on this CPU: what was stolen before it is of no interest. */
static __always_inline void ip_find_stolen(struct ip_cpu *c)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	__u64 rq = (__u64)BPF_CORE_READ(cur, se.cfs_rq, rq);

	c->stolen_at = rq + ip_config.rq_to_stolen;
	c->stolen_ns = ip_read_stolen(c);
}

/*
 * The count has grown from @old to @ns: say so. The clock is read again, since the CPU may have
 * been away between the caller's reading of the clock and of the count.
 */
static __noinline __u64 ip_tell_stolen(struct ip_cpu *c, __u64 old, __u64 ns)
{
	__u64 now = bpf_ktime_get_ns(), grown = ns - old;

	/* An interrupt in between may have told of it. */
	if (__sync_val_compare_and_swap(&c->stolen_ns, old, ns) == old)
		ip_occ_any(c, true, now, IP_OCC_STOLEN, grown >> 32, grown, NULL);
	return now;
}

/*
 * What the clock says, after telling what was stolen until then. Not inlined: on Linux 6.1 the stack
 * of ip_sched_waking and of what it calls has no room for more.
 */
static __noinline __u64 ip_now(struct ip_cpu *c)
{
	__u64 now = bpf_ktime_get_ns(), old, ns;

	if (!ip_config.rq_to_stolen ||
	    !bpf_core_field_exists(((struct task_struct *)0)->se.cfs_rq))
		return now;
	if (!c->stolen_at)
		ip_find_stolen(c);
	old = c->stolen_ns;
	ns = ip_read_stolen(c);
	return ns > old ? ip_tell_stolen(c, old, ns) : now;
}

/* @now on a clock that stands still while time is stolen, for how long something ran. */
static __always_inline __u64 ip_run_ns(struct ip_cpu *c, __u64 now)
{
	return now - c->stolen_ns;
}

#endif /* IRQPATH_STEAL_BPF_H */
