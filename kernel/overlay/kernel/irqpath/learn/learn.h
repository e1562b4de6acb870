/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: learning is on while a policy needs it. Private to sysfs.c.
 */
#ifndef _KERNEL_IRQPATH_LEARN_H
#define _KERNEL_IRQPATH_LEARN_H

#include <linux/jump_label.h>

#include "../irqpath.h"
#include "../sysfs.h"

#ifdef CONFIG_IRQPATH_LEARN
/* Each policy that learns keeps learning on by itself. */
static inline void irqpath_start_learning(const struct irqpath_switch *policy)
{
	if (!policy->learns)
		return;
	if (!static_key_enabled(&irqpath_learn_key))
		irqpath_forget_raised();
	static_branch_inc(&irqpath_learn_key);
}

/* The policy needs no associations, unless it is on. */
static inline void irqpath_stop_learning(const struct irqpath_switch *policy,
					 bool on)
{
	if (policy->learns && !on)
		static_branch_dec(&irqpath_learn_key);
}
#else /* !CONFIG_IRQPATH_LEARN */
static inline void irqpath_start_learning(const struct irqpath_switch *policy) { }
static inline void irqpath_stop_learning(const struct irqpath_switch *policy,
					 bool on) { }
#endif /* CONFIG_IRQPATH_LEARN */

#endif /* _KERNEL_IRQPATH_LEARN_H */
