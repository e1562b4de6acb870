// SPDX-License-Identifier: GPL-2.0-only
/*
 * netprio: the queues of held packets.
 *
 * Each receiver has a queue, and each level a list of the receivers for which
 * packets wait. A change of priority moves the receiver with its queue, so that
 * the packets of a socket keep their order. A receiver stays in its level until
 * its last packet has been served.
 *
 * Receivers of one level are served in turn. The queues of a level hold twice
 * irqpath_queue_limit packets, and one receiver at most as many as are free. So
 * a flood to one socket leaves room for the packets of the others.
 */
#include <linux/netdevice.h>

#include "netprio.h"

/* Packets that a receiver may hold while no other of its level holds any. */
unsigned int irqpath_queue_limit = 1000;

/* Packets that are queued or being served. */
atomic_t irqpath_nr_held;

/* If false, no receiver changes its level. */
static bool may_move = true;

/* Passes over all receivers. A receiver knows the last one that has seen it. */
static atomic64_t nr_passes;

/**
 * irqpath_has_room() - whether a receiver may hold one more packet
 * @nr: packets that it holds
 * @total: packets that its level holds, these included
 * @limit: irqpath_queue_limit
 */
bool irqpath_has_room(unsigned int nr, unsigned int total, unsigned int limit)
{
	return (u64)nr + total < 2 * (u64)limit;
}

static void enlist_receiver(struct irqpath_receiver *r,
			    struct irqpath_level *level)
{
	lockdep_assert_held(&r->lock);
	lockdep_assert_held(&level->lock);

	r->where = level;
	r->pass = atomic64_read(&nr_passes);
	level->nr_held += r->nr_held;
	list_add_tail(&r->node, &level->receivers);
	timerqueue_add(&level->ages, &r->age);
}

static void delist_receiver(struct irqpath_receiver *r)
{
	lockdep_assert_held(&r->lock);
	lockdep_assert_held(&r->where->lock);

	r->where->nr_held -= r->nr_held;
	list_del(&r->node);
	timerqueue_del(&r->where->ages, &r->age);
}

/**
 * irqpath_queue_packet() - queue a packet
 * @r: its receiver, locked
 * @level: the level of @r
 * @skb: the packet
 *
 * Return: false if there is no room.
 */
bool irqpath_queue_packet(struct irqpath_receiver *r,
			  struct irqpath_level *level, struct sk_buff *skb)
{
	bool room;

	lockdep_assert_held(&r->lock);

	raw_spin_lock(&level->lock);
	room = irqpath_has_room(r->nr_held, level->nr_held,
				READ_ONCE(irqpath_queue_limit));
	if (room) {
		atomic_inc(&irqpath_nr_held);
		__skb_queue_tail(&r->queue, skb);
		if (r->nr_held++) {
			level->nr_held++;
		} else {
			r->age.expires = irqpath_held(skb)->since;
			enlist_receiver(r, level);
		}
	}
	raw_spin_unlock(&level->lock);
	return room;
}

/**
 * irqpath_move_receiver() - move a receiver and its packets to another level
 * @r: the receiver, locked, which holds packets
 * @level: the level
 */
void irqpath_move_receiver(struct irqpath_receiver *r,
			   struct irqpath_level *level)
{
	raw_spin_lock(&r->where->lock);
	delist_receiver(r);
	raw_spin_unlock(&r->where->lock);

	raw_spin_lock(&level->lock);
	enlist_receiver(r, level);
	raw_spin_unlock(&level->lock);
	irqpath_count(resorted);
}

/**
 * irqpath_find_place() - find the level in which held packets belong now
 * @r: the receiver, locked, which holds packets
 *
 * Context: RCU read side.
 * Return: a level. It is the old one until the new one has been made.
 */
struct irqpath_level *irqpath_find_place(struct irqpath_receiver *r)
{
	unsigned int nr = irqpath_get_receiver_level(r);
	struct irqpath_level *level = NULL;

	if (nr != IRQPATH_LEVEL_NONE && READ_ONCE(may_move))
		level = irqpath_get_level(nr);
	return level ?: r->where;
}

static struct irqpath_receiver *get_receiver(struct irqpath_receiver *r)
{
	/* It holds packets, and they hold references. */
	if (r)
		refcount_inc(&r->refs);
	return r;
}

/**
 * irqpath_next_receiver() - get the receiver whose turn it is
 * @level: the level
 *
 * Return: a receiver and a reference to it, or NULL.
 */
struct irqpath_receiver *irqpath_next_receiver(struct irqpath_level *level)
{
	struct irqpath_receiver *r;

