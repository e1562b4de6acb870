/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: direct, private to kernel/irqpath/. See loan.c.
 */
#ifndef _KERNEL_IRQPATH_DIRECT_H
#define _KERNEL_IRQPATH_DIRECT_H

#include <linux/types.h>

#include "../faults.h"

/* A running task that is at least as urgent as the woken one keeps the CPU. */
static inline bool __irqpath_keeps_cpu(int holder, int prio)
{
	return holder <= prio;
}

int irqpath_direct_start(void);
void irqpath_direct_stop(void);

#endif /* _KERNEL_IRQPATH_DIRECT_H */
