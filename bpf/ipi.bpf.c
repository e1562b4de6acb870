// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ipi.bpf.c - the raise of an inter-processor interrupt is its sending (Linux 6.4 and newer).
 *
 * A second IPI sent before the first was taken is the same interrupt to the receiver: the
 * first stamp stays. A reschedule IPI has no callback (kernel/sched/core.c, trace_ipi_send_cpu).
 */

SEC("tp_btf/ipi_send_cpu")
int BPF_PROG(ip_ipi_send_cpu, unsigned int cpu, unsigned long callsite, void *callback)
{
	struct ip_cpu *this = ip_this_cpu(), *target;
	__u32 zero = 0;
	__u64 *raise, now;

	target = bpf_map_lookup_percpu_elem(&ip_cpus, &zero, cpu);
	if (!this || !target)
		return 0;
	now = ip_now(this);
	this->nr_events++;
	raise = callback ? &target->ipi_raise_ns[1] : &target->ipi_raise_ns[0];
	if (!*raise)
		*raise = now;
	return 0;
}
