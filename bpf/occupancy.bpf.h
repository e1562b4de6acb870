/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * occupancy.bpf.h - what occupied this CPU: a ring of transitions, delivered only when needed.
 *
 * Each CPU writes its own ring of chunks. Nothing leaves the kernel until a path is
 * reported; then the newest chunks that cover it do. When recording, every full chunk does.
 * Where interrupts are on, a slot is taken by an atomic add: an interrupt in between takes the
 * next one.
 */
#ifndef IRQPATH_OCCUPANCY_BPF_H
#define IRQPATH_OCCUPANCY_BPF_H

static __always_inline struct ip_occ_chunk *ip_chunk(__u32 cpu, __u64 nr)
{
	__u32 i = cpu * ip_config.nr_chunks + (nr & (ip_config.nr_chunks - 1));

	return bpf_map_lookup_elem(&ip_chunks, &i);
}

static __always_inline void ip_chunk_output(struct ip_cpu *c, struct ip_occ_chunk *chunk,
					    __u64 nr_entries)
{
	if (chunk->delivered >= nr_entries)
		return;
	chunk->delivered = nr_entries;
	if (bpf_ringbuf_output(&ip_records, chunk, sizeof(*chunk), BPF_RB_NO_WAKEUP))
		ip_lose(c, IP_LOSS_RINGBUF_FULL);
}

/*
 * Deliver the newest chunks of this CPU back to @from_ns, but few: this runs inside the switch
 * to the task that everybody waits for. User space fetches what is older from the ring.
 */
__noinline int ip_occ_flush(struct ip_cpu *c, __u64 from_ns)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 head;
	int k;

	if (!c)
		return 0;
	head = c->occ_head;
	for (k = 0; k < IP_FLUSH_CHUNKS; k++) {
		__u64 nr = head / IP_CHUNK_LEN - k;
		struct ip_occ_chunk *chunk = ip_chunk(cpu, nr);

		if (!chunk)
			return 0;
		/* The head chunk may not be opened yet, and an early one never was. */
		if (!chunk->begin_ns || chunk->seq != nr * IP_CHUNK_LEN)
			continue;
		ip_chunk_output(c, chunk, k ? IP_CHUNK_LEN : head % IP_CHUNK_LEN);
		if (chunk->begin_ns <= from_ns)
			return 0;
	}
	return 0;
}

/* Write one transition at position @seq; @task only where it is about a task. */
static __always_inline void ip_occ_put(struct ip_cpu *c, __u32 cpu, __u64 seq, __u64 now,
				       __u8 kind, __u8 flags, __u32 id,
				       struct task_struct *task)
{
	struct ip_occ_chunk *chunk = ip_chunk(cpu, seq / IP_CHUNK_LEN);
	struct ip_occ *e;

	if (!chunk)
		return;
	if (!(seq & (IP_CHUNK_LEN - 1))) {
		chunk->type = IP_REC_OCC;
		chunk->cpu = cpu;
		chunk->seq = seq;
		chunk->begin_ns = now;
		chunk->delivered = 0;
	}
	e = &chunk->e[seq & (IP_CHUNK_LEN - 1)];
	e->id = id;
	e->kind = kind;
	e->flags = flags;
	if (task) {
		e->prio = ip_signed(task, prio) - IP_PRIO_BIAS;
		e->normal_prio = ip_signed(task, normal_prio) - IP_PRIO_BIAS;
		ip_comm(e->comm, task);
	}
	barrier();	/* ns says that the rest is there */
	e->ns = now;
	if (ip_config.record_all && (seq & (IP_CHUNK_LEN - 1)) == IP_CHUNK_LEN - 1)
		ip_chunk_output(c, chunk, IP_CHUNK_LEN);
}

/*
 * Begin a chunk with what this CPU is doing before a transition of @kind, so that the chunk can be
 * understood without the one before it. Returns the next free position. A task that is not the one
 * of the chunk before is unseen here, too: as a switch it would vouch for the time before.
 */
static __noinline __u64 ip_occ_restate(struct ip_cpu *c, __u64 seq, __u64 now, __u8 kind)
{
	struct task_struct *cur = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id();
	bool known;

	if (!c)
		return seq;
	known = kind != IP_OCC_UNSEEN && (__u32)cur->pid == c->cur_tid;
	ip_occ_put(c, cpu, seq, now, known ? IP_OCC_SWITCH_IN : IP_OCC_UNSEEN, 0, cur->pid, cur);
	if (c->softirq_active || kind == IP_OCC_SOFTIRQ_EXIT) {
		seq = __sync_fetch_and_add(&c->occ_head, 1);
		ip_occ_put(c, cpu, seq, now, IP_OCC_SOFTIRQ_ENTRY, 0, c->softirq_vec, NULL);
	}
	return __sync_fetch_and_add(&c->occ_head, 1);
}

