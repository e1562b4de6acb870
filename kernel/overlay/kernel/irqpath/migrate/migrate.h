/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: migrate, private to kernel/irqpath/.
 *
 * rules.h    the rules that keep migrate safe
 * run.c      tasks park, and run the handlers that they are offered
 * offer.c    a hardirq offers its handler to a parked task
 * handback.c offers that no task takes: the watchdog, and the end of an action
 * sleep.c    the sleeps of the wait sites that take part
 * demux.c    a packet names the task that its interrupt is for
 * las.c      the handler runs before the task's address space is loaded
 *
 * Neither irqpath_task.lock nor irqpath_cpu.lock is taken with the other held.
 * Lock order: irqpath_cpu.lock, then the wait_lock of irqpath_origin.run, then
 * p->pi_lock, then rq->lock.
 */
#ifndef _KERNEL_IRQPATH_MIGRATE_H
#define _KERNEL_IRQPATH_MIGRATE_H

#include <linux/interrupt.h>
#include <linux/sched.h>

#include "../irqpath.h"

/*
 * How many parked tasks of a CPU are looked at with interrupts disabled. More
 * than real-time tasks wait on one CPU, and some microseconds.
 */
#define IRQPATH_PARKED_MAX	64

extern unsigned int irqpath_early_demux;
extern unsigned int irqpath_las;
extern unsigned int irqpath_watchdog_us;

/**
 * irqpath_update_expected() - note which task should run next on a CPU
 * @c: the CPU, whose list of offers has changed
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
 * irqpath_count_mm() - count an address space that is loaded for a handler
 * @t: of the task that runs the handler, with an offer
 */
static inline void irqpath_count_mm(struct irqpath_task *t)
{
	irqpath_count(mm_switched);
	t->offered->mm_switched++;
}

/* The running task, which has parked, need not sleep: it has an offer. */
static inline bool irqpath_has_offer(void)
{
	return READ_ONCE(current->irqpath->state) == IRQPATH_OFFERED;
}

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

bool irqpath_stack_is_deep_enough(void);

bool irqpath_insert_parked(struct irqpath_cpu *c, struct irqpath_task *t);
bool irqpath_park(void);
bool irqpath_unpark(bool may_sleep_on);

bool irqpath_waits_for(const struct irqpath_flow *waits,
		       const struct irqpath_flow *packet);
bool irqpath_peek_flow(struct irqpath_origin *o, struct irqaction *action,
		       struct irqpath_flow *flow);

#ifdef CONFIG_IRQPATH_LAS
DECLARE_STATIC_KEY_FALSE(irqpath_las_key);

bool irqpath_may_be_lazy(const struct task_struct *p);
void irqpath_load_mm(struct irqpath_task *t);
int irqpath_set_las(unsigned int on);

/* The task runs, or will run, without its address space. */
static inline bool irqpath_is_lazy(const struct irqpath_task *t)
{
	return t->lazy;
}
#else
/* Only a task that direct switches to can be lazy. */
static inline bool irqpath_is_lazy(const struct irqpath_task *t)
{
	return false;
}

static inline void irqpath_load_mm(struct irqpath_task *t) { }
#endif

bool irqpath_disarm_task(struct irqpath_task *t);
void irqpath_start_watchdog(struct irqpath_cpu *c);
void irqpath_revoke_offers(void);
void irqpath_withdraw_offers(struct irqpath_origin *o);

#endif /* _KERNEL_IRQPATH_MIGRATE_H */
