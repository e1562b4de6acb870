// SPDX-License-Identifier: GPL-2.0-only
/*
 * Held packets, and who serves them, and held NAPIs (napi.c).
 *
 * The thread of a level has its priority, and may run on any CPU that threads
 * of the kernel may run on: the scheduler finds it one, and holds it back where
 * the work is more urgent.
 *
 * The guard is for packets that wait for longer than irqpath_max_hold_us: it
 * runs above the interrupts' threads and serves the oldest, as many of a level
 * as one poll of a NAPI may, and then not before the limit has passed again. So
 * no receiver is cut off, and no flood gets past those it has to wait for.
 */
#include <linux/filter.h>
#include <linux/kthread.h>
#include <linux/netdevice.h>
#include <trace/events/irqpath.h>
#include <uapi/linux/sched/types.h>

#include "netprio.h"

/* Packets served in one go, with bottom halves disabled. */
#define BATCH		16

/* How long a packet may be held, in microseconds; 0: for ever. */
unsigned int irqpath_max_hold_us = 100000;

/* How many packets a level may hold. */
unsigned int irqpath_queue_limit = 1000;

static struct task_struct *guard;

/**
 * irqpath_rest_ns() - how much longer a packet may wait
 * @since_ns: since when it has
 * @now_ns: the time
 * @limit_ns: how long it may
 *
 * Return: 0 if it may not.
 */
u64 irqpath_rest_ns(u64 since_ns, u64 now_ns, u64 limit_ns)
{
	u64 waited_ns = now_ns - since_ns;

	return waited_ns < limit_ns ? limit_ns - waited_ns : 0;
}

static u64 limit_ns(void)
{
	return READ_ONCE(irqpath_max_hold_us) * (u64)NSEC_PER_USEC;
}

/*
 * How much longer the oldest packet may wait: that which is being served, then
 * the queue's first. Returns whether there is one.
 */
static bool oldest(struct irqpath_level *level, bool *served, u64 *rest)
{
	struct sk_buff *first;
	u64 since = 0;

	raw_spin_lock(&level->lock);
	first = skb_peek(&level->queue);
	*served = level->serving_ns;
	if (*served)
		since = level->serving_ns;
	else if (first)
		since = irqpath_held(first)->since_ns;
	raw_spin_unlock(&level->lock);

	*rest = irqpath_rest_ns(since, ktime_get_ns(), limit_ns());
	return *served || first;
}

/**
 * irqpath_level_limit() - the limit of a level's packets has changed
 * @level: the level
 *
 * Context: a task.
 */
void irqpath_level_limit(struct irqpath_level *level)
{
	bool served;
	u64 rest;

	if (limit_ns() && oldest(level, &served, &rest))
		irqpath_start_timer(&level->limit, max(rest, 1ULL));
}

/**
 * irqpath_level_add() - queue a packet
 * @level: where
 * @skb: it
 * @first: set if there was none
 *
 * Return: false if there is no room.
 */
bool irqpath_level_add(struct irqpath_level *level, struct sk_buff *skb,
		       bool *first)
{
	bool room;

	raw_spin_lock(&level->lock);
	*first = skb_queue_empty(&level->queue);
	room = skb_queue_len(&level->queue) < READ_ONCE(irqpath_queue_limit);
	if (room) {
		__skb_queue_tail(&level->queue, skb);
		atomic_inc(&irqpath_nr_held);
	}
	raw_spin_unlock(&level->lock);
	return room;
}

/**
 * irqpath_level_kick() - there is a first packet
 * @level: in this level
 *
 * Context: RCU read side, no lock is held.
 */
void irqpath_level_kick(struct irqpath_level *level)
{
	/* Pairs with level_limit(): it sees the packet, or this that it has run. */
	smp_mb();
	/* A timer that runs already comes too early, and is started again. */
	if (!hrtimer_is_queued(&level->limit))
		irqpath_start_timer(&level->limit, limit_ns());
	wake_up_process(level->thread);
}

static struct sk_buff *take(struct irqpath_level *level)
{
	struct sk_buff *skb;

	raw_spin_lock(&level->lock);
	skb = skb_peek(&level->queue);
	if (skb) {
		WRITE_ONCE(level->serving_ns, irqpath_held(skb)->since_ns);
		/* Pairs with has_packets(). */
		smp_wmb();
		__skb_unlink(skb, &level->queue);
	}
	raw_spin_unlock(&level->lock);
	return skb;
}

