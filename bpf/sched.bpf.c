// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * sched.bpf.c - stages: ... -> waking -> switch_in -> user, and irq_thread.
 *
 * sched_waking runs in the waker's context, so that context's chain is the origin of the
 * wakeup. Irq threads and NAPI threads are carriers: when they run they hand the chain on.
 * ksoftirqd and kworkers carry nothing themselves: the pending softirq and the work item do.
 * A task that runs the handler itself carries its own path, until the handler wakes it.
 */

#define IP_COMM4(a, b, c, d)	((__u32)(a) | (b) << 8 | (c) << 16 | (__u32)(d) << 24)

static __always_inline __u8 ip_task_kind(struct task_struct *p)
{
	if (!(p->flags & PF_KTHREAD))
		return IP_TASK_TARGET;
	switch (*(const __u32 *)p->comm) {
	case IP_COMM4('i', 'r', 'q', '/'):
		return IP_TASK_IRQ_THREAD;
	case IP_COMM4('n', 'a', 'p', 'i'):
		return IP_TASK_NAPI_THREAD;
	case IP_COMM4('k', 's', 'o', 'f'):	/* ksoftirqd/N */
		return IP_TASK_KSOFTIRQD;
	case IP_COMM4('k', 't', 'i', 'm'):	/* ktimers/N */
		return IP_TASK_KTIMERS;
	case IP_COMM4('k', 'w', 'o', 'r'):
		return IP_TASK_KWORKER;
	}
	return IP_TASK_TARGET;
}

/* How a softirq is marked that runs in a task of this kind. */
static __always_inline __u32 ip_softirqd_via(__u8 kind)
{
	return kind == IP_TASK_KSOFTIRQD ? IP_VIA_KSOFTIRQD :
	       kind == IP_TASK_KTIMERS	 ? IP_VIA_KTIMERS :
					   0;
}

#if defined(__TARGET_ARCH_arm64)
struct pt_regs___irqpath {
	int syscallno;
} __attribute__((preserve_access_index));
#endif

/* Was the task in a system call when it slept? If not, it has no sys_exit to wait for. */
static __always_inline bool ip_in_syscall(struct task_struct *p)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(p);

#if defined(__TARGET_ARCH_arm64)
	return ip_signed((struct pt_regs___irqpath *)regs, syscallno) >= 0;
#else
	return (__s64)regs->orig_ax >= 0;
#endif
}

/*
 * Is the task still on a CPU? Then it has not slept yet and no switch-in will follow. One whose
 * dequeue is delayed (Linux 6.12 and newer) has slept, although it is on a run queue.
 */
static __always_inline bool ip_still_running(struct task_struct *p)
{
	if (p->pid == (__u32)bpf_get_current_pid_tgid())
		return true;
	if (bpf_core_field_exists(p->se.sched_delayed) && p->se.sched_delayed)
		return false;
	return ip_signed(p, on_cpu) && ip_signed(p, on_rq);
}

/* May this wakeup take the task's slot? */
static __always_inline bool ip_tag_free(struct ip_cpu *c, struct ip_tag *tag,
					struct task_struct *p)
{
	if (tag->tid == p->pid) {
		/* Not a new wakeup: a lock on its way was handed over. */
		if (p->__state & TASK_RTLOCK_WAIT)
			return false;
		if (tag->state == IP_SLOT_AWAIT_USER) {
			ip_lose(c, IP_LOSS_STALE_WAKEUP);	/* preempted on its way to user */
			return false;
		}
		return tag->state != IP_SLOT_CARRIER || (p->__state & TASK_INTERRUPTIBLE);
	}
	if (tag->state == IP_SLOT_NONE && !tag->softirq_saved)
		return true;
	ip_lose(c, IP_LOSS_TASK_SLOT);
	return false;
}

static __always_inline void ip_queues_start(struct ip_queues *q, __u32 cpu)
{
	q->cpu = cpu;
	q->nr_moves = 0;
}

