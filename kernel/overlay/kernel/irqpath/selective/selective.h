/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: selective, private to kernel/irqpath/. See prio.c.
 */
#ifndef _KERNEL_IRQPATH_SELECTIVE_H
#define _KERNEL_IRQPATH_SELECTIVE_H

#include <linux/sched.h>
#include <linux/types.h>

#include "../faults.h"
#include "../irqpath.h"

/* Interrupt numbers that the lists of the administrator can hold. */
#define IRQPATH_NR_LISTED	4096

extern unsigned int irqpath_quiet;
extern unsigned long irqpath_allowed[], irqpath_denied[];

/* The administrator chose the priority of this interrupt's thread. */
static inline bool __irqpath_is_set_by_hand(const struct irqpath_task *t)
{
	return t->set_by_hand;
}

/* Set a thread's priority. Fails if it was set by hand. */
static inline int __irqpath_set_sched(struct task_struct *p,
				      const struct sched_attr *attr)
{
	return sched_setattr_nocheck(p, attr);
}

bool __irqpath_is_urgent_thread(const struct irqpath_task *t);
bool irqpath_serves(unsigned int nr_targets, unsigned int quiet,
		    unsigned int limit, bool allowed, bool denied);
void irqpath_adjust_threads(void);
int irqpath_set_quiet(unsigned int quiet);
int irqpath_selective_start(void);
void irqpath_selective_stop(void);

#endif /* _KERNEL_IRQPATH_SELECTIVE_H */