/*
 * The hardirqs that have begun, the outermost first. Interrupts are off. Apart from the rest: on Linux
 * 6.1 the stack of ip_sched_waking and of what it calls has no room for it.
 */
static __noinline __u64 ip_occ_restate_hardirqs(struct ip_cpu *c, __u64 seq, __u64 now, __u32 nr)
{
	__u32 cpu = bpf_get_smp_processor_id();
	int i;

	if (!c)
		return seq;
	for (i = 0; i < IP_MAX_NEST && i < nr; i++) {
		ip_occ_put(c, cpu, seq, now, IP_OCC_HARDIRQ_ENTRY, c->hard[i].origin_kind,
			   c->hard[i].origin_nr, NULL);
		seq = c->occ_head++;
	}
	return seq;
}

static __always_inline void ip_occ_any(struct ip_cpu *c, bool irqs_on, __u64 now, __u8 kind,
				       __u8 flags, __u32 id, struct task_struct *task)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 seq = irqs_on ? __sync_fetch_and_add(&c->occ_head, 1) : c->occ_head++;

	if (!(seq & (IP_CHUNK_LEN - 1))) {
		seq = ip_occ_restate(c, seq, now, kind);
		/* Without the one that is entered, with the one that is left. */
		if (kind == IP_OCC_HARDIRQ_ENTRY)
			seq = ip_occ_restate_hardirqs(c, seq, now, c->hard_depth - 1);
		else if (kind == IP_OCC_HARDIRQ_EXIT)
			seq = ip_occ_restate_hardirqs(c, seq, now, c->hard_depth + 1);
	}
	ip_occ_put(c, cpu, seq, now, kind, flags, id, task);
	/* The exchange costs more than the look, which nearly always finds nothing. */
	if (c->flush_from_ns) {
		__u64 from_ns = __sync_lock_test_and_set(&c->flush_from_ns, 0);

		/* 0: a nested interrupt has answered since the look. */
		if (from_ns)
			ip_occ_flush(c, from_ns);
	}
}

/* Hardirqs: interrupts are off. */
static __always_inline void ip_occ_hardirq(struct ip_cpu *c, __u64 now, __u8 kind, __u8 flags,
					   __u32 id)
{
	ip_occ_any(c, false, now, kind, flags, id, NULL);
}

/* Softirqs: interrupts are on. */
static __always_inline void ip_occ_softirq(struct ip_cpu *c, __u64 now, __u8 kind, __u32 vec)
{
	ip_occ_any(c, true, now, kind, 0, vec, NULL);
}

/* The task that runs from now on; @irqs_on where it is only restated. */
static __always_inline void ip_occ_task(struct ip_cpu *c, bool irqs_on, __u64 now,
					struct task_struct *task)
{
	ip_occ_any(c, irqs_on, now, IP_OCC_SWITCH_IN, 0, task->pid, task);
}

/*
 * @cur runs although it is not the task that this CPU was last seen to switch to: the kernel ran
 * no program for a switch (6.18 runs none while a thread of pid 1 is current). Nothing that
 * this CPU, @cur or a pending softirq waited with since then can be joined: drop and count it.
 */
static __noinline int ip_switch_unseen(struct ip_cpu *c, struct task_struct *cur, __u64 now)
{
	struct ip_tag *tag;
	int i;

	if (!c)
		return 0;
	c->cur_tid = cur->pid;
	if (!c->task_known) {
		c->task_known = 1;	/* nothing was missed, tracing has just begun */
		return 0;
	}
	ip_lose(c, IP_LOSS_SWITCH_UNSEEN);
	ip_occ_any(c, true, now, IP_OCC_UNSEEN, 0, cur->pid, cur);
	c->await_user = 0;
	c->carrier = 0;
	c->ipi_raise_ns[0] = 0;
	c->ipi_raise_ns[1] = 0;
	for (i = 0; i < IP_NR_SOFTIRQS; i++) {
		if (!c->pending[i].origin_kind || c->pending[i].origin_kind == IP_ORIGIN_UNSEEN)
			continue;
		c->pending[i].origin_kind = IP_ORIGIN_UNSEEN;
		ip_lose(c, IP_LOSS_PATH_UNSEEN);
	}
	tag = ip_tag_of(cur->pid);
	if (!tag || tag->tid != (__u32)cur->pid)
		return 0;
	if (tag->state != IP_SLOT_NONE || tag->softirq_saved)
		ip_lose(c, IP_LOSS_PATH_UNSEEN);
	tag->state = IP_SLOT_NONE;
	tag->work = 0;
	tag->softirq_saved = 0;
	return 0;
}

/* At entries, before anything is made of what this CPU was last seen to do. */
static __always_inline void ip_check_current(struct ip_cpu *c, __u64 now)
{
	struct task_struct *cur = bpf_get_current_task_btf();

	if ((__u32)cur->pid != c->cur_tid)
		ip_switch_unseen(c, cur, now);
}

#endif /* IRQPATH_OCCUPANCY_BPF_H */
