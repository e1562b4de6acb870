/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: the state of tasks and CPUs, private to kernel/irqpath/. The rest of
 * the kernel includes <linux/irqpath.h>.
 *
 * learn/     which interrupt wakes which real-time task
 * migrate/   the handler of an interrupt runs in the task that waits for it
 * direct/    a hardirq switches to the task that it woke, past the run queue
 * selective/ interrupts that serve no real-time task are ordinary work
 * netprio/   received packets in the order of their receivers' priorities
 * shield/    /proc/shield: CPUs that are kept free of other work
 * sysfs.c    the kinds of files in /sys/kernel/irqpath, and the counters
 * faults/    faults that tests inject
 * compat.h   what differs between kernels
 */
#ifndef _KERNEL_IRQPATH_H
#define _KERNEL_IRQPATH_H

#include <linux/hrtimer.h>
#include <linux/irqpath.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "compat.h"
#ifdef CONFIG_IRQPATH_LEARN
#include "learn/assoc.h"
#endif
#include "stats.h"

#ifdef CONFIG_IRQPATH_MIGRATE
enum irqpath_state {
	IRQPATH_IDLE,
	IRQPATH_PARKED,		/* in irqpath_cpu.parked */
	IRQPATH_OFFERED,	/* in irqpath_cpu.offered, woken */
	IRQPATH_REVOKED,	/* in no list, the thread was woken */
};
#endif

#ifdef CONFIG_IRQPATH_LEARN
/**
 * struct irqpath_task - the state of a real-time task or a kernel thread
 * @task: back pointer
 * @origin: the origin that the task works for: that of an irq thread always,
 *	    that of another task while it runs the handler
 * @woken_for: the origin that woke a kernel thread last; the thread works for
 *	       it until the next wakeup; NULL if no interrupt caused the wakeup
 * @lock: protects @slot
 * @slot: associations
 */
struct irqpath_task {
	struct task_struct	*task;
	struct irqpath_origin	*origin;
	struct irqpath_origin	*woken_for;
	raw_spinlock_t		lock;
	struct irqpath_slot	slot[IRQPATH_NR_SLOTS];
#ifdef CONFIG_IRQPATH_MIGRATE
	/*
	 * irqpath_cpu.lock of @cpu protects what follows up to @action, and
	 * @flow of a parked task. Only the task itself leaves IRQPATH_IDLE or
	 * changes @cpu.
	 */
	/** @node: in the list of irqpath_cpu that @state names */
	struct list_head	node;
	/** @cpu: the CPU of that list; set when the task parks */
	int			cpu;
	/** @state: enum irqpath_state */
	enum irqpath_state	state;
	/** @sleep_state: the task's state when it parked */
	unsigned int		sleep_state;
	/** @offered: the association behind the offer */
	struct irqpath_slot	*offered;
	/** @from: its origin; @offered may be given to another one */
	struct irqpath_origin	*from;
	/** @action: the action of the offer */
	struct irqaction	*action;
	/**
	 * @predicted: the handler should wake the task; if not, the task stands
	 * in for a thread that has to wait
	 */
	bool			predicted;
	/** @flow: that of the socket that the task waits for */
	struct irqpath_flow	flow;
#ifdef CONFIG_IRQPATH_LAS
	/**
	 * @lazy: the task runs without its address space, see las.c; written
	 * with p->pi_lock held while the task sleeps, and by the task itself
	 */
	bool			lazy;
#endif
	/**
	 * @deferred: the handler woke a more urgent task, which waits for its
	 * end
	 */
	bool			deferred;
	/** @own_softirqs: vectors that the running handler raised */
	u32			own_softirqs;
#endif
#ifdef CONFIG_IRQPATH_SELECTIVE
	/* Written with the lock of the task's run queue held. */
	/** @demoted: this interrupt's thread was made an ordinary task */
	bool			demoted;
	/** @set_by_hand: the administrator chose its priority */
	bool			set_by_hand;
#endif
};
#endif /* CONFIG_IRQPATH_LEARN */

/**
 * struct irqpath_cpu - state of one CPU
 * @stats: counters
 */
struct irqpath_cpu {
#ifdef CONFIG_IRQPATH_MIGRATE
	/** @lock: protects the lists and the parking state of the tasks on them */
	raw_spinlock_t		lock;
	/** @parked: tasks that wait here, the highest priority first */
	struct list_head	parked;
	/** @offered: tasks that were woken to run a handler and have not begun */
	struct list_head	offered;
	/** @expected: the task that should run next, read without @lock */
	struct task_struct	*expected;
	/** @watchdog: wakes the threads of offers that are not taken */
	struct hrtimer		watchdog;
#endif
#ifdef CONFIG_IRQPATH_LEARN
	/** @hardirq: origin of the running hardirq handler */
	struct irqpath_origin	*hardirq;
	/** @softirq: origin of the running softirq vector */
	struct irqpath_origin	*softirq;
	/** @softirq_task: runs it, where bottom halves have no lock */
	struct task_struct	*softirq_task;
#endif
#ifdef CONFIG_IRQPATH_MIGRATE
	/** @predicting: the wakeup in progress is an offer, teaches nothing */
	bool			predicting;
#endif
#ifdef CONFIG_IRQPATH_LEARN
	/** @vector: origin of each pending softirq vector */
	struct irqpath_origin	*vector[NR_SOFTIRQS];
#endif
	struct irqpath_stats	stats;
};

DECLARE_PER_CPU(struct irqpath_cpu, irqpath_cpus);

#define irqpath_count(what) this_cpu_inc(irqpath_cpus.stats.what)

#ifdef CONFIG_IRQPATH_LEARN
/**
 * irqpath_current_origin() - find the origin that this context works for
 *
 * Context: preemption disabled.
 * Return: an origin, which may have lost its action meanwhile, or NULL.
 */
static inline struct irqpath_origin *irqpath_current_origin(void)
{
	struct irqpath_task *t = current->irqpath;

	if (in_task())
		return t ? t->origin ?: t->woken_for : NULL;
	if (in_nmi())
		return NULL;
	if (in_hardirq())
		return this_cpu_read(irqpath_cpus.hardirq);
	if (!IRQPATH_BH_LOCK &&
	    this_cpu_read(irqpath_cpus.softirq_task) != current)
		return NULL;
	return this_cpu_read(irqpath_cpus.softirq);
}

/**
 * irqpath_is_indirect() - whether the handler ends before this context begins
 *
 * Context: as irqpath_current_origin(), which has found an origin.
 * Return: true in a thread that the origin's handler only woke.
 */
static inline bool irqpath_is_indirect(void)
{
	return in_task() && !current->irqpath->origin;
}
#endif /* CONFIG_IRQPATH_LEARN */

/* The wakeup in progress offers a handler. Context: preemption disabled. */
static inline bool irqpath_is_offering(void)
{
#ifdef CONFIG_IRQPATH_MIGRATE
	return this_cpu_read(irqpath_cpus.predicting);
#else
	return false;
#endif
}

#endif /* _KERNEL_IRQPATH_H */
