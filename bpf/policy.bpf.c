// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * policy.bpf.c - the irqpath kernel's policy migrate: the task runs the handler itself.
 *
 * Between irq_handler_exit and the wakeup the hardirq says that it wakes a task instead of the
 * thread. The task then carries the path as the thread would: its switch-in is the point irq_thread,
 * and what ends the path is the handler's wakeup of the running task (sched.bpf.c). Kernels without
 * this tracepoint do not load the program.
 */

SEC("tp_btf/irqpath_offer")
int BPF_PROG(ip_irqpath_offer, void *origin, struct task_struct *p)
{
	struct ip_cpu *c = ip_this_cpu();

	if (!c || !c->wake_tid)
		return 0;
	c->nr_events++;
	c->wake_tid = p->pid;
	c->wake_migrates = 1;
	return 0;
}
