// SPDX-License-Identifier: GPL-2.0-only
/*
 * Levels come and go, and netprio with them.
 *
 * A level is made when a receiver of its priority is first seen, by a worker:
 * who sees it may not sleep. Until it is there, packets for it go on at once.
 * All go when the policy is switched off.
 */
#include <linux/bitmap.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "netprio.h"

/*
 * How long the packets of a flow keep their order when the policy goes: no longer
 * than they come more quickly than they are served.
 */
#define DRAIN_LIMIT	(HZ / 5)

/* Read by who handles packets; written under the mutex. */
struct irqpath_level *irqpath_levels[IRQPATH_NR_LEVELS];
static DEFINE_MUTEX(levels_mutex);
static DECLARE_BITMAP(wanted, IRQPATH_NR_LEVELS);

static struct irqpath_level *level_make(unsigned int nr)
{
	struct irqpath_level *level = kzalloc(sizeof(*level), GFP_KERNEL);

	if (!level)
		return NULL;
	level->nr = nr;
	if (irqpath_level_begin(level)) {
		kfree(level);
		return NULL;
	}
	return level;
}

static void levels_make(struct work_struct *work)
{
	unsigned int nr;

	mutex_lock(&levels_mutex);
	for_each_set_bit(nr, wanted, IRQPATH_NR_LEVELS) {
		clear_bit(nr, wanted);
		if (!irqpath_levels[nr])
			/* Who finds it finds it initialised. */
			smp_store_release(&irqpath_levels[nr], level_make(nr));
	}
	mutex_unlock(&levels_mutex);
}

static DECLARE_WORK(make_work, levels_make);

/**
 * irqpath_level_get() - the level of a number
 * @nr: the number, not IRQPATH_LEVEL_NONE
 *
 * Context: RCU read side; raw spinlocks may be held.
 * Return: the level, or NULL: it will be made.
 */
struct irqpath_level *irqpath_level_get(unsigned int nr)
{
	struct irqpath_level *level = READ_ONCE(irqpath_levels[nr]);

	if (!level && READ_ONCE(irqpath_may_hold) &&
	    !test_and_set_bit(nr, wanted))
		schedule_work(&make_work);
	return level;
}

/**
 * irqpath_max_hold_set() - set how long a packet may be held
 * @us: microseconds, or 0
 *
 * Context: the switches' mutex is held: no level goes.
 * Return: 0.
 */
int irqpath_max_hold_set(unsigned int us)
{
	unsigned int nr;

	WRITE_ONCE(irqpath_max_hold_us, us);
	for (nr = 0; nr < IRQPATH_NR_LEVELS; nr++) {
		struct irqpath_level *level = READ_ONCE(irqpath_levels[nr]);

		if (level)
			irqpath_level_limit(level);
	}
	return 0;
}

/**
 * irqpath_napi_hold_set() - set how long a NAPI may be held
 * @us: microseconds, or 0: none is
 *
 * Context: the switches' mutex is held: no level goes.
 * Return: 0.
 */
int irqpath_napi_hold_set(unsigned int us)
{
	unsigned int nr;

	WRITE_ONCE(irqpath_napi_hold_us, us);
	for (nr = 0; nr < IRQPATH_NR_LEVELS; nr++) {
		struct irqpath_level *level = READ_ONCE(irqpath_levels[nr]);

		if (level)
			irqpath_level_napi_limit(level);
	}
	return 0;
}

/* Packets of a device that goes are dropped, as those of a backlog are. */
static void purge(struct irqpath_level *level, struct net_device *dev)
{
	struct sk_buff *skb, *next;
	struct sk_buff_head gone;

	__skb_queue_head_init(&gone);
	raw_spin_lock(&level->lock);
	skb_queue_walk_safe(&level->queue, skb, next) {
		if (skb->dev != dev)
			continue;
		__skb_unlink(skb, &level->queue);
		__skb_queue_tail(&gone, skb);
	}
	raw_spin_unlock(&level->lock);

	while ((skb = __skb_dequeue(&gone))) {
		irqpath_held_end(irqpath_held(skb)->receiver);
		irqpath_count(purged);
		kfree_skb_reason(skb, SKB_DROP_REASON_DEV_READY);
	}
}

/*
 * It is down: nothing is added any more, and its NAPIs have completed. A packet
 * that is being served is waited for.
 */
static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	unsigned int nr;

	if (event != NETDEV_UNREGISTER || !irqpath_holds_any())
		return NOTIFY_DONE;
	mutex_lock(&levels_mutex);
	for (nr = 0; nr < IRQPATH_NR_LEVELS; nr++) {
		if (irqpath_levels[nr])
			purge(irqpath_levels[nr], dev);
	}
	mutex_unlock(&levels_mutex);
	synchronize_net();
	return NOTIFY_DONE;
}

static struct notifier_block netdev_notifier = {
	.notifier_call = netdev_event,
};

/**
 * irqpath_netprio_start() - hold packets from now on
 *
 * Context: the switch's mutex is held.
 * Return: 0, or why there is no guard.
 */
int irqpath_netprio_start(void)
{
	int ret = irqpath_guard_begin();

	if (ret)
		return ret;
	ret = register_netdevice_notifier(&netdev_notifier);
	if (ret) {
		irqpath_guard_end();
		return ret;
	}
	WRITE_ONCE(irqpath_may_follow, true);
	WRITE_ONCE(irqpath_may_hold, true);
	static_branch_enable(&irqpath_netprio_key);
	return 0;
}

static bool drain_once(void)
{
	bool more = false;
	unsigned int nr;

	for (nr = 0; nr < IRQPATH_NR_LEVELS; nr++) {
		if (irqpath_levels[nr])
			more |= irqpath_level_drain(irqpath_levels[nr]);
	}
	return more;
}

/* Serve all that is held, until @deadline in jiffies if there is one. */
static void drain(const unsigned long *deadline)
{
	while (irqpath_holds_any() &&
	       !(deadline && time_after(jiffies, *deadline))) {
		if (drain_once())
			cond_resched();
		else
			/* What is being served is somebody else's. */
			schedule_timeout_uninterruptible(1);
	}
}

/**
 * irqpath_netprio_stop() - hold no packet any more, serve those that are held
 *
 * Context: the switch's mutex is held.
 */
void irqpath_netprio_stop(void)
{
	unsigned long deadline = jiffies + DRAIN_LIMIT;
	unsigned int nr;

	WRITE_ONCE(irqpath_may_hold, false);
	/* Those that must go behind others still come, as long as there are any. */
	drain(&deadline);
	WRITE_ONCE(irqpath_may_follow, false);
	/* First, as RCU may not come to the CPUs before this is done. */
	drain(NULL);
	synchronize_net();
	/* What was being added meanwhile. */
	drain(NULL);
	static_branch_disable(&irqpath_netprio_key);
	/* Who still has a level in its hands finds no packet to go behind. */
	synchronize_net();

	cancel_work_sync(&make_work);
	unregister_netdevice_notifier(&netdev_notifier);
	irqpath_guard_end();
	for (nr = 0; nr < IRQPATH_NR_LEVELS; nr++) {
		struct irqpath_level *level = irqpath_levels[nr];

		if (!level)
			continue;
		irqpath_levels[nr] = NULL;
		irqpath_level_end(level);
		kfree(level);
	}
	bitmap_zero(wanted, IRQPATH_NR_LEVELS);
	irqpath_forget_polls();
}
