// SPDX-License-Identifier: GPL-2.0-only
/*
 * One interrupt of /dev/intsightN, from its handler to the task.
 *
 * The wait loops check their condition after every wakeup, hold no lock while
 * they sleep, and end at a signal. So on a kernel with irqpath the task may run
 * the handler itself.
 *
 * In driver mode the handler wakes a wait queue. The task takes the lock of the
 * queue again on its way out, and on PREEMPT_RT may meet the interrupt's thread
 * there. Threaded mode has the same handler, but requests it as one that may
 * sleep. In work mode a worker wakes the queue for the handler. In direct and
 * timer mode the handler is in hardirq context and wakes the task itself.
 */
#include <linux/rcuwait.h>
#include <linux/sched/signal.h>

#include "compat.h"
#include "cycles.h"
#include "device.h"
#include "intsight_mark.h"

static bool dev_has_event(struct intsight_reader *reader)
{
	return READ_ONCE(reader->dev->event.seq) != READ_ONCE(reader->seen);
}

/* Returns when there is an event; @resumed is when schedule() last returned. */
static int sleep_on_queue(struct intsight_reader *reader, u64 *resumed)
{
	struct intsight_dev *dev = reader->dev;
	DEFINE_WAIT(wait);
	int ret = 0;

	for (;;) {
		prepare_to_wait(&dev->wait, &wait, TASK_INTERRUPTIBLE);
		if (dev_has_event(reader))
			break;
		if (signal_pending(current)) {
			ret = -ERESTARTSYS;
			break;
		}
		intsight_schedule();
		*resumed = intsight_cycles();
	}
	finish_wait(&dev->wait, &wait);
	return ret;
}

static int sleep_directly(struct intsight_reader *reader, u64 *resumed)
{
	struct intsight_dev *dev = reader->dev;
	int ret = 0;

	prepare_to_rcuwait(&dev->sleeper);
	for (;;) {
		/* Pairs with the barrier in rcuwait_wake_up(). */
		set_current_state(TASK_INTERRUPTIBLE);
		if (dev_has_event(reader))
			break;
		if (signal_pending(current)) {
			ret = -ERESTARTSYS;
			break;
		}
		schedule();
		*resumed = intsight_cycles();
	}
	finish_rcuwait(&dev->sleeper);
	return ret;
}

/* The mode cannot change between this and the sleeper's end. */
static int dev_begin_sleep(struct intsight_dev *dev, u32 *mode)
{
	int ret = 0;

	if (mutex_lock_interruptible(&dev->mutex))
		return -ERESTARTSYS;
	*mode = dev->mode;
	if (intsight_mode_is_direct(*mode) && atomic_read(&dev->sleepers))
		ret = -EBUSY;
	else
		atomic_inc(&dev->sleepers);
	mutex_unlock(&dev->mutex);
	return ret;
}

/* Copies the event, unless another thread with the same file was faster. */
static bool dev_take_event(struct intsight_reader *reader,
			   struct intsight_event *event)
{
	struct intsight_dev *dev = reader->dev;
	unsigned long flags;
	bool taken = false;

	raw_spin_lock_irqsave(&dev->lock, flags);
	if (dev->event.seq != reader->seen) {
		u64 task = event->task;
		u64 resumed = event->resumed;

		/* One more came after the stamps: it did not wake us. */
		if (unlikely(task < dev->event.wake)) {
			task = intsight_cycles();
			resumed = 0;
		}
		*event = dev->event;
		event->size = sizeof(*event);
		event->missed = event->seq - reader->seen - 1;
		event->resumed = resumed;
		event->task = task;
		event->task_cpu = raw_smp_processor_id();
		if (reader->polled_seq == event->seq) {
			event->task = reader->polled;
			event->task_cpu = reader->polled_cpu;
		}
		WRITE_ONCE(reader->seen, event->seq);
		taken = true;
	}
	raw_spin_unlock_irqrestore(&dev->lock, flags);
	return taken;
}

