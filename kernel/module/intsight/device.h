/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to the files of the device: device.c (files and ioctls), device_irq.c
 * (raise and handler), device_wait.c (sleep), device_disturb.c (delays of known
 * size) and device_check.c (checks for tests).
 *
 * One raise is under way at a time. It lives in intsight_dev.shot, which
 * changes hands without a lock: the timer claims it, the handler sets it free.
 * A timer that finds the shot taken counts an overrun and raises nothing, so
 * that raised == handled holds exactly.
 */
#ifndef INTSIGHT_DEVICE_H
#define INTSIGHT_DEVICE_H

#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/rcuwait.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "intsight_uapi.h"
#include "line.h"

struct intsight_reader;

enum intsight_shot_state {
	INTSIGHT_SHOT_FREE,	/* the timer may claim it */
	INTSIGHT_SHOT_CLAIMED,	/* belongs to the one who is about to raise */
	INTSIGHT_SHOT_RAISED,	/* belongs to the handler */
};

/**
 * struct intsight_shot - one raise on its way to the handler
 * @state: enum intsight_shot_state; stored with release, loaded with acquire
 * @raise_cpu: where it was raised
 * @seq: number of the raise
 * @due_ns: when it was meant to happen
 * @raise: cycles just before the injection
 * @primary: cycles when the flow handler masked the line
 * @busy: cycles of each disturbance of this raise, 0 for none
 */
struct intsight_shot {
	int state;
	u32 raise_cpu;
	u64 seq;
	u64 due_ns;
	u64 raise;
	u64 primary;
	u64 busy[INTSIGHT_NR_DISTURB];
};

/**
 * struct intsight_disturber - one kind of disturbance
 * @set: as user space programmed it
 * @busy: cycles of it, 0 when off
 * @next: number of the next raise to disturb, 0 for none; the timer's while
 *	armed
 * @done: ended so far; has one writer, the place where this kind runs
 * @cycles: cycles spent so far, same writer
 */
struct intsight_disturber {
	struct intsight_disturb set;
	u64 busy;
	u64 next;
	u64 done;
	u64 cycles;
};

/**
 * struct intsight_dev - one /dev/intsightN
 * @misc: character device
 * @name: of the character device, of the line and of its interrupt
 * @intruder_name: of the second line and its interrupt
 * @index: N
 * @mutex: serialises arm, disarm, mode and disturbances; guards @mode,
 *	@requested and @owner
 * @line: raises the interrupt
 * @intruder: second line, for INTSIGHT_DISTURB_HARDIRQ
 * @mode: enum intsight_mode; constant while armed or while someone sleeps
 * @requested: the handler is registered
 * @sleepers: tasks in the wait loop; rises under @mutex, falls at any time
 * @owner: reader whose close disarms
 * @armed: the timer runs; cleared by the timer before its last raise
 * @timer: raises, in hardirq context; the next four are its own while armed
 * @period: its period
 * @left: expiries to go
 * @expired: counter, see struct intsight_counts
 * @overruns: the same
 * @raised: the same, written by the one who raises
 * @spurious: the same, written by the handler
 * @read: the same
 * @shot: the raise under way
 * @lock: guards @event; raw for the handler in hardirq context on PREEMPT_RT
 * @event: last handled one; its seq is the number of handled raises
 * @wait: sleepers but those of direct modes, poll() in all modes
 * @sleeper: the task that sleeps in a direct mode
 * @poll_work: wakes @wait in direct modes, when the lock of @wait can be taken
 * @wake_work: wakes @wait in work mode
 * @disturbers: delays to be made
 * @running: long handlers that have begun and not ended, see device_check.c
 * @tasklet: runs INTSIGHT_DISTURB_TASKLET
 * @tasklet_busy: cycles of its next run
 * @intruder_busy: cycles of the next run of the handler of @intruder
 * @urgent: FIFO 99 thread, made when a disturbance first needs it
 * @urgent_work: INTSIGHT_DISTURB_THREAD
 * @urgent_busy: cycles of its next run
 * @meek: FIFO 1 thread, made when a disturbance first needs it
 * @meek_work: raises with interrupts or preemption off
 */
struct intsight_dev {
	struct miscdevice misc;
	char name[20];
	char intruder_name[32];
	unsigned int index;
	struct mutex mutex;		/* requests of user space */
	struct intsight_line *line;
	struct intsight_line *intruder;
	u32 mode;
	bool requested;
	atomic_t sleepers;
	struct intsight_reader *owner;
	bool armed;

