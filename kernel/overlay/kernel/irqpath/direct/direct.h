/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: direct, private to kernel/irqpath/. See loan.c.
 */
#ifndef _KERNEL_IRQPATH_DIRECT_H
#define _KERNEL_IRQPATH_DIRECT_H

#include <linux/jump_label.h>
#include <linux/types.h>

#include "../faults.h"
#include "compat.h"

struct rq;
struct rq_flags;
struct task_struct;

DECLARE_STATIC_KEY_FALSE(irqpath_direct_key);
DECLARE_STATIC_KEY_FALSE(irqpath_loan_key);

/* A running task that is at least as urgent as the woken one keeps the CPU. */
static inline bool __irqpath_keeps_cpu(int holder, int prio)
{
	return holder <= prio;
}

/* For kernel/sched/core.c. */
bool irqpath_may_wake_directly(struct task_struct *p);
void irqpath_direct_wake(struct task_struct *p);
struct task_struct *irqpath_direct_next(struct rq *rq,
					struct task_struct *prev,
					bool preempt, struct rq_flags *rf);
void irqpath_direct_settle(struct rq *rq);

int irqpath_direct_start(void);
void irqpath_direct_stop(void);

#endif /* _KERNEL_IRQPATH_DIRECT_H */