/* The handler that the task runs wakes the task: from here on it is its target. */
static __always_inline bool ip_migrated_woken(struct ip_cpu *c, struct ip_tag *tag,
					      struct ip_chain *context, struct task_struct *p,
					      __u64 now)
{
	struct ip_slot *slot = ip_slot_of(p->pid);

	if (!slot || tag->tid != p->pid || tag->kind != IP_TASK_MIGRATED ||
	    tag->state != IP_SLOT_CARRIER || p->pid != c->cur_tid || ip_config.no_user)
		return false;
	if (context != &slot->chain)
		__builtin_memcpy(&slot->chain, context, sizeof(slot->chain));
	ip_stamp(&slot->chain, IP_WAKING, now);
	ip_queues_start(&slot->queues, bpf_get_smp_processor_id());
	tag->kind = IP_TASK_TARGET;
	tag->state = IP_SLOT_AWAIT_USER;
	c->carrier = 0;
	c->await_user = 1;
	return true;
}

/*
 * @p has left its run queue but not its CPU. If that CPU finds nothing else to run it takes @p
 * back without a switch, and the path must end there, see ip_switch_out.
 */
static __always_inline void ip_watch_leaver(struct task_struct *p)
{
	__u32 zero = 0;
	struct ip_cpu *c = bpf_map_lookup_percpu_elem(&ip_cpus, &zero, p->thread_info.cpu);

	if (c)
		c->leaver_woken = 1;
}

/*
 * Who carries a path is woken by who held the lock that it waits for. Apart from the rest: on Linux 6.1
 * the stack of ip_sched_waking and of what it calls has no room for it.
 */
static __noinline int ip_lock_released(struct ip_cpu *c, struct ip_tag *tag,
				       struct task_struct *p, __u64 now)
{
	struct ip_slot *slot;

	if (tag->tid != (__u32)p->pid || tag->state != IP_SLOT_CARRIER)
		return 0;
	slot = ip_slot_of(p->pid);
	if (!slot || !slot->blocked_ns)
		return 0;
	ip_blocked(c, slot->blocked_ns, now, IP_BLOCKED_LOCK, p->pid);
	slot->blocked_ns = 0;
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(ip_sched_waking, struct task_struct *p)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_chain *context;
	struct ip_slot *slot;
	struct ip_tag *tag;
	__u32 tid = p->pid;
	__u8 kind = ip_task_kind(p);
	__u64 now;

	if (!c)
		return 0;
	now = ip_now(c);
	ip_check_current(c, now);
	c->nr_events++;
	if (c->wake_tid == tid && tid) {
		context = &c->wake_chain;
		if (c->wake_migrates)
			kind = IP_TASK_MIGRATED;
		c->wake_tid = 0;
		c->wake_migrates = 0;
	} else {
		context = ip_context(c);
	}
	tag = ip_tag_of(tid);
	if (!tag)
		return 0;
	if (ip_config.stack_ns)
		ip_lock_released(c, tag, p, now);
	if (tag->tid == tid && tag->state == IP_SLOT_WOKEN) {
		/* It ran since its last wakeup: the switch to it was not seen. */
		ip_lose(c, IP_LOSS_PATH_UNSEEN);
		tag->state = IP_SLOT_NONE;
	}
	if (!context)
		return 0;
	if (ip_softirqd_via(kind) || kind == IP_TASK_KWORKER)
		return 0;
	if (ip_still_running(p)) {
		if (kind != IP_TASK_TARGET || ip_migrated_woken(c, tag, context, p, now))
			return 0;
		__builtin_memcpy(&c->scratch, context, sizeof(c->scratch));
		ip_stamp(&c->scratch, IP_WAKING, now);
		ip_finish(c, &c->scratch, NULL, IP_END_ALREADY_RUNNING, p);
		return 0;
	}
	if (!ip_tag_free(c, tag, p))
		return 0;
	slot = ip_slot_of(tid);
	if (!slot)
		return 0;
	tag->tid = tid;
	tag->kind = kind;
	tag->work = 0;
	__builtin_memcpy(&slot->chain, context, sizeof(slot->chain));
	ip_stamp(&slot->chain, IP_WAKING, now);
	ip_queues_start(&slot->queues, p->thread_info.cpu);
	tag->state = IP_SLOT_WOKEN;
	if (ip_signed(p, on_cpu))
		ip_watch_leaver(p);
	return 0;
}

