// SPDX-License-Identifier: GPL-2.0-only
/*
 * netprio: held NAPIs, and the threads that poll them.
 *
 * Beside packets, a level holds NAPIs that bring only packets for it. The
 * level's thread polls them when it has no packet to serve. The guard polls
 * them once when irqpath_napi_hold_us have passed. Until then the packets stay
 * in the device. See serve.c.
 */
#include <linux/filter.h>
#include <linux/netdevice.h>

#include "netprio.h"

/* Microseconds that a NAPI may be held; 0: none is. */
unsigned int irqpath_napi_hold_us;

/* NAPIs that are held or being polled. */
static atomic_t nr_napis;

/* With 0, NAPIs that are still held are polled at once. */
static u64 get_hold_ns(void)
{
	return max(READ_ONCE(irqpath_napi_hold_us), 1U) * (u64)NSEC_PER_USEC;
}

/*
 * Have the guard poll the level's NAPIs once, now. It lends its priority to a
 * thread that is polling one.
 */
static void hasten_polls(struct irqpath_level *level)
{
	if (list_empty_careful(&level->napis)) {
		/*
		 * Pairs with take_napi(): a NAPI that left the list is polled.
		 */
		smp_rmb();
		if (!READ_ONCE(level->polling))
			return;
	}
	WRITE_ONCE(level->napi_due, true);
	irqpath_wake_guard();
}

/*
 * The first NAPI starts the timer, and later ones do not delay it.
 *
 * Context: an RCU read side, without which the NAPI could be gone once it is in
 * the list.
 */
static void queue_napi(struct irqpath_level *level, struct napi_struct *n)
{
	raw_spin_lock(&level->lock);
	list_add_tail(&n->poll_list, &level->napis);
	raw_spin_unlock(&level->lock);
	/*
	 * Pairs with irqpath_expire_napi_limit(): as in irqpath_kick_level().
	 */
	smp_mb();
	if (!hrtimer_is_queued(&level->napi_limit))
		irqpath_start_timer(&level->napi_limit, get_hold_ns());
	/*
	 * Pairs with __irqpath_napi_disable(): one of the two sees the other.
	 */
	smp_mb();
	if (napi_disable_pending(n))
		hasten_polls(level);
}

/**
 * irqpath_add_napi() - keep a NAPI for a level
 * @level: the level
 * @n: the NAPI, scheduled, and in no list
 *
 * Context: the poll of @n, on an RCU read side.
 */
void irqpath_add_napi(struct irqpath_level *level, struct napi_struct *n)
{
	atomic_inc(&nr_napis);
	queue_napi(level, n);
	wake_up_process(level->thread);
}

/**
 * irqpath_hasten_napis() - have the guard poll all held NAPIs once, now
 *
 * Context: RCU read side.
 */
void irqpath_hasten_napis(void)
{
	unsigned int nr;

	if (!atomic_read(&nr_napis))
		return;
	for (nr = 0; nr < IRQPATH_NR_LEVELS; nr++) {
		struct irqpath_level *level = READ_ONCE(irqpath_levels[nr]);

		if (level)
			hasten_polls(level);
	}
}

/*
 * The caller waits for the NAPI, perhaps with RTNL: it must not wait for long.
 */
void __irqpath_napi_disable(void)
{
	/* Pairs with queue_napi(). */
	smp_mb__after_atomic();
	rcu_read_lock();
	irqpath_hasten_napis();
	rcu_read_unlock();
}

static struct napi_struct *take_napi(struct irqpath_level *level)
{
	struct napi_struct *n;

	raw_spin_lock(&level->lock);
	n = list_first_entry_or_null(&level->napis, struct napi_struct,
				     poll_list);
	if (n) {
		WRITE_ONCE(level->polling, true);
		/* Pairs with hasten_polls(). */
		smp_wmb();
		list_del_init(&n->poll_list);
	}
	raw_spin_unlock(&level->lock);
	return n;
}

/*
 * The NAPI completes, is held again, or has more packets. Those are for this
 * level, or for the softirq once nothing is to be held.
 */
static void poll_napi(struct irqpath_level *level, struct napi_struct *n)
{
	bool more = irqpath_napi_poll(n);

	if (more && READ_ONCE(irqpath_may_hold)) {
		queue_napi(level, n);
		return;
	}
	if (more)
		__napi_schedule(n);
	atomic_dec(&nr_napis);
}

/**
 * irqpath_poll_level() - poll one NAPI of a level once
 * @level: the level
 *
 * Return: whether there was one.
 */
bool irqpath_poll_level(struct irqpath_level *level)
{
	struct bpf_net_context __bpf_net_ctx, *bpf_net_ctx;
	struct napi_struct *n;

	mutex_lock(&level->polls);
	n = take_napi(level);
	if (n) {
		local_bh_disable();
		bpf_net_ctx = bpf_net_ctx_set(&__bpf_net_ctx);
		poll_napi(level, n);
		bpf_net_ctx_clear(bpf_net_ctx);
		local_bh_enable();
		WRITE_ONCE(level->polling, false);
	}
	mutex_unlock(&level->polls);
	return n;
}

/* The function of the timer irqpath_level.napi_limit. */
enum hrtimer_restart irqpath_expire_napi_limit(struct hrtimer *timer)
{
	struct irqpath_level *level = container_of(timer, struct irqpath_level,
						   napi_limit);

	/* Pairs with queue_napi(). */
	smp_mb();
	hasten_polls(level);
	return HRTIMER_NORESTART;
}

/**
 * irqpath_restart_napi_limit() - apply a new irqpath_napi_hold_us to a level
 * @level: the level
 *
 * NAPIs that are held now wait no longer than a new one.
 */
void irqpath_restart_napi_limit(struct irqpath_level *level)
{
	if (hrtimer_is_queued(&level->napi_limit) &&
	    ktime_to_ns(hrtimer_get_remaining(&level->napi_limit)) >
		    get_hold_ns())
		irqpath_start_timer(&level->napi_limit, get_hold_ns());
}

/**
 * irqpath_poll_napis() - poll each held NAPI of a level once
 * @level: the level
 *
 * It waits for a NAPI that is being polled.
 */
void irqpath_poll_napis(struct irqpath_level *level)
{
	size_t nr;

	raw_spin_lock(&level->lock);
	nr = list_count_nodes(&level->napis) + level->polling;
	raw_spin_unlock(&level->lock);
	while (nr-- && irqpath_poll_level(level))
		;
}

/**
 * irqpath_holds_napis() - whether a NAPI is held or being polled
 */
bool irqpath_holds_napis(void)
{
	return atomic_read(&nr_napis);
}
