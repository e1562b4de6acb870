// SPDX-License-Identifier: GPL-2.0-only
/*
 * netprio: the threads that serve held packets.
 *
 * The thread of a level has the level's priority. It may run on any CPU that
 * kernel threads may use, so that the scheduler finds it a CPU, or holds it
 * back where the work is more urgent. It also polls held NAPIs, see napi.c.
 *
 * The guard serves packets that have waited for irqpath_max_hold_us. It runs
 * above the interrupts' threads and serves the oldest packets of a level, as
 * many as one poll of a NAPI may bring. It serves the next ones when the limit
 * has passed again. So no receiver is cut off, and no flood gets past more
 * urgent work.
 */
#include <linux/filter.h>
#include <linux/kthread.h>
#include <linux/netdevice.h>
#include <trace/events/irqpath.h>
#include <uapi/linux/sched/types.h>

#include "netprio.h"

/* Packets served in one go, with bottom halves disabled. */
#define BATCH		16

/* Microseconds that a packet may be held; 0: no limit. */
unsigned int irqpath_max_hold_us = 100000;

/* Packets that a level may hold. */
unsigned int irqpath_queue_limit = 1000;

static struct task_struct *guard;

/**
 * irqpath_get_rest_ns() - compute how much longer a packet may wait
 * @since_ns: when it came
 * @now_ns: the time
 * @limit_ns: how long it may wait
 *
 * Return: the rest, or 0 if there is none.
 */
u64 irqpath_get_rest_ns(u64 since_ns, u64 now_ns, u64 limit_ns)
{
	u64 waited_ns = now_ns - since_ns;

	return waited_ns < limit_ns ? limit_ns - waited_ns : 0;
}

static u64 get_limit_ns(void)
{
	return READ_ONCE(irqpath_max_hold_us) * (u64)NSEC_PER_USEC;
}

/*
 * Compute how much longer the oldest packet may wait: the one that is being
 * served, else the queue's first. Return whether there is one.
 */
static bool find_oldest(struct irqpath_level *level, bool *served, u64 *rest)
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

	*rest = irqpath_get_rest_ns(since, ktime_get_ns(), get_limit_ns());
	return *served || first;
}

/**
 * irqpath_restart_limit() - apply a new irqpath_max_hold_us to a level
 * @level: the level
 *
 * Context: a task.
 */
void irqpath_restart_limit(struct irqpath_level *level)
{
	bool served;
	u64 rest;

	if (get_limit_ns() && find_oldest(level, &served, &rest))
		irqpath_start_timer(&level->limit, max(rest, 1ULL));
}

/**
 * irqpath_queue_packet() - queue a packet
 * @level: the level
 * @skb: the packet
 * @first: set if the queue was empty
 *
 * Return: false if there is no room.
 */