/* The task that goes: what waits for it, and what it carries. */
static __always_inline void ip_switch_out(struct ip_cpu *c, struct task_struct *prev,
					  unsigned int prev_state, __u64 now)
{
	bool sleeps = prev_state && !(prev_state & TASK_RTLOCK_WAIT);
	struct ip_slot *slot;
	struct ip_tag *tag;

	if (!c->await_user && !c->carrier && !c->softirq_active && !c->leaver_woken)
		return;
	c->leaver_woken = 0;
	tag = ip_tag_of(prev->pid);
	if (!tag)
		return;
	if (c->softirq_active)
		ip_save_softirq(c, tag, prev->pid);
	if (tag->tid != prev->pid)
		return;
	if (tag->state == IP_SLOT_WOKEN && !sleeps) {
		tag->state = IP_SLOT_NONE;	/* it never left its CPU to be switched in */
		ip_lose(c, IP_LOSS_STALE_WAKEUP);
	} else if (c->await_user && sleeps && tag->state == IP_SLOT_AWAIT_USER) {
		tag->state = IP_SLOT_NONE;
		slot = ip_slot_of(prev->pid);
		if (slot)
			ip_finish(c, &slot->chain, &slot->queues, IP_END_SLEPT_AGAIN, prev);
	} else if (c->carrier && !tag->work && (prev_state & TASK_INTERRUPTIBLE)) {
		tag->state = IP_SLOT_NONE;	/* its loop waits for the next interrupt */
	} else if (ip_config.stack_ns && prev_state && tag->state == IP_SLOT_CARRIER) {
		slot = ip_slot_of(prev->pid);
		if (slot)
			slot->blocked_ns = now;
	}
}

/*
 * The thread runs, and may wake a target, whose run queues are another matter. Its waking counts as
 * a move from the CPU of the handler, or of the thread that woke it. There is room for one.
 */
static __always_inline void ip_keep_move(struct ip_chain *ch, struct ip_queues *q)
{
	__u32 woken_on = ch->cpu[ch->ns[IP_IRQ_THREAD] ? IP_IRQ_THREAD : IP_HARDIRQ];
	bool is_woken_away = woken_on != q->cpu;
	__u32 n = q->nr_moves;

	if (n + is_woken_away + !!ch->carried_ns > 1)
		woken_on = IP_CPU_UNKNOWN;
	if (n)
		ch->carried_ns = q->move_ns[(n - 1) & (IP_MAX_MOVES - 1)];
	else if (is_woken_away)
		ch->carried_ns = ch->ns[IP_WAKING];
	if (n || is_woken_away)
		ch->carried_from = woken_on;
}

static __always_inline void ip_switch_in_woken(struct ip_cpu *c, struct ip_tag *tag,
					       struct ip_slot *slot, struct task_struct *next,
					       __u64 now)
{
	struct ip_chain *ch = &slot->chain;

	if (tag->kind != IP_TASK_TARGET) {
		tag->state = IP_SLOT_CARRIER;
		c->carrier = 1;
		ip_keep_move(ch, &slot->queues);
		ip_stamp(ch, IP_IRQ_THREAD, now);	/* and forgets the thread's own waking */
		ch->via |= tag->kind == IP_TASK_IRQ_THREAD ? IP_VIA_IRQ_THREAD :
			   tag->kind == IP_TASK_MIGRATED ? IP_VIA_MIGRATED : IP_VIA_NAPI_THREAD;
		return;
	}
	ip_stamp(ch, IP_SWITCH_IN, now);
	if (ch->cpu[IP_WAKING] != ch->cpu[IP_SWITCH_IN])
		ch->via |= IP_VIA_REMOTE;
	if (!ip_config.no_user && !(next->flags & PF_KTHREAD) && ip_in_syscall(next)) {
		tag->state = IP_SLOT_AWAIT_USER;
		c->await_user = 1;
		return;
	}
	tag->state = IP_SLOT_NONE;
	ip_finish(c, ch, &slot->queues, IP_END_SWITCH_IN, next);
}

/* The task that comes: a wakeup that ends here, or something it carries on with. */
static __always_inline void ip_switch_in(struct ip_cpu *c, struct ip_tag *tag,
					 struct task_struct *next, __u64 now)
{
	struct ip_slot *slot = ip_slot_of(next->pid);

	if (!slot)
		return;
	if (tag->softirq_saved)
		ip_resume_softirq(c, tag, next->pid);
	switch (tag->state) {
	case IP_SLOT_WOKEN:
		ip_blocked(c, slot->chain.ns[IP_WAKING], now, IP_BLOCKED_CPU, next->pid);
		ip_switch_in_woken(c, tag, slot, next, now);
		break;
	case IP_SLOT_AWAIT_USER:
		c->await_user = 1;
		break;
	case IP_SLOT_CARRIER:
		c->carrier = 1;
		break;
	}
}

