/* SPDX-License-Identifier: GPL-2.0-only */
/* irqpath: what genirq keeps to itself. internals.h has no include guard. */
#ifndef _KERNEL_IRQPATH_GENIRQ_H
#define _KERNEL_IRQPATH_GENIRQ_H

#include "../irq/internals.h"

#endif /* _KERNEL_IRQPATH_GENIRQ_H */
