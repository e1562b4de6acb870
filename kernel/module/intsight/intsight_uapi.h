/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * The interface between user space and /dev/intsightN.
 *
 * A task arms the device, sleeps in read(), poll() or an ioctl, and gets the cycle counter at every
 * point from the raise to its own return from sleep. Every structure starts with its size and
 * flags: both must be known to the driver, and reserved fields must be zero, or the call fails with
 * EINVAL and changes nothing. Cycle counts are of the counter that user space can read (TSC on x86,
 * CNTVCT on arm64); intsight_info.cycles_khz converts them.
 */
#ifndef INTSIGHT_UAPI_H
#define INTSIGHT_UAPI_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define INTSIGHT_MAX_DELAY_NS	3600000000000ULL	/* of intsight_arm */
#define INTSIGHT_MIN_PERIOD_NS	10000ULL		/* of intsight_arm */
#define INTSIGHT_MAX_BUSY_NS	100000000ULL		/* of intsight_disturb */

/**
 * enum intsight_mode - how the handler of a device is registered
 * @INTSIGHT_MODE_DRIVER: as ordinary drivers do: a thread where handlers are forced into threads
 *	(PREEMPT_RT, threadirqs), hardirq context elsewhere; wakes a wait queue
 * @INTSIGHT_MODE_DIRECT: always in hardirq context, wakes the waiting task itself; one task at a
 *	time may sleep in read() or an ioctl, another one gets EBUSY
 * @INTSIGHT_MODE_WORK: as the first one, and the handler leaves the waking to a work item
 * @INTSIGHT_MODE_THREADED: as the first one, with a handler that asks for a thread: it may sleep
 * @INTSIGHT_MODE_TIMER: as the second one, without an interrupt line: the timer is the handler, as
 *	it is for a task in clock_nanosleep(). Disturbances still raise the line
 */
enum intsight_mode {
	INTSIGHT_MODE_DRIVER,
	INTSIGHT_MODE_DIRECT,
	INTSIGHT_MODE_WORK,
	INTSIGHT_MODE_THREADED,
	INTSIGHT_MODE_TIMER,
};

/**
 * struct intsight_info - INTSIGHT_IOC_INFO
 * @size: sizeof(struct intsight_info)
 * @flags: 0
 * @index: N of /dev/intsightN
 * @mode: enum intsight_mode
 * @irq: Linux interrupt number of the device
 * @intruder_irq: number of the line that INTSIGHT_DISTURB_HARDIRQ raises
 * @cycles_khz: rate of the cycle counter
 * @reserved: 0
 */
struct intsight_info {
	__u32 size;
	__u32 flags;
	__u32 index;
	__u32 mode;
	__u32 irq;
	__u32 intruder_irq;
	__u64 cycles_khz;
	__u64 reserved[2];
};

/**
 * struct intsight_arm - INTSIGHT_IOC_ARM
 * @size: sizeof(struct intsight_arm)
 * @flags: 0
 * @delay_ns: first raise this long from now
 * @period_ns: distance of the following raises, 0 for a single raise
 * @count: number of raises, 0 until disarmed; 0 or 1 for a single raise
 * @reserved: 0
 *
 * The timer runs on the CPU of the caller. The caller's file forgets events that it has not read.
 * EBUSY while the device is armed.
 */
struct intsight_arm {
	__u32 size;
	__u32 flags;
	__u64 delay_ns;
	__u64 period_ns;
	__u64 count;
	__u64 reserved[2];
};

/* The handler ran in hardirq context. */
#define INTSIGHT_EVENT_HARDIRQ	0x00000001

/**
 * struct intsight_event - one handled interrupt, as read() and the waiting ioctls return it
 * @size: sizeof(struct intsight_event)
 * @flags: INTSIGHT_EVENT_*
 * @seq: number of the raise, counted from 1 since the device exists
 * @missed: events before this one that this file did not get
 * @due_ns: CLOCK_MONOTONIC time for which the raise was programmed
 * @raise: cycles just before the interrupt was injected
 * @primary: cycles when the hardirq part of the flow reached the interrupt controller
 * @handler: cycles at entry of the handler
 * @wake: cycles just before the handler woke the sleepers
 * @resumed: cycles when the reader was back from schedule(), 0 if it did not sleep there
 * @task: cycles when the reader had left its wait loop and every lock of it
 * @raise_cpu: CPU of @raise
 * @handler_cpu: CPU of @handler
 * @task_cpu: CPU of @task
 * @reserved: 0
 *
 * With poll() the reader slept before read() was called: @resumed is 0, and @task is the moment
 * poll() found the event.
 */