SEC("tp_btf/sched_switch")
int BPF_PROG(ip_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_tag *tag;
	__u64 now;

	if (!c)
		return 0;
	now = ip_now(c);
	c->nr_events++;
	if ((__u32)prev->pid != c->cur_tid)
		ip_switch_unseen(c, prev, now);
	ip_occ_task(c, false, now, next);
	ip_switch_out(c, prev, preempt ? 0 : prev_state, now);
	c->cur_tid = next->pid;
	c->task_known = 1;
	c->fresh = 1;
	c->await_user = 0;
	c->carrier = 0;
	if (c->wake_tid) {
		ip_lose(c, IP_LOSS_COALESCED);	/* its thread was still running */
		c->wake_tid = 0;
		c->wake_migrates = 0;
	}
	c->hard_depth = 0;	/* nothing switches inside a hardirq: heals a missed exit */
	c->softirqd_via = ip_softirqd_via(ip_task_kind(next));
	tag = ip_tag_of(next->pid);
	if (tag && tag->tid == next->pid && (tag->state != IP_SLOT_NONE || tag->softirq_saved))
		ip_switch_in(c, tag, next, now);
	return 0;
}

/* A woken task moves to another run queue: from there on it waits for that CPU. */
SEC("tp_btf/sched_migrate_task")
int BPF_PROG(ip_sched_migrate_task, struct task_struct *p, int cpu)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_slot *slot;
	struct ip_tag *tag;
	__u64 now;
	__u32 n;

	if (!c)
		return 0;
	now = ip_now(c);
	c->nr_events++;
	tag = ip_tag_of(p->pid);
	if (!tag || tag->tid != (__u32)p->pid ||
	    (tag->state != IP_SLOT_WOKEN && tag->state != IP_SLOT_AWAIT_USER))
		return 0;
	slot = ip_slot_of(p->pid);
	if (!slot)
		return 0;
	n = slot->queues.nr_moves;
	if (!n && tag->state == IP_SLOT_WOKEN && !ip_signed(p, on_rq)) {
		slot->queues.cpu = cpu;	/* its wakeup chooses a run queue */
		return 0;
	}
	if (n >= IP_MAX_MOVES)
		return 0;
	slot->queues.nr_moves = n + 1;
	slot->queues.move_cpu[n & (IP_MAX_MOVES - 1)] = n < IP_MAX_MOVES - 1 ? cpu : IP_CPU_UNKNOWN;
	slot->queues.move_ns[n & (IP_MAX_MOVES - 1)] = now;
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(ip_sched_process_exit, struct task_struct *p)
{
	struct ip_tag *tag = ip_tag_of(p->pid);
	struct ip_cpu *c = ip_this_cpu();

	if (!c || !tag || tag->tid != p->pid)
		return 0;
	if (tag->state == IP_SLOT_WOKEN || tag->state == IP_SLOT_AWAIT_USER)
		ip_lose(c, IP_LOSS_TASK_EXIT);
	tag->state = IP_SLOT_NONE;
	tag->softirq_saved = 0;
	c->await_user = 0;
	c->carrier = 0;
	return 0;
}

/*
 * The return to user space. Runs at every system call of the host, so the check comes first. The
 * first one after a switch also tells that this task runs, and what was stolen until then.
 */
SEC("tp_btf/sys_exit")
int ip_sys_exit(void *ctx)
{
	struct ip_cpu *c = ip_this_cpu();
	struct task_struct *task;
	struct ip_slot *slot;
	struct ip_tag *tag;
	__u64 now;

	if (!c)
		return 0;
	c->nr_events++;
	if (!c->await_user && !c->fresh)
		return 0;
	c->fresh = 0;
	now = ip_now(c);
	ip_check_current(c, now);
	if (!c->await_user)
		return 0;
	c->await_user = 0;
	task = bpf_get_current_task_btf();
	tag = ip_tag_of(task->pid);
	slot = ip_slot_of(task->pid);
	if (!tag || !slot || tag->tid != task->pid || tag->state != IP_SLOT_AWAIT_USER)
		return 0;
	tag->state = IP_SLOT_NONE;
	ip_stamp(&slot->chain, IP_USER, now);
	ip_finish(c, &slot->chain, &slot->queues, IP_END_USER, task);
	return 0;
}
