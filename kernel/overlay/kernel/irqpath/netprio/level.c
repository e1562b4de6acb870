// SPDX-License-Identifier: GPL-2.0-only
/*
 * netprio: levels come and go, and the policy's switch.
 *
 * A worker makes a level when a receiver of its priority is first seen, because
 * that happens where nobody may sleep. Until then packets for the level go on
 * at once. All levels go when the policy is switched off.
 */
#include <linux/bitmap.h>
#include <linux/netdevice.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "netprio.h"

/*
 * When the policy is switched off, the packets of a flow keep their order for
 * this long at most, if they come more quickly than they are served.
 */
#define DRAIN_LIMIT	(HZ / 5)

/* Written under the mutex. */
struct irqpath_level *irqpath_levels[IRQPATH_NR_LEVELS];
static DEFINE_MUTEX(levels_mutex);
static DECLARE_BITMAP(wanted, IRQPATH_NR_LEVELS);

static struct irqpath_level *make_level(unsigned int nr)
{
	struct irqpath_level *level = kzalloc_obj(*level, GFP_KERNEL);

	if (!level)
		return NULL;
	level->nr = nr;
	if (irqpath_start_level(level)) {
		kfree(level);
		return NULL;
	}
	return level;
}

static void make_levels(struct work_struct *work)
{
	unsigned int nr;

	mutex_lock(&levels_mutex);
	for_each_set_bit(nr, wanted, IRQPATH_NR_LEVELS) {
		clear_bit(nr, wanted);
		if (!irqpath_levels[nr])
			/* A reader that finds it finds it initialised. */
			smp_store_release(&irqpath_levels[nr], make_level(nr));
	}
	mutex_unlock(&levels_mutex);
	/* Packets may wait for it in another level. */
	__irqpath_netprio_sort();
}

static DECLARE_WORK(make_work, make_levels);

/**
 * irqpath_get_level() - get a level, or have it made
 * @nr: its number, not IRQPATH_LEVEL_NONE
 *
 * Context: RCU read side; raw spinlocks may be held.
 * Return: the level, or NULL if it is still to be made.
 */
struct irqpath_level *irqpath_get_level(unsigned int nr)
{
	struct irqpath_level *level = READ_ONCE(irqpath_levels[nr]);

	if (!level && READ_ONCE(irqpath_may_hold) &&
	    !test_and_set_bit(nr, wanted))
		schedule_work(&make_work);
	return level;
}

/**
 * irqpath_set_max_hold() - set irqpath_max_hold_us
 * @us: microseconds, or 0
 *
 * Context: the switches' mutex is held: no level goes.
 * Return: 0.
 */
int irqpath_set_max_hold(unsigned int us)
{
	unsigned int nr;

	WRITE_ONCE(irqpath_max_hold_us, us);
	for (nr = 0; nr < IRQPATH_NR_LEVELS; nr++) {
		struct irqpath_level *level = READ_ONCE(irqpath_levels[nr]);

		if (level)
			irqpath_restart_limit(level);
	}
	return 0;
}

/**
 * irqpath_set_napi_hold() - set irqpath_napi_hold_us
 * @us: microseconds, or 0 to hold none
 *
 * Context: the switches' mutex is held: no level goes.
 * Return: 0.
 */
int irqpath_set_napi_hold(unsigned int us)
{
	unsigned int nr;

	WRITE_ONCE(irqpath_napi_hold_us, us);
	for (nr = 0; nr < IRQPATH_NR_LEVELS; nr++) {
		struct irqpath_level *level = READ_ONCE(irqpath_levels[nr]);

		if (level)
			irqpath_restart_napi_limit(level);
	}
	return 0;
}

/*
 * The device is down: no packet is added, and its NAPIs have completed. Those
 * that are held are dropped when it is their turn.
 */
static int netdev_event(struct notifier_block *nb, unsigned long event,
			void *info)
{
	unsigned int nr;

	if (event != NETDEV_UNREGISTER || !irqpath_holds_any())
		return NOTIFY_DONE;
	mutex_lock(&levels_mutex);
	irqpath_keep_places(true);
	for (nr = 0; nr < IRQPATH_NR_LEVELS; nr++) {
		if (irqpath_levels[nr])
			irqpath_flush_level(irqpath_levels[nr]);
	}
	irqpath_keep_places(false);
	mutex_unlock(&levels_mutex);
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
	int ret = irqpath_start_guard();

	if (ret)
		return ret;
	ret = register_netdevice_notifier(&netdev_notifier);
	if (ret) {
		irqpath_stop_guard();
		return ret;
	}
	WRITE_ONCE(irqpath_may_follow, true);
	WRITE_ONCE(irqpath_may_hold, true);
	static_branch_enable(&irqpath_netprio_key);
	return 0;
}

static bool drain_levels_once(void)
{
	bool more = false;
	unsigned int nr;

	for (nr = 0; nr < IRQPATH_NR_LEVELS; nr++) {
		if (irqpath_levels[nr])
			more |= irqpath_drain_level(irqpath_levels[nr]);
	}
	return more;
}

/* Serve all held packets, until @deadline in jiffies if there is one. */
static void drain_levels(const unsigned long *deadline)
{
	while (irqpath_holds_any() &&
	       !(deadline && time_after(jiffies, *deadline))) {
		if (drain_levels_once())
			cond_resched();
		else
			/* Somebody else serves the rest. */
			schedule_timeout_uninterruptible(1);
	}
}

/**
 * irqpath_netprio_stop() - serve all held packets, and hold no more
 *
 * Context: the switch's mutex is held.
 */
void irqpath_netprio_stop(void)
{
	unsigned long deadline = jiffies + DRAIN_LIMIT;
	unsigned int nr;

	WRITE_ONCE(irqpath_may_hold, false);
	/* Packets still queue behind others of their receiver. */
	drain_levels(&deadline);
	WRITE_ONCE(irqpath_may_follow, false);
	/* Before RCU, which may not get to the CPUs while packets are held. */
	drain_levels(NULL);
	synchronize_net();
	/* Serve the packets that were added meanwhile. */
	drain_levels(NULL);
	static_branch_disable(&irqpath_netprio_key);
	/* Wait for CPUs that still use a level. They find it empty. */
	synchronize_net();

	cancel_work_sync(&make_work);
	unregister_netdevice_notifier(&netdev_notifier);
	irqpath_stop_guard();
	for (nr = 0; nr < IRQPATH_NR_LEVELS; nr++) {
		struct irqpath_level *level = irqpath_levels[nr];

		if (!level)
			continue;
		irqpath_levels[nr] = NULL;
		irqpath_stop_level(level);
		kfree(level);
	}
	bitmap_zero(wanted, IRQPATH_NR_LEVELS);
	irqpath_forget_polls();
}
