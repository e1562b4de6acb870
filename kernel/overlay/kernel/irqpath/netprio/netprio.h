/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: netprio, private to kernel/irqpath/.
 *
 * hold.c     which packets are held, and in which level's queue
 * flow.c     whose packet it is: from the headers to the socket
 * receiver.c which tasks use a socket
 * queue.c    the queues of held packets, and their places in the levels
 * serve.c    the threads of the levels, which serve the packets
 * guard.c    the thread that serves packets that have waited for too long
 * napi.c     the held NAPIs, and the threads that poll them
 * level.c    levels come and go; the policy's switch
 *
 * A level is a priority as in task_struct.prio: 0 is the highest real-time one.
 * All ordinary tasks are one level, the last.
 *
 * Lock order: irqpath_receiver.lock, then irqpath_level.lock. Both are taken
 * with bottom halves disabled or by threads that hold nothing else.
 */
#ifndef _KERNEL_IRQPATH_NETPRIO_H
#define _KERNEL_IRQPATH_NETPRIO_H

#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/refcount.h>
#include <linux/sched/rt.h>
#include <linux/skbuff.h>
#include <linux/timerqueue.h>

#include "../faults.h"
#include "../irqpath.h"
#include "compat.h"

/* Receivers that a socket can have; of more, the lowest are left out. */
#define IRQPATH_NR_RECEIVERS	4

#define IRQPATH_LEVEL_ORDINARY	MAX_RT_PRIO
#define IRQPATH_NR_LEVELS	(MAX_RT_PRIO + 1)
/* Below all others: the level of a socket without a receiver. */
#define IRQPATH_LEVEL_NONE	IRQPATH_NR_LEVELS

struct irqpath_level;
struct napi_struct;

/**
 * struct irqpath_receiver - the tasks that receive from a socket
 * @refs: references of the socket and of each held packet
 * @lock: protects the rest
 * @pid: the tasks; those that have ended do not count
 * @queue: packets for the socket, in the order in which they came
 * @nr_held: these, and the one that is being served
 * @where: the level, while @nr_held; its lock protects @node, @age and @pass
 * @node: in the level's list
 * @age: when the oldest packet came, CLOCK_MONOTONIC, in the level's queue
 * @pass: the last pass of __irqpath_netprio_sort() that saw it
 * @serving: held by the thread that serves the packets; keeps their order, and
 *	     lends that thread the priority of those who wait for it
 * @rcu: frees it
 */
struct irqpath_receiver {
	refcount_t		refs;
	raw_spinlock_t		lock;
	struct pid		*pid[IRQPATH_NR_RECEIVERS];
	struct sk_buff_head	queue;
	unsigned int		nr_held;
	struct irqpath_level	*where;
	struct list_head	node;
	struct timerqueue_node	age;
	u64			pass;
	struct mutex		serving; /* one thread at a time */
	struct rcu_head		rcu;
};

/**
 * struct irqpath_level - packets for the receivers of one priority
 * @nr: the priority
 * @lock: protects @receivers, @ages, @nr_held, @napis and @polling
 * @receivers: those for which packets wait or are being served, the next one
 *	       first
 * @ages: the same, the one with the oldest packet first
 * @nr_held: their packets
 * @polls: held by the thread that polls a NAPI, and lends it the priority of
 *	   those who wait for it
 * @thread: serves the packets, and has the priority
 * @napis: NAPIs whose last packets all wait; they stay scheduled, which keeps
 *	   the interrupts of their devices off
 * @polling: one NAPI is being polled, and not in the list
 * @limit: expires when the first packet may have waited for too long
 * @due: @limit has expired, and the guard has not run
 * @napi_limit: expires when the NAPIs have waited for too long
 * @napi_due: @napi_limit has expired, and the guard has not run
 */
struct irqpath_level {
	unsigned int		nr;
	raw_spinlock_t		lock;
	struct list_head	receivers;
	struct timerqueue_head	ages;
	unsigned int		nr_held;
	struct mutex		polls; /* one thread at a time */
	struct task_struct	*thread;
	struct list_head	napis;
	bool			polling;
	struct hrtimer		limit;
	bool			due;
	struct hrtimer		napi_limit;
	bool			napi_due;
};

