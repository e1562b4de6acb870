/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: the counters of all policies, private to kernel/irqpath/.
 */
#ifndef _KERNEL_IRQPATH_STATS_H
#define _KERNEL_IRQPATH_STATS_H

/**
 * struct irqpath_stats - counters of one CPU, in the order of the sysfs files
 * @learned: associations made
 * @offered: handlers offered to a parked task
 * @demuxed: of these, those whose packet named the task
 * @migrated: handlers that a task ran
 * @mispredicted: of these, those that did not
 * @lazy: handlers that a task ran without its address space
 * @mm_switched: address spaces loaded for a handler's sake, before it or, if
 *		 lazy, after it
 * @lost: offers that the irq thread took first
 * @elsewhere: offers that the task handed back, as it met them on another CPU
 *	       or was below the thread by then
 * @lent: times that a thread waited for the task that ran its handler
 * @rescued: offers that the watchdog took back
 * @promoted: interrupts' threads that became real-time again
 * @demoted: interrupts' threads that became ordinary tasks
 * @exempt: received packets without a receiver, while there was work to protect
 * @classified: those with one
 * @passed: of these, those that went on at once
 * @held: those that were queued
 * @dropped: those for which there was no room
 * @served: held packets, by a thread of their receiver's priority
 * @expired: held packets, by the guard
 * @purged: held packets, dropped with their device
 * @kept: times that a NAPI was held
 * @switched: tasks that a hardirq switched to directly
 * @overtaken: tasks that were queued before they could run, since someone else
 *	       took the lock of the queue
 * @busy: wakeups not done directly, since a switch was pending already
 * @outranked: the same, since the running task outranks the woken one
 * @remote: the same, since the woken task may not or need not run here
 * @unfit: the same, since the running task cannot be left in its queue
 * @blocked: the same, since the woken one would wait for softirqs at once
 */
struct irqpath_stats {
	unsigned long learned;
	unsigned long offered;
	unsigned long demuxed;
	unsigned long migrated;
	unsigned long mispredicted;
	unsigned long lazy;
	unsigned long mm_switched;
	unsigned long lost;
	unsigned long elsewhere;
	unsigned long lent;
	unsigned long rescued;
	unsigned long promoted;
	unsigned long demoted;
	unsigned long exempt;
	unsigned long classified;
	unsigned long passed;
	unsigned long held;
	unsigned long dropped;
	unsigned long served;
	unsigned long expired;
	unsigned long purged;
	unsigned long kept;
	unsigned long switched;
	unsigned long overtaken;
	unsigned long busy;
	unsigned long outranked;
	unsigned long remote;
	unsigned long unfit;
	unsigned long blocked;
};

#endif /* _KERNEL_IRQPATH_STATS_H */
