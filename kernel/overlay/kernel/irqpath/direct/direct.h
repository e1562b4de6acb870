/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: direct, private to kernel/irqpath/. See loan.c.
 */
#ifndef _KERNEL_IRQPATH_DIRECT_H
#define _KERNEL_IRQPATH_DIRECT_H

int irqpath_direct_start(void);
void irqpath_direct_stop(void);

#endif /* _KERNEL_IRQPATH_DIRECT_H */