static void taken_end(struct irqpath_level *level)
{
	raw_spin_lock(&level->lock);
	WRITE_ONCE(level->serving_ns, 0);
	raw_spin_unlock(&level->lock);
}

/**
 * irqpath_held_end() - a packet has been served, or freed
 * @r: its receiver: the next packet need not go behind it
 */
void irqpath_held_end(struct irqpath_receiver *r)
{
	raw_spin_lock(&r->lock);
	r->nr_held--;
	raw_spin_unlock(&r->lock);
	irqpath_receiver_put(r);
	atomic_dec(&irqpath_nr_held);
}

/*
 * Returns how many. Who wants to serve, too, waits and lends its priority: two
 * servers could change the order.
 */
static unsigned int serve(struct irqpath_level *level, bool expired)
{
	struct bpf_net_context __bpf_net_ctx, *bpf_net_ctx;
	struct sk_buff *skb;
	unsigned int nr = 0;

	mutex_lock(&level->serving);
	local_bh_disable();
	bpf_net_ctx = bpf_net_ctx_set(&__bpf_net_ctx);
	while (nr < BATCH && (skb = take(level))) {
		struct irqpath_held held = *irqpath_held(skb);

		trace_irqpath_serve(skb, level->nr,
				    ktime_get_ns() - held.since_ns, expired);
		rcu_read_lock();
		irqpath_netprio_receive(skb);
		rcu_read_unlock();
		taken_end(level);
		irqpath_held_end(held.receiver);
		nr++;
	}
	if (expired)
		this_cpu_add(irqpath_cpus.stats.expired, nr);
	else
		this_cpu_add(irqpath_cpus.stats.served, nr);
	bpf_net_ctx_clear(bpf_net_ctx);
	local_bh_enable();
	mutex_unlock(&level->serving);
	return nr;
}

/*
 * Whether there is anything to do, if only to lend its priority to somebody who
 * does it: looked at together, as things go from one place to the other.
 */
static bool has_work(struct irqpath_level *level)
{
	bool any;

	raw_spin_lock(&level->lock);
	any = !skb_queue_empty(&level->queue) || level->serving_ns ||
	      !list_empty(&level->napis) || level->polling;
	raw_spin_unlock(&level->lock);
	return any;
}

