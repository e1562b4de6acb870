/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Faults on request, and rules of safety that can be suspended: a test of a
 * rule has to fail without it. Both are nothing without CONFIG_IRQPATH_FAULTS.
 */
#ifndef _KERNEL_IRQPATH_FAULTS_H
#define _KERNEL_IRQPATH_FAULTS_H

#include <linux/bits.h>
#include <linux/compiler.h>

/**
 * enum irqpath_rule - bits of /sys/kernel/irqpath/migrate/suspended
 * @IRQPATH_RULE_FORCED: only handlers that were written for hardirqs migrate
 * @IRQPATH_RULE_TOKEN: who has not got the token does not run the handler
 * @IRQPATH_RULE_RUNNER: a handler has one runner at a time
 * @IRQPATH_RULE_UNMASK: a task ends what a line is masked for
 * @IRQPATH_RULE_DRAIN: a line is not quiet while a task runs its handler
 * @IRQPATH_RULE_OWN: the softirqs that the handler raised run in the task
 * @IRQPATH_RULE_FOREIGN: those that others raised do not
 * @IRQPATH_RULE_PRIORITY: a thread is more urgent than the task: it runs
 * @IRQPATH_RULE_FIT: who was demoted or moved since hands the offer back
 * @IRQPATH_RULE_TRACED: who is traced is offered nothing
 * @IRQPATH_RULE_AFFINITY: nor who may not run here
 * @IRQPATH_RULE_ORDER: of several tasks, the most urgent one first
 * @IRQPATH_RULE_INVERSION: lockdep knows that tasks may run handlers
 * @IRQPATH_RULE_OUTRANKED: direct: the running task keeps the CPU if it is as
 *			    urgent
 */
enum irqpath_rule {
	IRQPATH_RULE_FORCED,
	IRQPATH_RULE_TOKEN,
	IRQPATH_RULE_RUNNER,
	IRQPATH_RULE_UNMASK,
	IRQPATH_RULE_DRAIN,
	IRQPATH_RULE_OWN,
	IRQPATH_RULE_FOREIGN,
	IRQPATH_RULE_PRIORITY,
	IRQPATH_RULE_FIT,
	IRQPATH_RULE_TRACED,
	IRQPATH_RULE_AFFINITY,
	IRQPATH_RULE_ORDER,
	IRQPATH_RULE_INVERSION,
	IRQPATH_RULE_OUTRANKED,
	IRQPATH_NR_RULES
};

/*
 * More of them, for irqpath_is_suspended(). As macros they leave no trace in a
 * kernel without CONFIG_IRQPATH_FAULTS, not even in its BTF: it is the same byte
 * for byte, and what was measured on it holds, however many rules are added.
 */

/* Who was offered a handler runs it, even if it is a signal that wakes it up. */
#define IRQPATH_RULE_SIGNAL	IRQPATH_NR_RULES
/* Who sleeps and gets another priority has no place until it parks again. */
#define IRQPATH_RULE_REORDER	(IRQPATH_NR_RULES + 1)
/* What an action has offered goes with it. */
#define IRQPATH_RULE_WITHDRAW	(IRQPATH_NR_RULES + 2)
/* selective: a priority that was set by hand is never touched. */
#define IRQPATH_RULE_BY_HAND	(IRQPATH_NR_RULES + 3)
/* netprio: no packet overtakes those of its receiver that wait. */
#define IRQPATH_RULE_FLOW	(IRQPATH_NR_RULES + 4)
/* Who falls below the thread while it runs its handler is lent its priority. */
#define IRQPATH_RULE_LEND	(IRQPATH_NR_RULES + 5)
/* A priority that was lent to a task is not what handlers are offered for. */
#define IRQPATH_RULE_OWN_PRIO	(IRQPATH_NR_RULES + 6)
/* No rule: selective takes its time between its look at a thread and the change. */
#define IRQPATH_FAULT_SLOW	(IRQPATH_NR_RULES + 7)
#define IRQPATH_ALL_RULES	(BIT(IRQPATH_NR_RULES + 8) - 1)

#ifdef CONFIG_IRQPATH_FAULTS
extern unsigned int irqpath_drop_every;
extern unsigned int irqpath_suspended;
bool irqpath_drops_wakeup(void);
bool irqpath_forgets_offer(void);

/* Whether a rule is in force. */
static inline bool irqpath_rule(unsigned int rule)
{
	return !(READ_ONCE(irqpath_suspended) & BIT(rule));
}

#define irqpath_is_suspended(rule) (!irqpath_rule(rule))
#else
static inline bool irqpath_drops_wakeup(void) { return false; }
static inline bool irqpath_forgets_offer(void) { return false; }
static inline bool irqpath_rule(enum irqpath_rule rule) { return true; }
#define irqpath_is_suspended(rule) false
#endif

#endif /* _KERNEL_IRQPATH_FAULTS_H */
