// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * workqueue.bpf.c - stages: ... -> work_queue -> work.
 *
 * The path travels with the work item, not with the kworker. A work item queued by a task on
 * its own account starts no path. BH work items run inside a softirq (Linux 6.9 and newer).
 */

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(ip_workqueue_queue_work, int req_cpu, struct pool_workqueue *pwq,
	     struct work_struct *work)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_chain *context;
	struct ip_work *w;
	__u64 now;

	if (!c)
		return 0;
	now = ip_now(c);
	c->nr_events++;
	w = ip_work_of((__u64)work);
	if (!w)
		return 0;
	context = ip_context(c);
	if (!context) {
		if (w->work == (__u64)work)
			w->work = 0;	/* it was cancelled and is now somebody else's */
		return 0;
	}
	if (w->work && w->work != (__u64)work)
		ip_lose(c, IP_LOSS_WORK_SLOT);
	w->work = 0;
	__builtin_memcpy(&w->chain, context, sizeof(w->chain));
	ip_stamp(&w->chain, IP_WORK_QUEUE, now);
	w->work = (__u64)work;
	return 0;
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(ip_workqueue_execute_start, struct work_struct *work)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_chain *ch;
	struct ip_slot *slot;
	struct ip_work *w;
	struct ip_tag *tag;
	__u64 now;
	__u32 tid;

	if (!c)
		return 0;
	now = ip_now(c);
	c->nr_events++;
	w = ip_work_of((__u64)work);
	if (!w || w->work != (__u64)work)
		return 0;
	if (c->softirq_active) {
		ch = &c->softirq;
	} else {
		ip_check_current(c, now);
		tid = c->cur_tid;
		tag = ip_tag_of(tid);
		slot = ip_slot_of(tid);
		if (!tag || !slot)
			return 0;
		if (tag->tid != tid && (tag->state != IP_SLOT_NONE || tag->softirq_saved)) {
			ip_lose(c, IP_LOSS_TASK_SLOT);
			return 0;
		}
		tag->tid = tid;
		tag->state = IP_SLOT_CARRIER;
		tag->kind = IP_TASK_KWORKER;
		tag->work = 1;
		c->carrier = 1;
		ch = &slot->chain;
	}
	__builtin_memcpy(ch, &w->chain, sizeof(*ch));
	w->work = 0;
	ip_stamp(ch, IP_WORK, now);
	ch->via |= IP_VIA_WORK;
	return 0;
}

SEC("tp_btf/workqueue_execute_end")
int ip_workqueue_execute_end(void *ctx)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_tag *tag;

	if (!c)
		return 0;
	ip_now(c);
	c->nr_events++;
	if (c->softirq_active || !c->carrier)
		return 0;	/* a BH work's chain ends with its softirq */
	tag = ip_tag_of(c->cur_tid);
	if (tag && tag->tid == c->cur_tid && tag->work) {
		tag->state = IP_SLOT_NONE;
		tag->work = 0;
	}
	c->carrier = 0;
	return 0;
}