static int level_thread(void *data)
{
	struct irqpath_level *level = data;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		if (!has_work(level)) {
			schedule();
			continue;
		}
		__set_current_state(TASK_RUNNING);
		/* The receivers of one priority must come between the packets. */
		if (serve(level, false) == BATCH)
			yield();
		else
			irqpath_level_poll(level);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/* Waiting or being served. Context: any. */
static bool has_packets(struct irqpath_level *level)
{
	if (!skb_queue_empty_lockless(&level->queue))
		return true;
	/* Pairs with take(): what has left the queue is being served. */
	smp_rmb();
	return READ_ONCE(level->serving_ns);
}

static enum hrtimer_restart level_limit(struct hrtimer *timer)
{
	struct irqpath_level *level = container_of(timer, struct irqpath_level,
						   limit);

	/* Pairs with irqpath_level_kick(). */
	smp_mb();
	if (has_packets(level)) {
		WRITE_ONCE(level->due, true);
		irqpath_guard_wake();
	}
	return HRTIMER_NORESTART;
}

/* Of a level whose timer has come, serve what has waited for too long. */
static void relieve(struct irqpath_level *level)
{
	unsigned int nr;
	bool served;
	u64 rest;

	if (!limit_ns() || !oldest(level, &served, &rest))
		return;
	if (!rest && served) {
		/* Who serves it may not run: it is lent the priority. */
		mutex_lock(&level->serving);
		mutex_unlock(&level->serving);
		if (!oldest(level, &served, &rest))
			return;
	}
	if (!rest) {
		rest = limit_ns();
		for (nr = 0; nr < NAPI_POLL_WEIGHT; nr += BATCH) {
			if (serve(level, true) < BATCH)
				break;
		}
	}
	if (has_packets(level))
		irqpath_start_timer(&level->limit, rest);
}

/* Returns whether there was anything to do; then the guard is running. */
static bool look_after(struct irqpath_level *level)
{
	bool any = false;

	if (READ_ONCE(level->due)) {
		__set_current_state(TASK_RUNNING);
		WRITE_ONCE(level->due, false);
		relieve(level);
		any = true;
	}
	if (READ_ONCE(level->napi_due)) {
		__set_current_state(TASK_RUNNING);
		WRITE_ONCE(level->napi_due, false);
		irqpath_relieve_napis(level);
		any = true;
	}
	return any;
}

static int guard_thread(void *data)
{
	unsigned int nr;

	for (;;) {
		bool any = false;

		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		for (nr = 0; nr < IRQPATH_NR_LEVELS; nr++) {
			struct irqpath_level *level = READ_ONCE(irqpath_levels[nr]);

			if (level)
				any |= look_after(level);
		}
		if (!any)
			schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/**
 * irqpath_current_level() - whose thread this is
 *
 * Return: a level, or NULL.
 */
struct irqpath_level *irqpath_current_level(void)
{
	if (!(current->flags & PF_KTHREAD) ||
	    kthread_func(current) != level_thread)
		return NULL;
	return kthread_data(current);
}

/**
 * irqpath_level_begin() - make what a level needs, and its thread
 * @level: the level, its number set
 *
 * Return: 0, or why there is no thread.
 */
int irqpath_level_begin(struct irqpath_level *level)
{
	bool ordinary = level->nr == IRQPATH_LEVEL_ORDINARY;
	struct sched_param param = {
		.sched_priority = ordinary ? 0 : MAX_RT_PRIO - 1 - level->nr,
	};

	raw_spin_lock_init(&level->lock);
	__skb_queue_head_init(&level->queue);
	INIT_LIST_HEAD(&level->napis);
	mutex_init(&level->serving);
	hrtimer_init(&level->limit, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	level->limit.function = level_limit;
	hrtimer_init(&level->napi_limit, CLOCK_MONOTONIC,
		     HRTIMER_MODE_REL_HARD);
	level->napi_limit.function = irqpath_napi_limit;

	level->thread = kthread_create(level_thread, level, "netprio/%d",
				       param.sched_priority);
	if (IS_ERR(level->thread))
		return PTR_ERR(level->thread);
	if (!ordinary)
		sched_setscheduler_nocheck(level->thread, SCHED_FIFO, &param);
	wake_up_process(level->thread);
	return 0;
}

/**
 * irqpath_level_end() - the reverse
 * @level: the level, with nothing in it; the guard has ended
 */
void irqpath_level_end(struct irqpath_level *level)
{
	kthread_stop(level->thread);
	hrtimer_cancel(&level->limit);
	hrtimer_cancel(&level->napi_limit);
	WARN_ON_ONCE(!skb_queue_empty(&level->queue));
	WARN_ON_ONCE(!list_empty(&level->napis));
}

/**
 * irqpath_level_drain() - serve some of what is held, beside the level's thread
 * @level: where
 *
 * Return: whether there may be more to serve at once.
 */
bool irqpath_level_drain(struct irqpath_level *level)
{
	bool more = serve(level, false) == BATCH;

	return irqpath_level_poll(level) || more;
}

/**
 * irqpath_holds_any() - whether anything is held or being served
 */
bool irqpath_holds_any(void)
{
	return atomic_read(&irqpath_nr_held) || irqpath_holds_napis();
}

/**
 * irqpath_guard_begin() - make the guard
 *
 * Return: 0, or why there is none.
 */
int irqpath_guard_begin(void)
{
	/* Above the threads of interrupts, which might leave it no time. */
	struct sched_param param = { .sched_priority = MAX_RT_PRIO / 2 + 1 };
	struct task_struct *p;

	p = kthread_create(guard_thread, NULL, "netprio_guard");
	if (IS_ERR(p))
		return PTR_ERR(p);
	sched_setscheduler_nocheck(p, SCHED_FIFO, &param);
	guard = p;
	wake_up_process(p);
	return 0;
}

/**
 * irqpath_guard_wake() - something is due
 *
 * Context: any.
 */
void irqpath_guard_wake(void)
{
	wake_up_process(guard);
}

void irqpath_guard_end(void)
{
	kthread_stop(guard);
}
