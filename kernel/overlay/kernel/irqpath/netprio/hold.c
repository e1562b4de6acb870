// SPDX-License-Identifier: GPL-2.0-only
/*
 * netprio: which received packets wait, and in which level's queue.
 *
 * The receiver of each packet is looked up before the protocols see it. If the
 * interrupted work is more urgent, the packet is queued for a thread of the
 * receiver's priority, which the scheduler holds back. A packet without a
 * receiver goes on at once.
 *
 * While packets for a socket wait or are being served, later ones queue behind
 * them. If the priority of its receiver has changed, all go to another level.
 */
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/ktime.h>
#include <linux/mmu_context.h>
#include <linux/netdevice.h>
#include <net/rps.h>
#include <trace/events/irqpath.h>

#include "../../sched/sched.h"
#include "netprio.h"

DEFINE_STATIC_KEY_FALSE(irqpath_netprio_key);

/* If false, packets only queue behind others of their receiver. */
bool irqpath_may_hold;

/* If false, no packet is held, not even behind others. */
bool irqpath_may_follow;

/**
 * struct poll - the fate of the packets that a poll of a NAPI brought
 * @napi: the NAPI that is being polled, or NULL
 * @task: the task that polls it
 * @level: the highest level that took a packet
 * @mixed: some packets went on
 * @hold: the NAPI did not complete, and is to be held
 */
struct poll {
	struct napi_struct	*napi;
	struct task_struct	*task;
	struct irqpath_level	*level;
	bool			mixed;
	bool			hold;
};

/*
 * Where bottom halves have no lock, a task that polls can be preempted by one
 * that polls another NAPI, whose fate is not noted then: it is not held.
 */
static DEFINE_PER_CPU(struct poll, polls);

/* Return: this CPU's poll if it is that of the current task, or NULL. */
static struct poll *get_own_poll(void)
{
	struct poll *poll = this_cpu_ptr(&polls);

	return poll->napi && poll->task == current ? poll : NULL;
}

/**
 * irqpath_prio_to_level() - map a priority to its level
 * @prio: as in task_struct.prio; deadline tasks are above all others
 */
unsigned int irqpath_prio_to_level(int prio)
{
	return clamp(prio, 0, IRQPATH_LEVEL_ORDINARY);
}

/**
 * irqpath_must_wait() - whether a receiver's packet waits for the current work
 * @receiver: level of the receiver
 * @work: level of the work
 */
bool irqpath_must_wait(unsigned int receiver, unsigned int work)
{
	return receiver != IRQPATH_LEVEL_NONE && receiver > work;
}

/*
 * The level of the work that the CPU would do without the packets. The current
 * kernel thread (of an interrupt, of softirqs, of a level) preempted it, so
 * that it is the next one in the queue of real-time tasks. A boosted thread
 * works for the task that waits for it, and a task that found softirqs pending
 * for itself.
 *
 * The queue is read without its lock, as it may change at any moment anyway.
 */
static unsigned int get_work_level(void)
{
	unsigned int level = irqpath_prio_to_level(READ_ONCE(current->prio));
	struct irqpath_level *serving = irqpath_current_level();

	/* The level's thread polls, and serves these packets in their turn. */
	if (serving)
		return serving->nr ? serving->nr - 1 : 0;
	if (!(current->flags & PF_KTHREAD) ||
	    current->prio != current->normal_prio ||
	    level == IRQPATH_LEVEL_ORDINARY)
		return level;
	return find_next_bit(this_rq()->rt.active.bitmap,
			     IRQPATH_LEVEL_ORDINARY, level + 1);
}

/* Return: the level in which the packet must wait; NULL if it goes on. */
static struct irqpath_level *choose_level(struct irqpath_receiver *r,
					  unsigned int work)
{
	unsigned int level;

	lockdep_assert_held(&r->lock);

	if (irqpath_must_follow(r))
		return irqpath_find_place(r);
	level = irqpath_get_receiver_level(r);
	if (!irqpath_must_wait(level, work) || !READ_ONCE(irqpath_may_hold))
		return NULL;
	return irqpath_get_level(level);
}

static void drop_packet(struct sk_buff *skb)
{
	irqpath_count(dropped);
	dev_core_stats_rx_dropped_inc(skb->dev);
	kfree_skb_reason(skb, SKB_DROP_REASON_CPU_BACKLOG);
}

/* Return: the level that took the packet, or NULL. */
static struct irqpath_level *hold_packet(struct irqpath_receiver *r,
					 struct sk_buff *skb, unsigned int work)
{
	struct irqpath_level *level;
	bool come = false, full = false;

	raw_spin_lock(&r->lock);
	level = choose_level(r, work);
	/* Without a reference to get, its socket has gone. */
	if (level && refcount_inc_not_zero(&r->refs)) {
		irqpath_held(skb)->receiver = r;
		irqpath_held(skb)->since = ktime_get();
		trace_irqpath_hold(skb, level->nr, work);
		come = !r->nr_held;
		if (!come && r->where != level) {
			irqpath_move_receiver(r, level);
			come = true;
		}
		full = !irqpath_queue_packet(r, level, skb);
	} else {
		level = NULL;
	}
	raw_spin_unlock(&r->lock);