/**
 * struct irqpath_held - the control block of a held packet
 * @receiver: its receivers, with a reference
 * @since: when it came, CLOCK_MONOTONIC
 */
struct irqpath_held {
	struct irqpath_receiver	*receiver;
	ktime_t			since;
};

static inline struct irqpath_held *irqpath_held(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct irqpath_held) > sizeof(skb->cb));
	return (struct irqpath_held *)skb->cb;
}

extern struct irqpath_level *irqpath_levels[];
extern unsigned int irqpath_max_hold_us;
extern unsigned int irqpath_napi_hold_us;
extern unsigned int irqpath_queue_limit;
extern bool irqpath_may_hold;
extern bool irqpath_may_follow;
extern atomic_t irqpath_nr_held;

/* No packet overtakes those of its receiver that wait or are being served. */
static inline bool __irqpath_must_follow(const struct irqpath_receiver *r)
{
	return r->nr_held && READ_ONCE(irqpath_may_follow);
}

/* hold.c */
unsigned int irqpath_prio_to_level(int prio);
void irqpath_forget_polls(void);
bool irqpath_must_wait(unsigned int receiver, unsigned int work);

/* flow.c */
struct irqpath_receiver *irqpath_find_receiver(struct sk_buff *skb);

/* receiver.c */
unsigned int irqpath_get_receiver_level(struct irqpath_receiver *r);
void irqpath_receiver_put(struct irqpath_receiver *r);

/* level.c */
struct irqpath_level *irqpath_get_level(unsigned int nr);
int irqpath_set_max_hold(unsigned int us);
int irqpath_set_napi_hold(unsigned int us);
int irqpath_netprio_start(void);
void irqpath_netprio_stop(void);

/* queue.c */
bool irqpath_has_room(unsigned int nr, unsigned int total, unsigned int limit);
bool irqpath_queue_packet(struct irqpath_receiver *r,
			  struct irqpath_level *level, struct sk_buff *skb);
void irqpath_move_receiver(struct irqpath_receiver *r,
			   struct irqpath_level *level);
struct irqpath_level *irqpath_find_place(struct irqpath_receiver *r);
struct irqpath_receiver *irqpath_next_receiver(struct irqpath_level *level);
struct irqpath_receiver *irqpath_oldest_receiver(struct irqpath_level *level,
						 ktime_t *since);
struct sk_buff *irqpath_take_packet(struct irqpath_receiver *r);
void irqpath_end_held(struct irqpath_receiver *r);
void irqpath_keep_places(bool keep);

/* serve.c */
void irqpath_kick_level(struct irqpath_level *level);
unsigned int irqpath_serve_receiver(struct irqpath_receiver *r,
				    unsigned int max, bool expired);
void irqpath_flush_level(struct irqpath_level *level);
struct irqpath_level *irqpath_current_level(void);
int irqpath_start_level(struct irqpath_level *level);
void irqpath_stop_level(struct irqpath_level *level);
bool irqpath_drain_level(struct irqpath_level *level);
bool irqpath_holds_any(void);

/* guard.c */
u64 irqpath_get_rest_ns(u64 since_ns, u64 now_ns, u64 limit_ns);
void irqpath_restart_limit(struct irqpath_level *level);
enum hrtimer_restart irqpath_expire_limit(struct hrtimer *timer);
int irqpath_start_guard(void);
void irqpath_wake_guard(void);
void irqpath_stop_guard(void);

/* napi.c */
void irqpath_hasten_napis(void);
void irqpath_add_napi(struct irqpath_level *level, struct napi_struct *n);
bool irqpath_poll_level(struct irqpath_level *level);
void irqpath_restart_napi_limit(struct irqpath_level *level);
enum hrtimer_restart irqpath_expire_napi_limit(struct hrtimer *timer);
void irqpath_poll_napis(struct irqpath_level *level);
bool irqpath_holds_napis(void);

/* Start a timer of a level, unless there is no limit. */
static inline void irqpath_start_timer(struct hrtimer *timer, u64 rest_ns)
{
	if (rest_ns)
		hrtimer_start(timer, ns_to_ktime(rest_ns),
			      HRTIMER_MODE_REL_HARD);
}

#endif /* _KERNEL_IRQPATH_NETPRIO_H */
