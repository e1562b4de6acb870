/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath, private to kernel/irqpath/. The rest of the kernel includes
 * <linux/irqpath.h>.
 *
 * origin.c   what work can come from: one per irqaction; which one this
 *            context works for
 * assoc.c    which origins wake which real-time task
 * migrate.c  tasks park, and run the handlers that they are offered
 * offer.c    a hardirq offers its handler
 * sleep.c    the sleeps of wait sites that take part
 * demux.c    packets name the task that their interrupt is for
 * las.c      the handler runs before the task's address space is loaded
 * faults.h   what tests break on purpose
 * handback.c offers that are not taken: the watchdog, and the end of an action
 * direct.c   from a hardirq to the task that it woke, past the run queue
 * sched.c    the scheduler calls what of this it has to
 * selective.c interrupts that serve no real-time task are ordinary work
 * netprio*.c received packets in the order of their receivers' priorities
 * show.c     what of a task a reader is shown
 * proc.c     /proc/irq/N/irqpath_target, associations made by hand
 * sysfs*.c   /sys/kernel/irqpath
 *
 * An origin is never freed, only reused: a stale pointer to one can name the
 * wrong interrupt, which is a misprediction, but never free memory.
 *
 * Lock order: irqpath_cpu.lock, then the wait_lock of irqpath_origin.run, then
 * p->pi_lock, then rq->lock. Neither irqpath_task.lock nor irqpath_cpu.lock is
 * taken with the other held.
 */
#ifndef _KERNEL_IRQPATH_H
#define _KERNEL_IRQPATH_H

#include <linux/hrtimer.h>
#include <linux/irqpath.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/rtmutex.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "faults.h"

/* Associations that a task can have at a time. */
#define IRQPATH_NR_SLOTS	4

/* Trust in an association: so many mispredictions in a row end the offers. */
#define IRQPATH_CREDIT_MAX	16
#define IRQPATH_CREDIT_START	8
#define IRQPATH_CREDIT_GAIN	4

/* Room for a name that is shown, each byte as a backslash and three digits. */
#define IRQPATH_SHOWN_NAME	(4 * TASK_COMM_LEN)

/* Interrupt numbers that the lists of selective can hold. */
#define IRQPATH_NR_LISTED	4096

/**
 * struct irqpath_origin - one irqaction, as what work comes from
 * @node: in the list of all
 * @action: NULL while it belongs to none
 * @desc: the line of @action
 * @irq: its number
 * @forced: the action's handler is a forced thread's
 * @name: of the action, cut
 * @has_file: /proc/irq/N/irqpath_target of the line is this origin's
 * @peek: looks at the packet behind the interrupt, or NULL
 * @run: held by the task that runs the handler in the thread's place; the
 *	 thread waits for it, and so lends the task its priority
 * @nr_targets: associations that name this origin
 * @quiet: activations since the last wakeup of a real-time task
 * @key: lockdep class of @map
 * @map: held while the handler runs, in the thread and in a task; touched
 *	 where tasks park: an inversion shows without a migration
 */
struct irqpath_origin {
	struct list_head	node;
	struct irqaction	*action;
	struct irq_desc		*desc;
	unsigned int		irq;
	bool			forced;
	char			name[TASK_COMM_LEN];
	bool			has_file;
	irqpath_peek_t		peek;
	struct rt_mutex		run;
	atomic_t		nr_targets;
	unsigned int		quiet;
#ifdef CONFIG_LOCKDEP
	struct lock_class_key	key;
	struct lockdep_map	map;
#endif
};

/**
 * struct irqpath_slot - one association
 * @origin: NULL if the slot is free
 * @hits: wakeups of the task by this origin
 * @runs: handlers that the task ran for this origin
 * @misses: of these, those that did not wake the task
 * @mm_switched: address spaces loaded for these handlers' sake
 * @last: jiffies of the last hit
 * @credit: trust, see irqpath_credit()
 * @indirect: at the last hit it was a thread that woke the task, one that the
 *	      origin set going: running the handler would not have done it
 * @pinned: made by hand, see proc.c: is not forgotten, and keeps its trust
 *
 * Written under irqpath_task.lock, but for the counters, which may lose one.
 */
