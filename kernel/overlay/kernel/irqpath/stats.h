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
 * @demuxed: of these, offered to the task that the packet named
 * @migrated: handlers that a task ran
 * @stood_in: of these, those that a task ran because the thread would have
 *	      waited; nobody had predicted that they wake the task
 * @mispredicted: of the others, did not wake the task
 * @lazy: handlers that a task ran without its address space
 * @mm_switched: address spaces loaded for a handler, before it or, if lazy,
 *		 after it
 * @deferred: more urgent tasks that a handler woke, and that preempted the task
 *	      that ran it when it had ended
 * @lost: offers that the irq thread took first
 * @elsewhere: offers that the task handed back, because it met them on another
 *	       CPU or below the thread
 * @lent: times that a thread waited for the task that ran its handler
 * @rescued: offers that the watchdog took back
 * @promoted: interrupts' threads that became real-time again
 * @demoted: interrupts' threads that became ordinary tasks
 * @exempt: received packets without a receiver, while there was work to protect
 * @classified: received packets with a receiver, as above
 * @passed: of these, went on at once
 * @held: of these, were queued
 * @resorted: times that held packets went to the level of a new priority
 * @dropped: of these, found no room
 * @served: held packets that a thread of their receiver's priority served
 * @expired: held packets that the guard served
 * @purged: held packets that were dropped with their device
 * @kept: times that a NAPI was held
 * @switched: tasks that a hardirq switched to directly
 * @overtaken: tasks that were queued before they could run, because somebody
 *	       took the lock of the queue
 * @busy: wakeups not done directly, because a switch was pending
 * @outranked: the same, because the running task outranks the woken one
 * @remote: the same, because the woken task sleeps on or belongs on another CPU
 * @unfit: the same, because the running task cannot be left in its queue
 * @blocked: the same, because the woken task would wait for softirqs at once
 */
struct irqpath_stats {
	unsigned long learned;
	unsigned long offered;
	unsigned long demuxed;
	unsigned long migrated;
	unsigned long stood_in;
	unsigned long mispredicted;
	unsigned long lazy;
	unsigned long mm_switched;
	unsigned long deferred;
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
	unsigned long resorted;
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
