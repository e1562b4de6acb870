/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack.bpf.h - the kernel stack of who blocked a path.
 *
 * It is taken once, where the block ends: there the blocker is still the current task, and the
 * innermost functions of its stack are those that let go (enabled interrupts, ended a softirq or a
 * section without preemption, released the lock). Without ip_config.stack_ns nothing of this is in
 * the programs.
 */
#ifndef IRQPATH_STACK_BPF_H
#define IRQPATH_STACK_BPF_H

static __noinline int ip_stack_take(struct ip_cpu *c, __u64 from_ns, __u64 until_ns, __u32 why,
				    __u32 waiter)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 begun_ns = bpf_ktime_get_ns();
	__u64 nr = __sync_fetch_and_add(&c->nr_stacks, 1);
	__u32 i = bpf_get_smp_processor_id() * IP_STACKS + (nr & (IP_STACKS - 1));
	struct ip_stack *s = bpf_map_lookup_elem(&ip_stacks, &i);
	long len;

	if (!s)
		return 0;
	s->nr = 0;
	barrier();
	s->from_ns = from_ns;
	s->until_ns = until_ns;
	s->why = why;
	s->tid = task->pid;
	s->waiter = waiter;
	ip_comm(s->comm, task);
	len = bpf_get_task_stack(task, s->ip, sizeof(s->ip), 0);
	s->nr_ips = len > 0 ? len / sizeof(s->ip[0]) : 0;
	barrier();
	s->nr = nr + 1;
	c->stacks_ns += bpf_ktime_get_ns() - begun_ns;
	return 0;
}

/* If it was blocked for so long that the stack is wanted. The idle task blocks nobody. */
static __always_inline void ip_blocked(struct ip_cpu *c, __u64 from_ns, __u64 until_ns, __u32 why,
				       __u32 waiter)
{
	if (!ip_config.stack_ns || !from_ns || until_ns < from_ns + ip_config.stack_ns)
		return;
	if (!bpf_get_current_task_btf()->pid)
		return;
	ip_stack_take(c, from_ns, until_ns, why, waiter);
}

#endif /* IRQPATH_STACK_BPF_H */
