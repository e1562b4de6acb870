// SPDX-License-Identifier: GPL-2.0-only
/*
 * netprio: the threads that serve held packets.
 *
 * The thread of a level has the level's priority. It may run on any CPU that
 * kernel threads may use, so that the scheduler finds it a CPU, or holds it
 * back where the work is more urgent. It also polls held NAPIs, see napi.c.
 *
 * The packets of a receiver are served one after another, by whoever holds
 * irqpath_receiver.serving: the level's thread, the guard (guard.c), or the
 * task that switches the policy off or unregisters a device.
 */
#include <linux/filter.h>
#include <linux/kthread.h>
#include <linux/netdevice.h>
#include <trace/events/irqpath.h>
#include <uapi/linux/sched/types.h>

#include "netprio.h"

/* Packets served in one go, and of these with bottom halves disabled. */
#define BATCH		16
#define QUANTUM		8

/**
 * irqpath_kick_level() - start limit and thread for a receiver's packets
 * @level: the level that the receiver has come to
 *
 * Context: RCU read side, no lock is held.
 */
void irqpath_kick_level(struct irqpath_level *level)
{
	/*
	 * Pairs with irqpath_expire_limit(): it sees the packet, or is seen to
	 * have run.
	 */
	smp_mb();
	/* A timer that runs already expires too early, and is started again. */
	if (!hrtimer_is_queued(&level->limit))
		irqpath_restart_limit(level);
	wake_up_process(level->thread);
}

/* Deliver a held packet. If its device was closed, drop it. */
static void serve_packet(struct irqpath_receiver *r, struct sk_buff *skb,
			 bool expired)
{
	if (!netif_running(skb->dev)) {
		irqpath_count(purged);
		kfree_skb_reason(skb, SKB_DROP_REASON_DEV_READY);
	} else {
		u64 since = irqpath_held(skb)->since;

		trace_irqpath_serve(skb, READ_ONCE(r->where)->nr,
				    ktime_get_ns() - since, expired);
		if (expired)
			irqpath_count(expired);
		else
			irqpath_count(served);
		rcu_read_lock();
		irqpath_netprio_receive(skb);
		rcu_read_unlock();
	}
	irqpath_end_held(r);
}

/**
 * irqpath_serve_receiver() - serve some of a receiver's packets
 * @r: the receiver
 * @max: how many
 * @expired: they have waited for too long, and the guard serves them
 *
 * If another thread serves them, wait for it and lend it the priority: two
 * threads could change the order.
 *
 * Return: the number of packets served.
 */
unsigned int irqpath_serve_receiver(struct irqpath_receiver *r,
				    unsigned int max, bool expired)
{
	struct bpf_net_context __bpf_net_ctx, *bpf_net_ctx;
	struct sk_buff *skb;
	unsigned int nr = 0;

	mutex_lock(&r->serving);
	local_bh_disable();
	bpf_net_ctx = bpf_net_ctx_set(&__bpf_net_ctx);
	while (nr < max && (skb = irqpath_take_packet(r))) {
		serve_packet(r, skb, expired);
		nr++;
	}
	bpf_net_ctx_clear(bpf_net_ctx);
	local_bh_enable();
	mutex_unlock(&r->serving);
	return nr;
}

/* Serve a batch of a level's packets, each receiver in its turn. */
static unsigned int serve_batch(struct irqpath_level *level)
{
	struct irqpath_receiver *r;
	unsigned int nr = 0;

	while (nr < BATCH && (r = irqpath_next_receiver(level))) {
		nr += irqpath_serve_receiver(r, QUANTUM, false);
		irqpath_receiver_put(r);
	}
	return nr;
}

/**
 * irqpath_flush_level() - serve the packets of a level that came until now
 * @level: the level
 *
 * Context: may sleep; no receiver changes its level.
 */
void irqpath_flush_level(struct irqpath_level *level)
{
	ktime_t now = ktime_get(), since;
	struct irqpath_receiver *r;

	while ((r = irqpath_oldest_receiver(level, &since))) {
		if (since <= now)
			irqpath_serve_receiver(r, BATCH, false);
		irqpath_receiver_put(r);
		if (since > now)
			break;
	}
}

/*
 * There is work, if only to lend a priority to the one who does it. All places
 * are checked under the lock, because work moves between them.
 */
static bool has_work(struct irqpath_level *level)
{
	bool any;

	raw_spin_lock(&level->lock);
	any = !list_empty(&level->receivers) || !list_empty(&level->napis) ||
	      level->polling;
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
		if (serve_batch(level) >= BATCH)
			yield();
		else
			irqpath_poll_level(level);
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
	INIT_LIST_HEAD(&level->receivers);
	timerqueue_init_head(&level->ages);
	INIT_LIST_HEAD(&level->napis);
	mutex_init(&level->polls);
	hrtimer_setup(&level->limit, irqpath_expire_limit, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_HARD);
	hrtimer_setup(&level->napi_limit, irqpath_expire_napi_limit,
		      CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);

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
	WARN_ON_ONCE(!list_empty(&level->receivers));
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
	bool more = serve_batch(level) >= BATCH;

	return irqpath_poll_level(level) || more;
}

/**
 * irqpath_holds_any() - whether any packet or NAPI is held or being served
 */
bool irqpath_holds_any(void)
{
	return atomic_read(&irqpath_nr_held) || irqpath_holds_napis();
}