struct intsight_event {
	__u32 size;
	__u32 flags;
	__u64 seq;
	__u64 missed;
	__u64 due_ns;
	__u64 raise;
	__u64 primary;
	__u64 handler;
	__u64 wake;
	__u64 resumed;
	__u64 task;
	__u32 raise_cpu;
	__u32 handler_cpu;
	__u32 task_cpu;
	__u32 reserved;
};

/**
 * struct intsight_arm_wait - INTSIGHT_IOC_ARM_WAIT
 * @arm: as for INTSIGHT_IOC_ARM
 * @event: the event that follows
 *
 * Interrupted by a signal it returns EINTR and leaves the device armed: the event can still be
 * read.
 */
struct intsight_arm_wait {
	struct intsight_arm arm;
	struct intsight_event event;
};

/**
 * enum intsight_disturbance - delays that a device can put into its own path
 * @INTSIGHT_DISTURB_HANDLER: the handler is busy before it wakes
 * @INTSIGHT_DISTURB_TASKLET: the handler schedules a busy tasklet before it wakes
 * @INTSIGHT_DISTURB_HARDIRQ: a second line with a busy hardirq handler is raised after the first
 * @INTSIGHT_DISTURB_THREAD: a busy FIFO 99 thread is woken before the raise
 * @INTSIGHT_DISTURB_IRQS_OFF: a FIFO 1 thread raises and is busy with interrupts off
 * @INTSIGHT_DISTURB_PREEMPT_OFF: a FIFO 1 thread raises and is busy with preemption off
 * @INTSIGHT_NR_DISTURB: how many there are
 */
enum intsight_disturbance {
	INTSIGHT_DISTURB_HANDLER,
	INTSIGHT_DISTURB_TASKLET,
	INTSIGHT_DISTURB_HARDIRQ,
	INTSIGHT_DISTURB_THREAD,
	INTSIGHT_DISTURB_IRQS_OFF,
	INTSIGHT_DISTURB_PREEMPT_OFF,
	INTSIGHT_NR_DISTURB,
};

/**
 * struct intsight_disturb - INTSIGHT_IOC_DISTURB sets, INTSIGHT_IOC_DISTURBED gets one disturbance
 * @size: sizeof(struct intsight_disturb)
 * @flags: 0
 * @kind: enum intsight_disturbance
 * @reserved: 0
 * @busy_ns: how long it is busy; 0 switches it off
 * @first: number of the first raise (intsight_event.seq) that it disturbs
 * @every: it disturbs every that many raises from @first on, 0 for @first alone
 * @done: get only: disturbances that have ended since they were set
 * @cycles: get only: cycles that they were busy
 *
 * EBUSY while the device is armed.
 */
struct intsight_disturb {
	__u32 size;
	__u32 flags;
	__u32 kind;
	__u32 reserved;
	__u64 busy_ns;
	__u64 first;
	__u64 every;
	__u64 done;
	__u64 cycles;
};

/**
 * struct intsight_counts - INTSIGHT_IOC_COUNTS, since the device exists
 * @size: sizeof(struct intsight_counts)
 * @flags: 0
 * @expired: times the timer was due
 * @raised: interrupts raised
 * @handled: raises that the handler has seen; equals @raised when the device is quiet
 * @overruns: times due without a raise, because the one before was not handled yet
 * @spurious: calls of the handler without a raise
 * @read: events returned to readers
 */
struct intsight_counts {
	__u32 size;
	__u32 flags;
	__u64 expired;
	__u64 raised;
	__u64 handled;
	__u64 overruns;
	__u64 spurious;
	__u64 read;
};

#define INTSIGHT_IOC_INFO	_IOWR('i', 0xc0, struct intsight_info)
#define INTSIGHT_IOC_MODE	_IO('i', 0xc1)		/* argument: enum intsight_mode */
#define INTSIGHT_IOC_ARM	_IOW('i', 0xc2, struct intsight_arm)
#define INTSIGHT_IOC_DISARM	_IO('i', 0xc3)		/* argument: 0 */
#define INTSIGHT_IOC_WAIT	_IOWR('i', 0xc4, struct intsight_event)
#define INTSIGHT_IOC_ARM_WAIT	_IOWR('i', 0xc5, struct intsight_arm_wait)
#define INTSIGHT_IOC_DISTURB	_IOW('i', 0xc6, struct intsight_disturb)
#define INTSIGHT_IOC_DISTURBED	_IOWR('i', 0xc7, struct intsight_disturb)
#define INTSIGHT_IOC_COUNTS	_IOWR('i', 0xc8, struct intsight_counts)

/**
 * struct intsight_burst_payload - how a packet of the test NIC's burst begins
 * @seq: number within all bursts of that end; port first + seq % ports
 * @cycles: cycles when the packet arrived
 */
struct intsight_burst_payload {
	__u64 seq;
	__u64 cycles;
};

#endif /* INTSIGHT_UAPI_H */
