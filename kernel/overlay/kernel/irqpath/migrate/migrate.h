/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: migrate, private to kernel/irqpath/.
 *
 * run.c      tasks park, and run the handlers that they are offered
 * offer.c    a hardirq offers its handler to a parked task
 * handback.c offers that no task takes: the watchdog, and the end of an action
 * sleep.c    the sleeps of the wait sites that take part
 * demux.c    a packet names the task that its interrupt is for
 * las.c      the handler runs before the task's address space is loaded
 *
 * Lock order: irqpath_cpu.lock, then the wait_lock of irqpath_origin.run, then
 * p->pi_lock, then rq->lock.
 */
#ifndef _KERNEL_IRQPATH_MIGRATE_H
#define _KERNEL_IRQPATH_MIGRATE_H

#include <linux/interrupt.h>
#include <linux/rtmutex.h>
#include <linux/sched.h>
#include <linux/sched/rt.h>

#include "../irqpath.h"

extern unsigned int irqpath_early_demux;
extern unsigned int irqpath_las;
extern unsigned int irqpath_watchdog_us;

/* Whether the handler can run in a task at all. */
static inline bool irqpath_may_migrate(const struct irqpath_origin *o)
{
	return o->forced || !irqpath_rule(IRQPATH_RULE_FORCED);
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

bool irqpath_park(void);
bool irqpath_unpark(bool may_sleep_on);

bool irqpath_waits_for(const struct irqpath_flow *waits,
		       const struct irqpath_flow *packet);
bool irqpath_peek(struct irqpath_origin *o, struct irqaction *action,
		  struct irqpath_flow *flow);

void irqpath_own_mm(struct irqpath_task *t);
int irqpath_las_set(unsigned int on);

bool irqpath_disarm(struct irqpath_task *t);
void irqpath_watch(struct irqpath_cpu *c);
void irqpath_revoke_offers(void);
void irqpath_withdraw(struct irqpath_origin *o);

#endif /* _KERNEL_IRQPATH_MIGRATE_H */