bool irqpath_queue_packet(struct irqpath_level *level, struct sk_buff *skb,
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
 * irqpath_kick_level() - start the limit and the thread for a first packet
 * @level: the level
 *
 * Context: RCU read side, no lock is held.
 */
void irqpath_kick_level(struct irqpath_level *level)
{
	/*
	 * Pairs with expire_limit(): it sees the packet, or is seen to have
	 * run.
	 */
	smp_mb();
	/* A timer that runs already expires too early, and is started again. */
	if (!hrtimer_is_queued(&level->limit))
		irqpath_start_timer(&level->limit, get_limit_ns());
	wake_up_process(level->thread);
}

static struct sk_buff *take_packet(struct irqpath_level *level)
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

static void end_serving(struct irqpath_level *level)
{
	raw_spin_lock(&level->lock);
	WRITE_ONCE(level->serving_ns, 0);
	raw_spin_unlock(&level->lock);
}

/**
 * irqpath_end_held() - account for a packet that was served or freed
 * @r: its receiver; the next packet need not go behind it
 */
void irqpath_end_held(struct irqpath_receiver *r)
{
	raw_spin_lock(&r->lock);
	r->nr_held--;
	raw_spin_unlock(&r->lock);
	irqpath_receiver_put(r);
	atomic_dec(&irqpath_nr_held);
}

/*
 * Return: the number of packets served. Another server waits and lends its
 * priority, because two servers at once could change the order.
 */
static unsigned int serve_batch(struct irqpath_level *level, bool expired)
{
	struct bpf_net_context __bpf_net_ctx, *bpf_net_ctx;
	struct sk_buff *skb;
	unsigned int nr = 0;

	mutex_lock(&level->serving);
	local_bh_disable();
	bpf_net_ctx = bpf_net_ctx_set(&__bpf_net_ctx);
	while (nr < BATCH && (skb = take_packet(level))) {
		struct irqpath_held held = *irqpath_held(skb);

		trace_irqpath_serve(skb, level->nr,
				    ktime_get_ns() - held.since_ns, expired);
		rcu_read_lock();
		irqpath_netprio_receive(skb);
		rcu_read_unlock();
		end_serving(level);
		irqpath_end_held(held.receiver);
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
 * There is work, if only to lend a priority to the one who does it. All places
 * are checked under the lock, because work moves between them.
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

static int run_level(void *data)
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
		/* Let receivers of this priority run between the packets. */
		if (serve_batch(level, false) == BATCH)
			yield();
		else
			irqpath_poll_level(level);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/* Packets wait or are being served. Context: any. */
static bool has_packets(struct irqpath_level *level)
{
	if (!skb_queue_empty_lockless(&level->queue))
		return true;
	/*
	 * Pairs with take_packet(): a packet that left the queue is being
	 * served.
	 */
	smp_rmb();
	return READ_ONCE(level->serving_ns);
}

static enum hrtimer_restart expire_limit(struct hrtimer *timer)
{
	struct irqpath_level *level = container_of(timer, struct irqpath_level,
						   limit);

	/* Pairs with irqpath_kick_level(). */
	smp_mb();
	if (has_packets(level)) {
		WRITE_ONCE(level->due, true);
		irqpath_wake_guard();
	}
	return HRTIMER_NORESTART;
}

/* Serve the packets of a level that have waited for too long. */
static void serve_expired(struct irqpath_level *level)
{
	unsigned int nr;
	bool served;
	u64 rest;

	if (!get_limit_ns() || !find_oldest(level, &served, &rest))
		return;
	if (!rest && served) {
		/*
		 * The thread that serves it may not run: lend it the priority.
		 */
		mutex_lock(&level->serving);
		mutex_unlock(&level->serving);
		if (!find_oldest(level, &served, &rest))
			return;
	}
	if (!rest) {
		rest = get_limit_ns();
		for (nr = 0; nr < NAPI_POLL_WEIGHT; nr += BATCH) {
			if (serve_batch(level, true) < BATCH)
				break;
		}
	}
	if (has_packets(level))
		irqpath_start_timer(&level->limit, rest);
}

/* Return: whether there was work; then the guard is running. */
static bool relieve_level(struct irqpath_level *level)
{
	bool any = false;

	if (READ_ONCE(level->due)) {
		__set_current_state(TASK_RUNNING);
		WRITE_ONCE(level->due, false);
		serve_expired(level);
		any = true;
	}
	if (READ_ONCE(level->napi_due)) {
		__set_current_state(TASK_RUNNING);
		WRITE_ONCE(level->napi_due, false);
		irqpath_poll_napis(level);
		any = true;
	}
	return any;
}

static int run_guard(void *data)
{
	unsigned int nr;

	for (;;) {
		bool any = false;

		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		for (nr = 0; nr < IRQPATH_NR_LEVELS; nr++) {
			struct irqpath_level *level =
				READ_ONCE(irqpath_levels[nr]);

			if (level)
				any |= relieve_level(level);
		}
		if (!any)
			schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/**
 * irqpath_current_level() - find the level that the current thread belongs to
 *
 * Return: a level, or NULL.
 */
struct irqpath_level *irqpath_current_level(void)
{
	if (!(current->flags & PF_KTHREAD) ||
	    kthread_func(current) != run_level)
		return NULL;
	return kthread_data(current);
}

/**
 * irqpath_start_level() - initialise a level and start its thread
 * @level: the level, its number set
 *
 * Return: 0, or why there is no thread.
 */
int irqpath_start_level(struct irqpath_level *level)
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
	level->limit.function = expire_limit;
	hrtimer_init(&level->napi_limit, CLOCK_MONOTONIC,
		     HRTIMER_MODE_REL_HARD);
	level->napi_limit.function = irqpath_expire_napi_limit;

	level->thread = kthread_create(run_level, level, "netprio/%d",
				       param.sched_priority);
	if (IS_ERR(level->thread))
		return PTR_ERR(level->thread);
	if (!ordinary)
		sched_setscheduler_nocheck(level->thread, SCHED_FIFO, &param);
	wake_up_process(level->thread);
	return 0;
}

/**
 * irqpath_stop_level() - stop a level's thread and timers
 * @level: the level, which is empty; the guard has ended
 */
void irqpath_stop_level(struct irqpath_level *level)
{
	kthread_stop(level->thread);
	hrtimer_cancel(&level->limit);
	hrtimer_cancel(&level->napi_limit);
	WARN_ON_ONCE(!skb_queue_empty(&level->queue));
	WARN_ON_ONCE(!list_empty(&level->napis));
}

/**
 * irqpath_drain_level() - serve some held packets, beside the level's thread
 * @level: the level
 *
 * Return: whether there may be more to serve at once.
 */
bool irqpath_drain_level(struct irqpath_level *level)
{
	bool more = serve_batch(level, false) == BATCH;

	return irqpath_poll_level(level) || more;
}

/**
 * irqpath_holds_any() - whether any packet or NAPI is held or being served
 */
bool irqpath_holds_any(void)
{
	return atomic_read(&irqpath_nr_held) || irqpath_holds_napis();
}

/**
 * irqpath_start_guard() - start the guard
 *
 * Return: 0, or why there is no thread.
 */
int irqpath_start_guard(void)
{
	/* The threads of interrupts might leave it no time: run above them. */
	struct sched_param param = { .sched_priority = MAX_RT_PRIO / 2 + 1 };
	struct task_struct *p;

	p = kthread_create(run_guard, NULL, "netprio_guard");
	if (IS_ERR(p))
		return PTR_ERR(p);
	sched_setscheduler_nocheck(p, SCHED_FIFO, &param);
	guard = p;
	wake_up_process(p);
	return 0;
}

/**
 * irqpath_wake_guard() - wake the guard for a level that is due
 *
 * Context: any.
 */
void irqpath_wake_guard(void)
{
	wake_up_process(guard);
}

void irqpath_stop_guard(void)
{
	kthread_stop(guard);
}
