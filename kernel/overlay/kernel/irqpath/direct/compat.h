/* SPDX-License-Identifier: GPL-2.0-only */
/* direct: what differs between kernels, see ../compat.h. */
#ifndef _KERNEL_IRQPATH_DIRECT_COMPAT_H
#define _KERNEL_IRQPATH_DIRECT_COMPAT_H

#include <linux/version.h>

/*
 * What __schedule() does beside the switch. Between Linux 6.12 and 7.2
 * wakeup_preempt() began to compare with the class that runs next, and CFS to
 * charge the running task instead of the one in its queue. A lender is charged
 * before rq->curr changes, since then. __schedule() also began to note which
 * task it has blocked, which ends with the wakeup, and to defer timers until it
 * has switched. It got a tracepoint at its end.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
#define trace_sched_exit_tp(is_switch) do { } while (0)
#define irqpath_set_next_class(rq, class) do { } while (0)
#define irqpath_note_woken(p) do { } while (0)
#define IRQPATH_CHARGES_CURR	false
#else
#define irqpath_set_next_class(rq, class) ((rq)->next_class = (class))
#define irqpath_note_woken(p) ((p)->is_blocked = 0)
#define IRQPATH_CHARGES_CURR	true
#define IRQPATH_DEFERS_TIMERS
#endif

#endif /* _KERNEL_IRQPATH_DIRECT_COMPAT_H */
