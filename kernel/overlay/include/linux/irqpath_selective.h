/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: selective, for the scheduler and rtmutex. Included by
 * <linux/irqpath.h>.
 */
#ifndef _LINUX_IRQPATH_SELECTIVE_H
#define _LINUX_IRQPATH_SELECTIVE_H

#include <linux/jump_label.h>
#include <linux/sched.h>

#ifdef CONFIG_IRQPATH_SELECTIVE

DECLARE_STATIC_KEY_FALSE(irqpath_selective_key);

int irqpath_check_setscheduler(struct task_struct *p, int policy);

/**
 * irqpath_keeps_slice() - whether an ordinary task may use up its slice
 *
 * Return: true if another ordinary task must not preempt it.
 */
static inline bool irqpath_keeps_slice(void)
{
	return static_branch_unlikely(&irqpath_selective_key);
}

#else /* !CONFIG_IRQPATH_SELECTIVE */

static inline int irqpath_check_setscheduler(struct task_struct *p,
					     int policy) { return 0; }
static inline bool irqpath_keeps_slice(void) { return false; }

#endif /* CONFIG_IRQPATH_SELECTIVE */

#endif /* _LINUX_IRQPATH_SELECTIVE_H */
