// SPDX-License-Identifier: GPL-2.0-only
/*
 * irqpath: rules that tests suspend, and wakeups that they drop. See faults.h.
 */
#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/delay.h>
#include <linux/sched/signal.h>

#include "../sysfs.h"
#ifdef CONFIG_IRQPATH_MIGRATE
#include "../migrate/rules.h"
#endif
#ifdef CONFIG_IRQPATH_DIRECT
#include "../direct/direct.h"
#endif
#ifdef CONFIG_IRQPATH_SELECTIVE
#include "../selective/selective.h"
#endif
#ifdef CONFIG_IRQPATH_NETPRIO
#include "../netprio/netprio.h"
#endif

/**
 * enum rule - bits of /sys/kernel/irqpath/faults/suspended
 * @NR_RULES: how many there are, over all policies
 */
enum rule {
#ifdef CONFIG_IRQPATH_MIGRATE
	/**
	 * @RULE_FORCED: only handlers that were written for hardirqs migrate
	 */
	RULE_FORCED = 0,
	/** @RULE_TOKEN: a task without the token does not run the handler */
	RULE_TOKEN = 1,
	/** @RULE_RUNNER: a handler has one runner at a time */
	RULE_RUNNER = 2,
	/** @RULE_UNMASK: the task unmasks the line */
	RULE_UNMASK = 3,
	/** @RULE_DRAIN: a line is not quiet while a task runs its handler */
	RULE_DRAIN = 4,
	/** @RULE_OWN: the softirqs that the handler raised run in the task */
	RULE_OWN = 5,
	/** @RULE_FOREIGN: softirqs that others raised do not */
	RULE_FOREIGN = 6,
	/**
	 * @RULE_PRIORITY: a thread that is more urgent than the task runs
	 * itself
	 */
	RULE_PRIORITY = 7,
	/**
	 * @RULE_FIT: a task that was demoted or moved since hands the offer
	 * back
	 */
	RULE_FIT = 8,
	/** @RULE_TRACED: a traced task is offered nothing */
	RULE_TRACED = 9,
	/** @RULE_AFFINITY: a task that may not run here is offered nothing */
	RULE_AFFINITY = 10,
	/**
	 * @RULE_ORDER: the most urgent of several tasks is offered the handler
	 */
	RULE_ORDER = 11,
	/** @RULE_INVERSION: lockdep knows that tasks may run handlers */
	RULE_INVERSION = 12,
	/**
	 * @RULE_SIGNAL: a task runs the handler that it was offered even if a
	 * signal woke it
	 */
	RULE_SIGNAL = 14,
	/**
	 * @RULE_REORDER: a sleeping task whose priority changes has no place
	 * until it parks again
	 */
	RULE_REORDER = 15,
	/** @RULE_WITHDRAW: the offers of an action go with it */
	RULE_WITHDRAW = 16,
	/**
	 * @RULE_LEND: a task that falls below the thread while it runs its
	 * handler is lent the thread's priority
	 */
	RULE_LEND = 19,
	/**
	 * @RULE_OWN_PRIO: handlers are offered by a task's own priority, not by
	 * one it was lent
	 */
	RULE_OWN_PRIO = 20,
#endif
#ifdef CONFIG_IRQPATH_DIRECT
	/** @RULE_OUTRANKED: a running task that is as urgent keeps the CPU */
	RULE_OUTRANKED = 13,
#endif
#ifdef CONFIG_IRQPATH_SELECTIVE
	/** @RULE_BY_HAND: a priority that was set by hand is never touched */
	RULE_BY_HAND = 17,
	/** @RULE_THREADS: what serves an urgent thread is urgent */
	RULE_THREADS = 21,
	/**
	 * @FAULT_SLOW: no rule: the worker sleeps between its look at a thread
	 * and the change
	 */
	FAULT_SLOW = 22,
#endif
#ifdef CONFIG_IRQPATH_NETPRIO
	/** @RULE_FLOW: no packet overtakes the waiting ones of its receiver */
	RULE_FLOW = 18,
#endif
	NR_RULES = 23,
};

static unsigned int suspended;

#ifdef CONFIG_IRQPATH_MIGRATE
/* One wakeup of a runner in this many is dropped; 0: none. */
static unsigned int drop_every;
#endif

static bool is_suspended(enum rule rule)
{
	return READ_ONCE(suspended) & BIT(rule);
}

#ifdef CONFIG_IRQPATH_MIGRATE
bool irqpath_may_migrate(const struct irqpath_origin *o)
{
	return __irqpath_may_migrate(o) || is_suspended(RULE_FORCED);
}

void irqpath_touch_handler_lock(struct irqpath_origin *o)
{
	if (!is_suspended(RULE_INVERSION))
		__irqpath_touch_handler_lock(o);
}

bool irqpath_parks_before(const struct irqpath_task *t,
			  const struct irqpath_task *other)
{
	return __irqpath_parks_before(t, other) || is_suspended(RULE_ORDER);
}

void irqpath_leave_place(struct irqpath_task *t)
{
	if (!is_suspended(RULE_REORDER))
		__irqpath_leave_place(t);
}

