/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: the counters of all policies, private to kernel/irqpath/.
 */
#ifndef _KERNEL_IRQPATH_STATS_H
#define _KERNEL_IRQPATH_STATS_H

/**
 * struct irqpath_stats - counters of one CPU, in the order of the sysfs files
 */
struct irqpath_stats {
#ifdef CONFIG_IRQPATH_LEARN
	/** @learned: associations made */
	unsigned long learned;
#endif
#ifdef CONFIG_IRQPATH_MIGRATE
	/** @offered: handlers offered to a parked task */
	unsigned long offered;
	/** @demuxed: of @offered, offered to the task that the packet named */
	unsigned long demuxed;
	/** @migrated: handlers that a task ran */
	unsigned long migrated;
	/**
	 * @stood_in: of @migrated, run because the thread would have waited;
	 * nobody had predicted that they wake the task
	 */
	unsigned long stood_in;
	/** @mispredicted: of the others, did not wake the task */
	unsigned long mispredicted;
#ifdef CONFIG_IRQPATH_LAS
	/** @lazy: handlers that a task ran without its address space */
	unsigned long lazy;
#endif
	/**
	 * @mm_switched: address spaces loaded for a handler, before it or, if
	 * lazy, after it
	 */
	unsigned long mm_switched;
	/**
	 * @deferred: more urgent tasks that a handler woke, and that preempted
	 * the task that ran it when it had ended
	 */
	unsigned long deferred;
	/** @lost: offers that the irq thread took first */
	unsigned long lost;
	/**
	 * @elsewhere: offers that the task handed back, because it met them on
	 * another CPU or below the thread
	 */
	unsigned long elsewhere;
	/**
	 * @lent: times that a thread waited for the task that ran its handler
	 */
	unsigned long lent;
	/** @rescued: offers that the watchdog took back */
	unsigned long rescued;
#endif
#ifdef CONFIG_IRQPATH_SELECTIVE
	/** @promoted: interrupts' threads that became real-time again */
	unsigned long promoted;
	/** @demoted: interrupts' threads that became ordinary tasks */
	unsigned long demoted;
#endif
#ifdef CONFIG_IRQPATH_NETPRIO
	/**
	 * @exempt: received packets without a receiver, while there was work to
	 * protect
	 */
	unsigned long exempt;
	/**
	 * @classified: received packets with a receiver, while there was work
	 * to protect
	 */
	unsigned long classified;
	/** @passed: of @classified, went on at once */
	unsigned long passed;
	/** @held: of @classified, were queued */
	unsigned long held;
	/**
	 * @resorted: times that held packets went to the level of a new
	 * priority
	 */
	unsigned long resorted;
	/** @dropped: of @classified, found no room */
	unsigned long dropped;
	/**
	 * @served: held packets that a thread of their receiver's priority
	 * served
	 */
	unsigned long served;
	/** @expired: held packets that the guard served */
	unsigned long expired;
	/** @purged: held packets that were dropped with their device */
	unsigned long purged;
	/** @kept: times that a NAPI was held */
	unsigned long kept;
#endif
#ifdef CONFIG_IRQPATH_DIRECT
	/** @switched: tasks that a hardirq switched to directly */
	unsigned long switched;
	/**
	 * @overtaken: tasks that were queued before they could run, because
	 * somebody took the lock of the queue
	 */
	unsigned long overtaken;
	/** @busy: wakeups not done directly, because a switch was pending */
	unsigned long busy;
	/**
	 * @outranked: as @busy, because the running task outranks the woken one
	 */
	unsigned long outranked;
	/**
	 * @remote: as @busy, because the woken task sleeps on or belongs on
	 * another CPU
	 */
	unsigned long remote;
	/**
	 * @unfit: as @busy, because the running task cannot be left in its
	 * queue
	 */
	unsigned long unfit;
	/**
	 * @blocked: as @busy, because the woken task would wait for softirqs at
	 * once
	 */
	unsigned long blocked;
#endif
};

#endif /* _KERNEL_IRQPATH_STATS_H */