struct irqpath_slot {
	struct irqpath_origin	*origin;
	unsigned long		hits;
	unsigned long		runs;
	unsigned long		misses;
	unsigned long		mm_switched;
	unsigned long		last;
	unsigned int		credit;
	bool			indirect;
	bool			pinned;
};

/* Whether the handler by itself wakes the task, as far as is known. */
static inline bool irqpath_handler_wakes(const struct irqpath_slot *slot)
{
	return !slot->indirect || slot->pinned;
}

/* What a reader is shown as trust: what counts when a handler is offered. */
static inline unsigned int irqpath_trust(const struct irqpath_slot *slot)
{
	return irqpath_handler_wakes(slot) ? slot->credit : 0;
}

/* Whether the handler can run in a task at all. */
static inline bool irqpath_may_migrate(const struct irqpath_origin *o)
{
	return o->forced || !irqpath_rule(IRQPATH_RULE_FORCED);
}

enum irqpath_state {
	IRQPATH_IDLE,
	IRQPATH_PARKED,		/* in irqpath_cpu.parked */
	IRQPATH_OFFERED,	/* in irqpath_cpu.offered, woken */
	IRQPATH_REVOKED,	/* too late, the thread was woken */
};

/**
 * struct irqpath_task - what irqpath knows about a real-time task, or a thread
 *			 of the kernel
 * @task: back pointer
 * @origin: what the task works for now: an irq thread always for its line, a
 *	    task while it runs a handler
 * @woken_for: what woke a thread of the kernel last, which it works for until
 *	       it is woken again; NULL for what no interrupt set going
 * @lock: protects @slot
 * @slot: associations
 * @node: in a list of irqpath_cpu, as @state says
 * @cpu: whose list; set when the task parks
 * @state: enum irqpath_state
 * @sleep_state: the task's state when it parked
 * @offered: the association behind the offer
 * @from: the origin that is offered; @offered may be given to another one
 * @action: the action that is offered
 * @flow: of the socket that the task waits for
 * @lazy: runs without its address space, see las.c; written while the task
 *	  sleeps with p->pi_lock held, and by the task itself
 * @own_softirqs: vectors that the running handler raised
 * @demoted: an interrupt's thread that selective has made an ordinary task
 * @set_by_hand: an interrupt's thread whose priority the administrator chose
 *
 * The last two are written with the lock of the task's run queue held.
 *
 * @node to @action, and @flow of a parked task, are protected by
 * irqpath_cpu.lock of @cpu; only the task itself leaves IRQPATH_IDLE or
 * changes @cpu.
 */
struct irqpath_task {
	struct task_struct	*task;
	struct irqpath_origin	*origin;
	struct irqpath_origin	*woken_for;
	raw_spinlock_t		lock;
	struct irqpath_slot	slot[IRQPATH_NR_SLOTS];
	struct list_head	node;
	int			cpu;
	enum irqpath_state	state;
	unsigned int		sleep_state;
	struct irqpath_slot	*offered;
	struct irqpath_origin	*from;
	struct irqaction	*action;
	struct irqpath_flow	flow;
	bool			lazy;
	u32			own_softirqs;
	bool			demoted;
	bool			set_by_hand;
};

/**
 * struct irqpath_stats - counters of one CPU, in the order of the sysfs files
 * @learned: associations made
 * @offered: handlers offered to a parked task
 * @demuxed: of these, those whose packet named the task
 * @migrated: handlers that a task ran
 * @mispredicted: of these, those that did not
 * @lazy: handlers that a task ran without its address space
 * @mm_switched: address spaces loaded for a handler's sake, before it or, if
 *		 lazy, after it
 * @lost: offers that the irq thread took first
 * @elsewhere: offers that the task handed back, as it met them on another CPU
 *	       or was below the thread by then
 * @lent: times that a thread waited for the task that ran its handler
 * @rescued: offers that the watchdog took back
 * @promoted: interrupts' threads that became real-time again
 * @demoted: interrupts' threads that became ordinary tasks
 * @exempt: received packets without a receiver, while there was work to protect
 * @classified: those with one
 * @passed: of these, those that went on at once
 * @held: those that were queued
 * @dropped: those for which there was no room
 * @served: held packets, by a thread of their receiver's priority
 * @expired: held packets, by the guard
 * @purged: held packets, dropped with their device
 * @kept: times that a NAPI was held
 * @switched: tasks that a hardirq switched to directly
 * @overtaken: tasks that were queued before they could run, since someone else
 *	       took the lock of the queue
 * @busy: wakeups not done directly, since a switch was pending already
 * @outranked: the same, since the running task outranks the woken one
 * @remote: the same, since the woken task may not or need not run here
 * @unfit: the same, since the running task cannot be left in its queue
 * @blocked: the same, since the woken one would wait for softirqs at once
 */
