// SPDX-License-Identifier: GPL-2.0-only
/*
 * irqpath: rules that tests suspend, and wakeups that they drop. See faults.h.
 */
#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/delay.h>
#include <linux/sched/signal.h>

#include "direct/direct.h"
#include "migrate/rules.h"
#include "netprio/netprio.h"
#include "selective/selective.h"
#include "sysfs.h"

/**
 * enum rule - bits of /sys/kernel/irqpath/migrate/suspended
 * @RULE_FORCED: only handlers that were written for hardirqs migrate
 * @RULE_TOKEN: a task without the token does not run the handler
 * @RULE_RUNNER: a handler has one runner at a time
 * @RULE_UNMASK: the task unmasks the line
 * @RULE_DRAIN: a line is not quiet while a task runs its handler
 * @RULE_OWN: the softirqs that the handler raised run in the task
 * @RULE_FOREIGN: softirqs that others raised do not
 * @RULE_PRIORITY: a thread that is more urgent than the task runs itself
 * @RULE_FIT: a task that was demoted or moved since hands the offer back
 * @RULE_TRACED: a traced task is offered nothing
 * @RULE_AFFINITY: a task that may not run here is offered nothing
 * @RULE_ORDER: the most urgent of several tasks is offered the handler
 * @RULE_INVERSION: lockdep knows that tasks may run handlers
 * @RULE_OUTRANKED: direct: a running task that is as urgent keeps the CPU
 * @RULE_SIGNAL: a task runs the handler that it was offered even if a signal
 *		 woke it
 * @RULE_REORDER: a sleeping task whose priority changes has no place until it
 *		  parks again
 * @RULE_WITHDRAW: the offers of an action go with it
 * @RULE_BY_HAND: selective: a priority that was set by hand is never touched
 * @RULE_FLOW: netprio: no packet overtakes the waiting ones of its receiver
 * @RULE_LEND: a task that falls below the thread while it runs its handler is
 *	       lent the thread's priority
 * @RULE_OWN_PRIO: handlers are offered by a task's own priority, not by one
 *		   it was lent
 * @RULE_THREADS: selective: what serves an urgent thread is urgent
 * @FAULT_SLOW: no rule: selective sleeps between its look at a thread and the
 *		change
 */
enum rule {
	RULE_FORCED,
	RULE_TOKEN,
	RULE_RUNNER,
	RULE_UNMASK,
	RULE_DRAIN,
	RULE_OWN,
	RULE_FOREIGN,
	RULE_PRIORITY,
	RULE_FIT,
	RULE_TRACED,
	RULE_AFFINITY,
	RULE_ORDER,
	RULE_INVERSION,
	RULE_OUTRANKED,
	RULE_SIGNAL,
	RULE_REORDER,
	RULE_WITHDRAW,
	RULE_BY_HAND,
	RULE_FLOW,
	RULE_LEND,
	RULE_OWN_PRIO,
	RULE_THREADS,
	FAULT_SLOW,
	NR_RULES
};

static unsigned int suspended;

/* One wakeup of a runner in this many is dropped; 0: none. */
static unsigned int drop_every;

static bool is_suspended(enum rule rule)
{
	return READ_ONCE(suspended) & BIT(rule);
}

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

bool irqpath_keeps_cpu(int holder, int prio)
{
	return __irqpath_keeps_cpu(holder, prio) &&
	       !is_suspended(RULE_OUTRANKED);
}

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

#ifdef CONFIG_IRQPATH_NETPRIO
bool irqpath_must_follow(const struct irqpath_receiver *r)
{
	return __irqpath_must_follow(r) && !is_suspended(RULE_FLOW);
}
#endif

static struct irqpath_setting drop_every_file = {
	.file = IRQPATH_SETTING_FILE(drop_every),
	.value = &drop_every,
	.max = UINT_MAX,
};

static struct irqpath_setting suspended_file = {
	.file = IRQPATH_SETTING_FILE(suspended),
	.value = &suspended,
	.max = BIT(NR_RULES) - 1,
};

static struct attribute *attrs[] = {
	&drop_every_file.file.attr,
	&suspended_file.file.attr,
	NULL,
};

static const struct attribute_group group = {
	.name = "migrate",
	.attrs = attrs,
};

int irqpath_add_fault_files(struct kobject *root)
{
	return sysfs_merge_group(root, &group);
}