	raw_spin_lock(&level->lock);
	r = list_first_entry_or_null(&level->receivers, struct irqpath_receiver,
				     node);
	if (r)
		list_move_tail(&r->node, &level->receivers);
	get_receiver(r);
	raw_spin_unlock(&level->lock);
	return r;
}

/**
 * irqpath_oldest_receiver() - get the receiver of the packet that came first
 * @level: the level
 * @since: set to when it came
 *
 * The packet may be the one that is being served.
 *
 * Return: a receiver and a reference to it, or NULL.
 */
struct irqpath_receiver *irqpath_oldest_receiver(struct irqpath_level *level,
						 ktime_t *since)
{
	struct irqpath_receiver *r = NULL;
	struct timerqueue_node *oldest;

	raw_spin_lock(&level->lock);
	oldest = timerqueue_getnext(&level->ages);
	if (oldest) {
		*since = oldest->expires;
		r = container_of(oldest, struct irqpath_receiver, age);
	}
	get_receiver(r);
	raw_spin_unlock(&level->lock);
	return r;
}

/**
 * irqpath_take_packet() - take the first packet of a receiver
 * @r: the receiver
 *
 * Context: r->serving held, so that no packet overtakes it.
 * Return: the packet, or NULL. It counts as held until irqpath_end_held().
 */
struct sk_buff *irqpath_take_packet(struct irqpath_receiver *r)
{
	struct sk_buff *skb;

	lockdep_assert_held(&r->serving);

	raw_spin_lock(&r->lock);
	skb = __skb_dequeue(&r->queue);
	raw_spin_unlock(&r->lock);
	return skb;
}

/**
 * irqpath_end_held() - account for a packet that was served or freed
 * @r: its receiver; the next packet need not go behind it
 */
void irqpath_end_held(struct irqpath_receiver *r)
{
	struct irqpath_level *level;

	raw_spin_lock(&r->lock);
	level = r->where;
	raw_spin_lock(&level->lock);
	if (r->nr_held == 1) {
		delist_receiver(r);
	} else {
		timerqueue_del(&level->ages, &r->age);
		r->age.expires = irqpath_held(skb_peek(&r->queue))->since;
		timerqueue_add(&level->ages, &r->age);
		level->nr_held--;
	}
	raw_spin_unlock(&level->lock);
	r->nr_held--;
	raw_spin_unlock(&r->lock);
	irqpath_receiver_put(r);
	atomic_dec(&irqpath_nr_held);
}

/* Return: a receiver that the pass has not seen, with a reference, or NULL. */
static struct irqpath_receiver *next_unseen(struct irqpath_level *level,
					    u64 pass)
{
	struct irqpath_receiver *r, *found = NULL;

	raw_spin_lock(&level->lock);
	list_for_each_entry(r, &level->receivers, node) {
		if (r->pass >= pass)
			continue;
		r->pass = pass;
		list_move_tail(&r->node, &level->receivers);
		found = get_receiver(r);
		break;
	}
	raw_spin_unlock(&level->lock);
	return found;
}

static void sort_receiver(struct irqpath_receiver *r)
{
	struct irqpath_level *level = NULL;

	raw_spin_lock(&r->lock);
	if (r->nr_held)
		level = irqpath_find_place(r);
	if (level && level != r->where)
		irqpath_move_receiver(r, level);
	else
		level = NULL;
	raw_spin_unlock(&r->lock);
	if (level)
		irqpath_kick_level(level);
}

/* A receiver that a later pass has seen was sorted by a later priority. */
static void sort_receivers(void)
{
	u64 pass = atomic64_inc_return(&nr_passes);
	struct irqpath_receiver *r;
	unsigned int nr;

	for (nr = 0; nr < IRQPATH_NR_LEVELS; nr++) {
		struct irqpath_level *level = READ_ONCE(irqpath_levels[nr]);

		while (level && (r = next_unseen(level, pass))) {
			sort_receiver(r);
			irqpath_receiver_put(r);
		}
	}
}

/*
 * A priority has changed, or a level has been made: move receivers to the
 * levels of their priorities, and poll held NAPIs, whose packets may no longer
 * have to wait.
 */
void __irqpath_netprio_sort(void)
{
	rcu_read_lock();
	if (atomic_read(&irqpath_nr_held))
		sort_receivers();
	irqpath_hasten_napis();
	rcu_read_unlock();
}

/**
 * irqpath_keep_places() - let receivers stay in their levels, or move again
 * @keep: whether they stay; then none is moving when this returns
 *
 * Context: may sleep.
 */
void irqpath_keep_places(bool keep)
{
	WRITE_ONCE(may_move, !keep);
	if (keep)
		synchronize_net();
	else
		__irqpath_netprio_sort();
}
