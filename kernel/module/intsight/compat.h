/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only place with version checks. The rest of the module uses the
 * interfaces of the newest kernel, and this maps them to older ones. Each entry
 * names the release that changed the interface. A new check belongs here.
 *
 * Built and booted with 6.1, 6.12 and 7.2 (PREEMPT_RT and not).
 */
#ifndef INTSIGHT_COMPAT_H
#define INTSIGHT_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/irq.h>
#include <linux/version.h>

/* 6.13: hrtimer_setup() replaces hrtimer_init() and the bare assignment. */
#if KERNEL_VERSION(6, 13, 0) > LINUX_VERSION_CODE
static inline void
intsight_hrtimer_setup(struct hrtimer *timer,
		       enum hrtimer_restart (*function)(struct hrtimer *),
		       clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = function;
}
#else
#define intsight_hrtimer_setup hrtimer_setup
#endif

/* 6.15: moving a line at once is the rule and no longer asks for a flag. */
#if KERNEL_VERSION(6, 15, 0) > LINUX_VERSION_CODE
#define INTSIGHT_IRQ_MOVE_PCNTXT IRQ_MOVE_PCNTXT
#else
#define INTSIGHT_IRQ_MOVE_PCNTXT 0
#endif

/* 6.17: a queue of each CPU says so; 7.2 warns of one that does not. */
#if KERNEL_VERSION(6, 17, 0) > LINUX_VERSION_CODE
#define INTSIGHT_WQ_PERCPU 0
#else
#define INTSIGHT_WQ_PERCPU WQ_PERCPU
#endif

/*
 * 6.18: the number of receive queues has a callback of its own, and get_rxnfc
 * is not asked for it any more.
 */
#if KERNEL_VERSION(6, 18, 0) <= LINUX_VERSION_CODE
#define INTSIGHT_HAVE_RX_RING_COUNT
#endif

/* 6.9: work items in softirq context. */
#if KERNEL_VERSION(6, 9, 0) <= LINUX_VERSION_CODE
#define INTSIGHT_HAVE_WQ_BH
#endif

/* 6.8: sched_stat_runtime lost its last argument. */
#if KERNEL_VERSION(6, 8, 0) > LINUX_VERSION_CODE
#define INTSIGHT_SCHED_STAT_RUNTIME_PROTO \
	TP_PROTO(struct task_struct *task, u64 runtime_ns, u64 vruntime)
#else
#define INTSIGHT_SCHED_STAT_RUNTIME_PROTO \
	TP_PROTO(struct task_struct *task, u64 runtime_ns)
#endif

/*
 * Between 6.12 and 7.2: hrtimer_expire_entry hands over the time, no longer a
 * pointer to it. The type is asked, for distributions that move such changes.
 */
#define INTSIGHT_HRTIMER_NOW						\
	typeof(__builtin_choose_expr(__builtin_types_compatible_p(	\
		typeof(trace_hrtimer_expire_entry),			\
		void(struct hrtimer *, ktime_t)), (ktime_t)0, (ktime_t *)0))

/* 6.12: the function of a softirq vector takes no argument. */
#if KERNEL_VERSION(6, 12, 0) > LINUX_VERSION_CODE
#define INTSIGHT_SOFTIRQ_ARGS struct softirq_action *action
#else
#define INTSIGHT_SOFTIRQ_ARGS void
#endif

/* Not a version: kernels with irqpath, whose policies wait sites opt into. */
#ifdef CONFIG_IRQPATH
#include <linux/irqpath.h>
#define intsight_schedule irqpath_schedule
#else
#define intsight_schedule schedule
#endif

#endif /* INTSIGHT_COMPAT_H */