/**
 * intsight_dev_wait() - sleep until an event that this file did not get
 * @reader: the file
 * @nonblock: do not sleep
 * @event: gets the event
 *
 * Context: the reader's task.
 * Return: 0, -EAGAIN if it would have to sleep and must not, -EBUSY if another
 * task sleeps in direct or timer mode, -ERESTARTSYS after a signal.
 */
int intsight_dev_wait(struct intsight_reader *reader, bool nonblock,
		      struct intsight_event *event)
{
	struct intsight_dev *dev = reader->dev;
	u32 mode;
	int ret;

	do {
		event->resumed = 0;
		if (dev_has_event(reader)) {
			event->task = intsight_cycles();
			continue;
		}
		if (nonblock)
			return -EAGAIN;

		ret = dev_begin_sleep(dev, &mode);
		if (ret)
			return ret;
		if (intsight_mode_is_direct(mode))
			ret = sleep_directly(reader, &event->resumed);
		else
			ret = sleep_on_queue(reader, &event->resumed);
		event->task = intsight_cycles();
		INTSIGHT_MARK(INTSIGHT_MARK_TARGET_KERNEL);
		atomic_dec(&dev->sleepers);
		if (ret)
			return ret;
	} while (!dev_take_event(reader, event));

	atomic64_inc(&dev->read);
	return 0;
}

/**
 * intsight_dev_forget() - have a file wait for future events only
 * @reader: the file
 */
void intsight_dev_forget(struct intsight_reader *reader)
{
	struct intsight_dev *dev = reader->dev;
	unsigned long flags;

	raw_spin_lock_irqsave(&dev->lock, flags);
	WRITE_ONCE(reader->seen, dev->event.seq);
	raw_spin_unlock_irqrestore(&dev->lock, flags);
}

/**
 * intsight_dev_polled() - whether a read would find an event
 * @reader: the file
 *
 * The first call that finds an event stamps it for the read that follows.
 */
bool intsight_dev_polled(struct intsight_reader *reader)
{
	struct intsight_dev *dev = reader->dev;
	unsigned long flags;

	if (!dev_has_event(reader))
		return false;

	raw_spin_lock_irqsave(&dev->lock, flags);
	if (reader->polled_seq != dev->event.seq) {
		INTSIGHT_MARK(INTSIGHT_MARK_TARGET_KERNEL);
		reader->polled_seq = dev->event.seq;
		reader->polled = intsight_cycles();
		reader->polled_cpu = raw_smp_processor_id();
	}
	raw_spin_unlock_irqrestore(&dev->lock, flags);
	return true;
}

/**
 * intsight_dev_wake() - wake those who wait for the event
 * @dev: the device
 *
 * Context: its handler.
 */
void intsight_dev_wake(struct intsight_dev *dev)
{
	if (dev->mode == INTSIGHT_MODE_DRIVER ||
	    dev->mode == INTSIGHT_MODE_THREADED) {
		wake_up_interruptible(&dev->wait);
		return;
	}
	if (dev->mode == INTSIGHT_MODE_WORK) {
		queue_work(system_highpri_wq, &dev->wake_work);
		return;
	}
	rcuwait_wake_up(&dev->sleeper);
	if (wq_has_sleeper(&dev->wait))
		irq_work_queue(&dev->poll_work);
}

/* Context: hardirq, or on PREEMPT_RT the irq_work thread. */
void intsight_dev_poll_work(struct irq_work *work)
{
	struct intsight_dev *dev = container_of(work, struct intsight_dev,
						poll_work);

	wake_up_interruptible(&dev->wait);
}

/* Context: a worker. */
void intsight_dev_wake_work(struct work_struct *work)
{
	struct intsight_dev *dev = container_of(work, struct intsight_dev,
						wake_work);

	wake_up_interruptible(&dev->wait);
}
