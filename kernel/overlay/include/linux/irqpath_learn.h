/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: what learning needs to know of tasks, interrupts and wakeups.
 * Included by <linux/irqpath.h>.
 */
#ifndef _LINUX_IRQPATH_LEARN_H
#define _LINUX_IRQPATH_LEARN_H

#include <linux/interrupt.h>
#include <linux/jump_label.h>
#include <linux/sched.h>
#include <linux/sched/rt.h>

struct irq_desc;

#ifdef CONFIG_IRQPATH_LEARN

DECLARE_STATIC_KEY_FALSE(irqpath_learn_key);

/* The life of tasks and actions. Always on, but on no fast path. */
void irqpath_fork(struct task_struct *p);
void irqpath_exit(struct task_struct *p);
void irqpath_task_free(struct task_struct *p);
void irqpath_learn_setscheduler(struct task_struct *p);
void irqpath_action_add(struct irq_desc *desc, struct irqaction *action);
void irqpath_action_del(struct irqaction *action);

void __irqpath_learn_wakeup(struct task_struct *p);
irqreturn_t __irqpath_run_hardirq(struct irqaction *action, unsigned int irq);
void __irqpath_note_raise(unsigned int nr);
void __irqpath_run_softirq(struct softirq_action *h, unsigned int nr);

/**
 * irqpath_learn_wakeup() - learn from a wakeup
 * @p: the task that is being woken, its state matched
 *
 * Context: try_to_wake_up(), preemption disabled.
 */
static inline void irqpath_learn_wakeup(struct task_struct *p)
{
	if (static_branch_unlikely(&irqpath_learn_key) &&
	    (rt_or_dl_prio(p->normal_prio) || p->flags & PF_KTHREAD))
		__irqpath_learn_wakeup(p);
}

/**
 * irqpath_run_hardirq() - call a hardirq handler
 * @action: its action
 * @irq: the line
 *
 * Return: the handler's return value.
 */
static inline irqreturn_t irqpath_run_hardirq(struct irqaction *action,
					      unsigned int irq)
{
	if (static_branch_unlikely(&irqpath_learn_key))
		return __irqpath_run_hardirq(action, irq);
	return action->handler(irq, action->dev_id);
}

/* Context: interrupts disabled. */
static inline void irqpath_note_raise(unsigned int nr)
{
	if (static_branch_unlikely(&irqpath_learn_key))
		__irqpath_note_raise(nr);
}

static inline void irqpath_run_softirq(struct softirq_action *h,
				       unsigned int nr)
{
	if (static_branch_unlikely(&irqpath_learn_key))
		__irqpath_run_softirq(h, nr);
	else
		h->action();
}

#else /* !CONFIG_IRQPATH_LEARN */

/* Macros where <linux/irqpath.h> says why. */
#define irqpath_learn_wakeup(p) ((void)(p))
#define irqpath_run_hardirq(action, irq) \
	((action)->handler(irq, (action)->dev_id))
#define irqpath_run_softirq(h, nr) ((void)(nr), (h)->action())

static inline void irqpath_fork(struct task_struct *p) { }
static inline void irqpath_exit(struct task_struct *p) { }
static inline void irqpath_task_free(struct task_struct *p) { }
static inline void irqpath_learn_setscheduler(struct task_struct *p) { }
static inline void irqpath_action_add(struct irq_desc *desc,
				      struct irqaction *action) { }
static inline void irqpath_action_del(struct irqaction *action) { }
static inline void irqpath_note_raise(unsigned int nr) { }

#endif /* CONFIG_IRQPATH_LEARN */

#endif /* _LINUX_IRQPATH_LEARN_H */