struct irqpath_stats {
	unsigned long learned;
	unsigned long offered;
	unsigned long demuxed;
	unsigned long migrated;
	unsigned long mispredicted;
	unsigned long lazy;
	unsigned long mm_switched;
	unsigned long lost;
	unsigned long elsewhere;
	unsigned long lent;
	unsigned long rescued;
	unsigned long promoted;
	unsigned long demoted;
	unsigned long exempt;
	unsigned long classified;
	unsigned long passed;
	unsigned long held;
	unsigned long dropped;
	unsigned long served;
	unsigned long expired;
	unsigned long purged;
	unsigned long kept;
	unsigned long switched;
	unsigned long overtaken;
	unsigned long busy;
	unsigned long outranked;
	unsigned long remote;
	unsigned long unfit;
	unsigned long blocked;
};

/**
 * struct irqpath_cpu - state of one CPU
 * @lock: protects the lists and the parking state of the tasks on them
 * @parked: tasks that wait here, the highest priority first
 * @offered: tasks that were woken to run a handler and have not begun
 * @expected: the task that should run next; read by the scheduler without lock
 * @watchdog: wakes the threads of offers that are not taken
 * @hardirq: origin of the running hardirq handler
 * @softirq: origin of the running softirq vector
 * @predicting: the wakeup in progress is a prediction, nothing to learn from
 * @vector: origin of each pending softirq vector
 * @stats: counters
 */
struct irqpath_cpu {
	raw_spinlock_t		lock;
	struct list_head	parked;
	struct list_head	offered;
	struct task_struct	*expected;
	struct hrtimer		watchdog;
	struct irqpath_origin	*hardirq;
	struct irqpath_origin	*softirq;
	bool			predicting;
	struct irqpath_origin	*vector[NR_SOFTIRQS];
	struct irqpath_stats	stats;
};

DECLARE_PER_CPU(struct irqpath_cpu, irqpath_cpus);

extern unsigned int irqpath_early_demux;
extern unsigned int irqpath_las;
extern unsigned int irqpath_watchdog_us;
extern unsigned int irqpath_quiet;
extern unsigned long irqpath_allowed[], irqpath_denied[];

#define irqpath_count(what) this_cpu_inc(irqpath_cpus.stats.what)

/**
 * irqpath_current_origin() - what this context works for
 *
 * Context: preemption disabled.
 * Return: an origin, which may have lost its action meanwhile, or NULL.
 */
static inline struct irqpath_origin *irqpath_current_origin(void)
{
	struct irqpath_task *t = current->irqpath;

	if (in_task())
		return t ? t->origin ?: t->woken_for : NULL;
	if (in_nmi())
		return NULL;
	if (in_hardirq())
		return this_cpu_read(irqpath_cpus.hardirq);
	return this_cpu_read(irqpath_cpus.softirq);
}

/**
 * irqpath_was_set_going() - whether the handler ends before this context begins
 *
 * Context: as irqpath_current_origin(), which has found one.
 * Return: true in a thread that the origin's handler only woke.
 */
static inline bool irqpath_was_set_going(void)
{
	return in_task() && !current->irqpath->origin;
}

/**
 * irqpath_update_expected() - the lists of a CPU have changed
 * @c: the CPU
 */
static inline void irqpath_update_expected(struct irqpath_cpu *c)
{
	struct irqpath_task *t;

	lockdep_assert_held(&c->lock);

	t = list_first_entry_or_null(&c->offered, struct irqpath_task, node);
	WRITE_ONCE(c->expected, t ? t->task : NULL);
}

