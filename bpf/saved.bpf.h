/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * saved.bpf.h - the softirq that a task was preempted in, which stays with the task (PREEMPT_RT).
 *
 * Few tasks are in one at a time, so they share a small table. A task that finds its place taken by
 * another one goes on without its softirq's origin, and is counted.
 */
#ifndef IRQPATH_SAVED_BPF_H
#define IRQPATH_SAVED_BPF_H

/* Takes the place where @tid's softirq is kept, unless another task's is there. */
static __noinline bool ip_claim_saved(struct ip_saved_softirq *saved, __u32 tid)
{
	__u32 owner;
	struct ip_tag *tag;

	if (!saved)
		return false;
	owner = *(volatile __u32 *)&saved->tid;
	if (owner && owner != tid) {
		tag = ip_tag_of(owner);
		if (tag && tag->tid == owner && tag->softirq_saved)
			return false;	/* one that was given up is free: its task says so */
	}
	return __sync_val_compare_and_swap(&saved->tid, owner, tid) == owner;
}

/* The task @tid is preempted inside a softirq. */
static __noinline int ip_save_softirq(struct ip_cpu *c, struct ip_tag *tag, __u32 tid)
{
	struct ip_saved_softirq *saved = ip_saved_softirq_of(tid);

	if (!c || !tag)
		return 0;
	c->softirq_active = 0;
	if (!saved || (tag->tid != tid && (tag->state != IP_SLOT_NONE || tag->softirq_saved)) ||
	    !ip_claim_saved(saved, tid)) {
		ip_lose(c, IP_LOSS_TASK_SLOT);
		return 0;
	}
	if (tag->tid != tid) {
		tag->tid = tid;
		tag->state = IP_SLOT_NONE;
	}
	tag->softirq_saved = 1;
	saved->vec = c->softirq_vec;
	saved->entry_ns = c->softirq_entry_ns;
	__builtin_memcpy(&saved->chain, &c->softirq, sizeof(saved->chain));
	return 0;
}

/* The task goes on with its softirq. */
static __noinline int ip_resume_softirq(struct ip_cpu *c, struct ip_tag *tag, __u32 tid)
{
	struct ip_saved_softirq *saved = ip_saved_softirq_of(tid);

	if (!c || !tag || !saved)
		return 0;
	tag->softirq_saved = 0;
	if (saved->tid != tid) {
		ip_lose(c, IP_LOSS_TASK_SLOT);
		return 0;
	}
	c->softirq_active = 1;
	c->softirq_vec = saved->vec;
	c->softirq_entry_ns = saved->entry_ns;
	__builtin_memcpy(&c->softirq, &saved->chain, sizeof(c->softirq));
	saved->tid = 0;
	return 0;
}

#endif /* IRQPATH_SAVED_BPF_H */
