/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: what the kernels that this source is for do not have in common. Each
 * part says when that changed. Only the files of this name ask for the version.
 */
#ifndef _KERNEL_IRQPATH_COMPAT_H
#define _KERNEL_IRQPATH_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/version.h>

/* Linux 6.13: hrtimer_setup() also takes the function of the timer. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock_id,
				 const enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = function;
}
#endif

/*
 * Linux 6.18: tasks of a CPU that disable bottom halves no longer exclude each
 * other, unless the configuration asks for it.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define IRQPATH_BH_LOCK		IS_ENABLED(CONFIG_PREEMPT_RT)
#else
#define IRQPATH_BH_LOCK		IS_ENABLED(CONFIG_PREEMPT_RT_NEEDS_BH_LOCK)
#endif

#endif /* _KERNEL_IRQPATH_COMPAT_H */