int irqpath_own_prio(const struct task_struct *p)
{
	return is_suspended(RULE_OWN_PRIO) ? READ_ONCE(p->prio) :
					     __irqpath_own_prio(p);
}

bool irqpath_preempts_thread(const struct task_struct *p,
			     const struct irqaction *action)
{
	return __irqpath_preempts_thread(p, action) ||
	       is_suspended(RULE_PRIORITY);
}

bool irqpath_is_traced(const struct task_struct *p)
{
	return __irqpath_is_traced(p) && !is_suspended(RULE_TRACED);
}

bool irqpath_may_run_here(const struct task_struct *p)
{
	return __irqpath_may_run_here(p) || is_suspended(RULE_AFFINITY);
}

bool irqpath_has_one_token(struct irq_desc *desc)
{
	return __irqpath_has_one_token(desc) || is_suspended(RULE_RUNNER);
}

bool irqpath_has_runner(struct irqpath_origin *o)
{
	return __irqpath_has_runner(o) && !is_suspended(RULE_RUNNER);
}

void irqpath_wake_runner(struct task_struct *p)
{
	static atomic_t nr_wakeups;
	unsigned int every = READ_ONCE(drop_every);

	if (!every || (unsigned int)atomic_inc_return(&nr_wakeups) % every)
		__irqpath_wake_runner(p);
}

/* Without its rule, a task that a signal woke forgets the offer. */
bool irqpath_begin_run(struct irqpath_task *t)
{
	return !(is_suspended(RULE_SIGNAL) && signal_pending(current)) &&
	       __irqpath_begin_run(t);
}

bool irqpath_is_fit(const struct irqpath_task *t)
{
	return __irqpath_is_fit(t) || is_suspended(RULE_FIT);
}

bool irqpath_take_token(struct irqpath_origin *o, struct irqaction *action)
{
	if (!is_suspended(RULE_TOKEN) ||
	    test_bit(IRQTF_RUNTHREAD, &action->thread_flags))
		return __irqpath_take_token(o, action);
	atomic_inc(&o->desc->threads_active);
	return true;
}

/* Without its rule, the line is quiet before the handler runs. */
irqreturn_t irqpath_call_handler(struct irq_desc *desc,
				 struct irqaction *action)
{
	if (is_suspended(RULE_DRAIN))
		__irqpath_end_handler(desc);
	return __irqpath_call_handler(desc, action);
}

void irqpath_end_handler(struct irq_desc *desc)
{
	if (!is_suspended(RULE_DRAIN))
		__irqpath_end_handler(desc);
}

void irqpath_unmask_line(struct irq_desc *desc, struct irqaction *action)
{
	if (!is_suspended(RULE_UNMASK))
		__irqpath_unmask_line(desc, action);
}

u32 irqpath_own_softirqs(const struct irqpath_task *t)
{
	if (is_suspended(RULE_FOREIGN))
		return ~0;
	return is_suspended(RULE_OWN) ? 0 : __irqpath_own_softirqs(t);
}

bool irqpath_must_lend(struct irqpath_origin *o)
{
	return __irqpath_must_lend(o) && !is_suspended(RULE_LEND);
}

void irqpath_end_offers(struct irqpath_origin *o)
{
	if (!is_suspended(RULE_WITHDRAW))
		__irqpath_end_offers(o);
}
#endif

#ifdef CONFIG_IRQPATH_DIRECT
bool irqpath_keeps_cpu(int holder, int prio)
{
	return __irqpath_keeps_cpu(holder, prio) &&
	       !is_suspended(RULE_OUTRANKED);
}
#endif

#ifdef CONFIG_IRQPATH_SELECTIVE
bool irqpath_is_set_by_hand(const struct irqpath_task *t)
{
	return __irqpath_is_set_by_hand(t) && !is_suspended(RULE_BY_HAND);
}

bool irqpath_is_urgent_thread(const struct irqpath_task *t)
{
	return __irqpath_is_urgent_thread(t) && !is_suspended(RULE_THREADS);
}

int irqpath_set_sched(struct task_struct *p, const struct sched_attr *attr)
{
	if (is_suspended(FAULT_SLOW))
		msleep(100);
	return __irqpath_set_sched(p, attr);
}
#endif

#ifdef CONFIG_IRQPATH_NETPRIO
bool irqpath_must_follow(const struct irqpath_receiver *r)
{
	return __irqpath_must_follow(r) && !is_suspended(RULE_FLOW);
}
#endif

#ifdef CONFIG_IRQPATH_MIGRATE
static struct irqpath_setting drop_every_file = {
	.file = IRQPATH_SETTING_FILE(drop_every),
	.value = &drop_every,
	.max = UINT_MAX,
};
#endif

static struct irqpath_setting suspended_file = {
	.file = IRQPATH_SETTING_FILE(suspended),
	.value = &suspended,
	.max = BIT(NR_RULES) - 1,
};

static struct attribute *attrs[] = {
#ifdef CONFIG_IRQPATH_MIGRATE
	&drop_every_file.file.attr,
#endif
	&suspended_file.file.attr,
	NULL,
};

const struct attribute_group irqpath_faults_group = {
	.name = "faults",
	.attrs = attrs,
};
