/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: associations, private to kernel/irqpath/. See assoc.c.
 */
#ifndef _KERNEL_IRQPATH_ASSOC_H
#define _KERNEL_IRQPATH_ASSOC_H

#include <linux/sched.h>

#include "origin.h"

struct irqpath_task;

/* Associations that a task can have at a time. */
#define IRQPATH_NR_SLOTS	4

/* Trust in an association: that many mispredictions in a row end the offers. */
#define IRQPATH_CREDIT_MAX	16
#define IRQPATH_CREDIT_START	8
#define IRQPATH_CREDIT_GAIN	4

/* Handlers that a task may run for others until one of this origin wakes it. */
#define IRQPATH_STAND_INS_MAX	64

/**
 * struct irqpath_slot - one association
 * @origin: NULL if the slot is free
 * @hits: wakeups of the task by this origin
 * @runs: handlers that the task ran for this origin
 * @misses: of these, those that did not wake the task
 * @mm_switched: address spaces loaded for these handlers
 * @last: jiffies of the last hit
 * @credit: trust, see irqpath_update_credit()
 * @stand_ins: offers to run the handler in place of a thread that has to wait,
 *	       since the last hit
 * @indirect: at the last hit a thread woke the task, and the handler only woke
 *	      that thread: running the handler would not have woken the task
 * @pinned: made by hand, see proc.c: is not replaced, and keeps its trust
 *
 * Written under irqpath_task.lock, except for the counters, which may lose an
 * event.
 */
struct irqpath_slot {
	struct irqpath_origin	*origin;
	unsigned long		hits;
	unsigned long		runs;
	unsigned long		misses;
	unsigned long		mm_switched;
	unsigned long		last;
	unsigned int		credit;
	unsigned int		stand_ins;
	bool			indirect;
	bool			pinned;
};

/* The handler itself wakes the task, as far as is known. */
static inline bool irqpath_handler_wakes(const struct irqpath_slot *slot)
{
	return !slot->indirect || slot->pinned;
}

/* The trust that counts when a handler is offered, and that files show. */
static inline unsigned int irqpath_get_trust(const struct irqpath_slot *slot)
{
	return irqpath_handler_wakes(slot) ? slot->credit : 0;
}

struct irqpath_slot *irqpath_pick_slot(struct irqpath_slot *slots,
				       unsigned long now);
unsigned int irqpath_update_credit(unsigned int credit, bool woke);
int irqpath_pin(struct task_struct *p, struct irqpath_origin *o, bool pinned);
void irqpath_forget_origin(struct irqpath_origin *o);
struct irqpath_task *irqpath_get_task(struct task_struct *p, gfp_t gfp);

#endif /* _KERNEL_IRQPATH_ASSOC_H */