	struct hrtimer timer;
	u64 period;
	u64 left;
	u64 expired;
	u64 overruns;
	u64 raised;
	u64 spurious;
	atomic64_t read;
	struct intsight_shot shot;

	raw_spinlock_t lock;
	struct intsight_event event;
	wait_queue_head_t wait;
	struct rcuwait sleeper;
	struct irq_work poll_work;
	struct work_struct wake_work;

	struct intsight_disturber disturbers[INTSIGHT_NR_DISTURB];
	atomic_t running;
	struct tasklet_struct tasklet;
	u64 tasklet_busy;
	u64 intruder_busy;
	struct kthread_worker *urgent;
	struct kthread_work urgent_work;
	u64 urgent_busy;
	struct kthread_worker *meek;
	struct kthread_work meek_work;
};

/**
 * struct intsight_reader - one open file
 * @dev: its device
 * @seen: number of the last event that it got or forgot; guarded by
 *	intsight_dev.lock, like the rest
 * @polled_seq: the event that poll() found first
 * @polled: cycles when it did
 * @polled_cpu: CPU on which it did
 */
struct intsight_reader {
	struct intsight_dev *dev;
	u64 seen;
	u64 polled_seq;
	u64 polled;
	u32 polled_cpu;
};

/* device.c: the files */
struct intsight_dev *intsight_first_device(void);

/* The handler is always in hardirq context, and wakes the task itself. */
static inline bool intsight_mode_is_direct(u32 mode)
{
	return mode == INTSIGHT_MODE_DIRECT || mode == INTSIGHT_MODE_TIMER;
}

/* device_irq.c: from the timer to the handler */
int intsight_dev_irq_init(struct intsight_dev *dev);
void intsight_dev_irq_exit(struct intsight_dev *dev);
int intsight_dev_set_mode(struct intsight_dev *dev, unsigned long mode);
int intsight_dev_arm(struct intsight_dev *dev, struct intsight_reader *reader,
		     const struct intsight_arm *arm);
void intsight_dev_disarm(struct intsight_dev *dev);
void intsight_dev_inject(struct intsight_dev *dev);

static inline bool intsight_dev_armed(struct intsight_dev *dev)
{
	/* Pairs with the timer's release: all that it wrote is seen. */
	return smp_load_acquire(&dev->armed);
}

/* The timer does not run and the last raise has been handled. */
static inline bool intsight_dev_quiet(struct intsight_dev *dev)
{
	int state;

	if (intsight_dev_armed(dev))
		return false;
	/* Pairs with the release of the handler. */
	state = smp_load_acquire(&dev->shot.state);
	return state == INTSIGHT_SHOT_FREE &&
	       READ_ONCE(dev->raised) == READ_ONCE(dev->event.seq);
}

/* device_wait.c: from the handler to the task */
int intsight_dev_wait(struct intsight_reader *reader, bool nonblock,
		      struct intsight_event *event);
void intsight_dev_forget(struct intsight_reader *reader);
bool intsight_dev_polled(struct intsight_reader *reader);
void intsight_dev_wake(struct intsight_dev *dev);
void intsight_dev_poll_work(struct irq_work *work);
void intsight_dev_wake_work(struct work_struct *work);

/* device_disturb.c: delays of known size on that way */
int intsight_disturb_init(struct intsight_dev *dev);
void intsight_disturb_exit(struct intsight_dev *dev);
int intsight_disturb_set(struct intsight_dev *dev,
			 const struct intsight_disturb *set);
int intsight_disturb_get(struct intsight_dev *dev,
			 struct intsight_disturb *get);
void intsight_disturb_follow(struct intsight_dev *dev, unsigned int cpu);
void intsight_disturb_flush(struct intsight_dev *dev);
void intsight_disturb_plan(struct intsight_dev *dev);
void intsight_disturb_raise(struct intsight_dev *dev);
void intsight_disturb_in_handler(struct intsight_dev *dev,
				 const struct intsight_shot *shot);

/* device_check.c: checks for tests */
u64 intsight_check_begin(struct intsight_dev *dev);
void intsight_check_end(struct intsight_dev *dev, u64 handled);

#endif /* INTSIGHT_DEVICE_H */