static inline bool irqpath_is_fifo_or_rr(const struct task_struct *p)
{
	return p->policy == SCHED_FIFO || p->policy == SCHED_RR;
}

/**
 * irqpath_count_mm() - an address space is loaded for a handler's sake
 * @t: of the task that runs it, with an offer
 */
static inline void irqpath_count_mm(struct irqpath_task *t)
{
	irqpath_count(mm_switched);
	t->offered->mm_switched++;
}

/**
 * irqpath_outranks() - whether a task may run a handler in its thread's place
 * @p: the task
 * @action: with a thread
 *
 * By its own priority: one that was lent to it may be taken back while it runs
 * the handler. A task that shares its slice with its equals has to be above
 * the thread, which does not.
 */
static inline bool irqpath_outranks(const struct task_struct *p,
				    const struct irqaction *action)
{
	int thread = READ_ONCE(action->thread->normal_prio);
	int prio = READ_ONCE(p->normal_prio);

	if (irqpath_is_suspended(IRQPATH_RULE_OWN_PRIO))
		prio = READ_ONCE(p->prio);
	return rt_or_dl_prio(prio) && prio <= thread - (p->policy == SCHED_RR);
}

/* Whether a task runs the handler of an origin. */
static inline bool irqpath_has_runner(struct irqpath_origin *o)
{
	return rt_mutex_base_is_locked(&o->run.rtmutex) &&
	       irqpath_rule(IRQPATH_RULE_RUNNER);
}

bool irqpath_stack_is_deep_enough(void);

typedef void (*irqpath_visit_t)(struct irqpath_origin *o);

void irqpath_visit_actions(irqpath_visit_t visit);
void irqpath_forget_raised(void);
struct irqpath_origin *irqpath_origin_of(unsigned int irq);
pid_t irqpath_visible_pid(struct task_struct *p);
void irqpath_escape_name(char *shown, size_t size, const char *name);
bool irqpath_proc_add(struct irq_desc *desc, unsigned int irq);
void irqpath_proc_del(struct irq_desc *desc);
int irqpath_pin(struct task_struct *p, struct irqpath_origin *o, bool pinned);
void irqpath_origin_set_peek(unsigned int irq, void *dev_id,
			     irqpath_peek_t peek);
bool irqpath_waits_for(const struct irqpath_flow *waits,
		       const struct irqpath_flow *packet);
bool irqpath_peek(struct irqpath_origin *o, struct irqaction *action,
		  struct irqpath_flow *flow);
void irqpath_forget_origin(struct irqpath_origin *o);
struct irqpath_task *irqpath_task_get(struct task_struct *p, gfp_t gfp);
struct irqpath_slot *irqpath_slot_pick(struct irqpath_slot *slots,
				       unsigned long now);
unsigned int irqpath_credit(unsigned int credit, bool woke);
bool irqpath_serves(unsigned int nr_targets, unsigned int quiet,
		    unsigned int limit, bool allowed, bool denied);
void irqpath_select(void);
int irqpath_quiet_set(unsigned int quiet);
bool irqpath_park(void);
bool irqpath_unpark(bool may_sleep_on);
void irqpath_sched_hold(void);
void irqpath_sched_release(void);
int irqpath_direct_start(void);
void irqpath_direct_stop(void);
int irqpath_selective_start(void);
void irqpath_selective_stop(void);
bool irqpath_disarm(struct irqpath_task *t);
void irqpath_own_mm(struct irqpath_task *t);
int irqpath_las_set(unsigned int on);
void irqpath_watch(struct irqpath_cpu *c);
void irqpath_revoke_offers(void);
void irqpath_withdraw(struct irqpath_origin *o);

#ifdef CONFIG_LOCKDEP
static inline void irqpath_map_acquire(struct irqpath_origin *o)
{
	lock_map_acquire(&o->map);
}

static inline void irqpath_map_release(struct irqpath_origin *o)
{
	lock_map_release(&o->map);
}
#else
static inline void irqpath_map_acquire(struct irqpath_origin *o) { }
static inline void irqpath_map_release(struct irqpath_origin *o) { }
#endif

#endif /* _KERNEL_IRQPATH_H */
