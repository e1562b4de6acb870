/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: the functions that the rest of the kernel calls.
 *
 * Every function of a part is empty without the part's option, and a
 * patched-out branch until a policy is switched on in /sys/kernel/irqpath. The
 * policies are in kernel/irqpath/, whose irqpath.h lists the parts. What direct
 * and shields need is elsewhere: in kernel/sched/irqpath.h and in
 * <linux/irqpath_shield.h>.
 *
 * Some empty ones are macros, because with an empty inline function the
 * compiler writes the operands of a comparison in another order.
 */
#ifndef _LINUX_IRQPATH_H
#define _LINUX_IRQPATH_H

#include <linux/irqpath_learn.h>
#include <linux/irqpath_migrate.h>
#include <linux/irqpath_netprio.h>
#include <linux/irqpath_selective.h>

struct task_struct;

#ifdef CONFIG_IRQPATH
/* The scheduling parameters of a task have changed. No lock is held. */
static inline void irqpath_setscheduler(struct task_struct *p)
{
	irqpath_netprio_sort();
	irqpath_learn_setscheduler(p);
}
#else
#define irqpath_setscheduler(p) ((void)(p))
#endif

#endif /* _LINUX_IRQPATH_H */