	if (!level) {
		irqpath_count(passed);
		return NULL;
	}
	if (come)
		irqpath_kick_level(level);
	if (full) {
		irqpath_receiver_put(r);
		drop_packet(skb);
		return level;
	}
	irqpath_count(held);
	return level;
}

static void note_packet(struct irqpath_level *level)
{
	struct poll *poll = get_own_poll();

	if (!poll)
		return;
	if (!level)
		poll->mixed = true;
	else if (!poll->level || level->nr < poll->level->nr)
		poll->level = level;
}

static bool hold_or_pass(struct sk_buff *skb, unsigned int work)
{
	struct irqpath_level *level = NULL;
	struct irqpath_receiver *r;

	/*
	 * There is no work to protect and no packet to stay behind. Or the
	 * device was closed, and nobody would drop its packets when it goes.
	 */
	if ((work == IRQPATH_LEVEL_ORDINARY &&
	     !atomic_read(&irqpath_nr_held)) ||
	    !netif_running(skb->dev)) {
		note_packet(NULL);
		return false;
	}
	r = irqpath_find_receiver(skb);
	if (r) {
		irqpath_count(classified);
		level = hold_packet(r, skb, work);
	} else {
		irqpath_count(exempt);
	}
	note_packet(level);
	return level;
}

bool __irqpath_netprio_hold(struct sk_buff *skb)
{
	return hold_or_pass(skb, get_work_level());
}

void __irqpath_netprio_hold_list(struct list_head *head)
{
	unsigned int work = get_work_level();
	struct sk_buff *skb, *next;
	LIST_HEAD(rest);

	list_for_each_entry_safe(skb, next, head, list) {
		skb_list_del_init(skb);
		if (!hold_or_pass(skb, work))
			list_add_tail(&skb->list, &rest);
	}
	list_splice(&rest, head);
}

/**
 * irqpath_forget_polls() - clear the levels that polls refer to
 *
 * Context: no packet is held, and none will be.
 */
void irqpath_forget_polls(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(&polls, cpu), 0, sizeof(struct poll));
}

void __irqpath_napi_begin(struct napi_struct *n)
{
	struct poll *poll = this_cpu_ptr(&polls);

	if (!poll->napi)
		*poll = (struct poll) { .napi = n, .task = current };
}

static bool steers_packets(void)
{
#ifdef CONFIG_RPS
	return static_branch_unlikely(&rps_needed);
#else
	return false;
#endif
}

/*
 * The driver gives packets to its XDP program, so that they are not seen here.
 */
static bool has_xdp(struct net_device *dev)
{
	struct bpf_xdp_entity *entity = &dev->xdp_state[XDP_MODE_DRV];

	return READ_ONCE(entity->prog) || READ_ONCE(entity->link);
}

/*
 * Whoever polls a NAPI of such a device spins until nobody else does, and this
 * poll ends only after the NAPI has joined its level.
 */
static bool has_netpoll(struct net_device *dev)
{
#ifdef CONFIG_NETPOLL
	return rcu_access_pointer(dev->npinfo);
#else
	return false;
#endif
}

/*
 * A NAPI is about to switch its device's interrupt on. If all packets of this
 * poll have to wait, later ones may wait, too: the NAPI stays scheduled.
 */
bool __irqpath_napi_hold(struct napi_struct *n)
{
	struct poll *poll = get_own_poll();

	if (!poll || poll->napi != n || !n->dev || !poll->level || poll->mixed)
		return false;
	/*
	 * These NAPIs are not held: one with its own thread, which would poll
	 * at once; one that cannot be polled elsewhere, as its queues belong to
	 * this CPU (gro_cells); one of a device that the kernel's own messages
	 * use (netpoll); one that is being disabled; one whose packets
	 * GRO keeps, as they must not wait. Nor is any while packets are
	 * steered to other CPUs, where they are not seen here.
	 */
	if (!READ_ONCE(irqpath_napi_hold_us) || !READ_ONCE(irqpath_may_hold) ||
	    irqpath_current_level() ||
	    test_bit(NAPI_STATE_THREADED, &n->state) ||
	    test_bit(NAPI_STATE_NO_BUSY_POLL, &n->state) || has_xdp(n->dev) ||
	    has_netpoll(n->dev) ||
	    napi_disable_pending(n) || irqpath_gro_keeps(n) || steers_packets() ||
	    !list_empty(&n->poll_list) ||
	    !irqpath_must_wait(poll->level->nr, get_work_level()))
		return false;
	/*
	 * The next poll may be on any CPU, so this one must recycle no pages.
	 */
	WRITE_ONCE(n->list_owner, -1);
	poll->hold = true;
	return true;
}

/*
 * A NAPI joins its level when its driver has returned, and not before: a driver
 * that finds that the NAPI did not complete may do more to the device. Nor does
 * it join later, as busy polling may complete it then.
 */
void __irqpath_napi_end(struct napi_struct *n)
{
	struct poll *poll = get_own_poll();
	struct irqpath_level *level;

	if (!poll)
		return;
	level = poll->hold ? poll->level : NULL;
	/* From here on a task that preempts this one may note its own. */
	WRITE_ONCE(poll->napi, NULL);
	if (!level)
		return;
	irqpath_count(kept);
	irqpath_add_napi(level, n);
}
