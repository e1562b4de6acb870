// SPDX-License-Identifier: GPL-2.0-only
/*
 * One interrupt of /dev/intsightN, from its timer to its handler.
 *
 * A hard hrtimer claims the shot, plans its disturbances and raises the line.
 * The handler is like an ordinary driver's: it takes only spinlocks, so that it
 * may run in hardirq context or in a forced thread.
 *
 * The hardirq part of a forced handler belongs to the core and cannot be
 * stamped. Instead our copy of the line's chip stamps when the flow handler
 * masks the line. In timer mode the timer calls the handler, without a line.
 */
#include <linux/err.h>
#include <linux/irq.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/preempt.h>

#include "compat.h"
#include "cycles.h"
#include "device.h"
#include "intsight.h"
#include "intsight_mark.h"

static bool messages;
module_param(messages, bool, 0444);
MODULE_PARM_DESC(messages, "interrupts of /dev/intsightN are as messages: not masked while a thread handles them");

static bool edu;
module_param(edu, bool, 0444);
MODULE_PARM_DESC(edu, "QEMU's edu device raises /dev/intsight0 from CPUs other than its line's (default N)");

/* The line's own chip, and ours that stamps before it masks. */
static const struct irq_chip *line_chip;
static struct irq_chip stamping_chip;

/* Context: the flow handler, or whoever else masks the line; irqs off. */
static void dev_irq_mask(struct irq_data *data)
{
	struct intsight_dev *dev = irq_data_get_irq_handler_data(data);
	struct intsight_shot *shot = &dev->shot;

	/*
	 * disable_irq() may meet a raise that is not delivered yet: harmless.
	 */
	if (smp_load_acquire(&shot->state) == INTSIGHT_SHOT_RAISED)
		shot->primary = intsight_cycles();
	line_chip->irq_mask(data);
}

static irqreturn_t dev_irq(int irq, void *data);

/**
 * intsight_dev_inject() - stamp and raise the claimed shot
 * @dev: the device
 *
 * Context: hardirq (the timer), or a thread with preemption or interrupts off.
 */
void intsight_dev_inject(struct intsight_dev *dev)
{
	struct intsight_shot *shot = &dev->shot;

	WRITE_ONCE(dev->raised, shot->seq);
	shot->raise_cpu = smp_processor_id();
	shot->primary = 0;
	shot->raise = intsight_cycles();
	INTSIGHT_MARK(INTSIGHT_MARK_RAISE);
	/* Hands the shot over: pairs with the handler's acquire. */
	smp_store_release(&shot->state, INTSIGHT_SHOT_RAISED);
	if (!in_hardirq())
		intsight_line_raise(dev->line);
	else if (dev->mode == INTSIGHT_MODE_TIMER)
		dev_irq(0, dev);
	else
		intsight_line_raise_hardirq(dev->line);
}

/* Context: hardirq. */
static enum hrtimer_restart dev_expired(struct hrtimer *timer)
{
	struct intsight_dev *dev = container_of(timer, struct intsight_dev,
						timer);
	enum hrtimer_restart restart = HRTIMER_NORESTART;
	u64 due_ns = ktime_to_ns(hrtimer_get_expires(timer));
	struct intsight_shot *shot = &dev->shot;
	u64 nr_due = 1;
	bool claimed;

	if (dev->left > 1) {
		nr_due = hrtimer_forward_now(timer, ns_to_ktime(dev->period));
		nr_due = min(nr_due, dev->left);
	}
	dev->left -= nr_due;
	if (dev->left)
		restart = HRTIMER_RESTART;

	/* Pairs with the release of the handler, which read the last shot. */
	claimed = smp_load_acquire(&shot->state) == INTSIGHT_SHOT_FREE;
	if (claimed) {
		shot->seq = dev->raised + 1;
		shot->due_ns = due_ns;
		intsight_disturb_plan(dev);
		WRITE_ONCE(shot->state, INTSIGHT_SHOT_CLAIMED);
	}
	WRITE_ONCE(dev->expired, dev->expired + nr_due);
	WRITE_ONCE(dev->overruns, dev->overruns + nr_due - claimed);
	if (restart == HRTIMER_NORESTART) {
		/* Once unarmed, everything that was read above may change. */
		smp_store_release(&dev->armed, false);
	}

	if (claimed)
		intsight_disturb_raise(dev);
	return restart;
}

/* Context: hardirq, or a thread; with bottom halves off unless threaded. */
static irqreturn_t dev_irq(int irq, void *data)
{
	u64 handler = intsight_cycles();
	struct intsight_dev *dev = data;
	struct intsight_shot shot;
	unsigned long flags;

	if (in_hardirq())
		INTSIGHT_MARK(INTSIGHT_MARK_HARDIRQ);
	else
		INTSIGHT_MARK(INTSIGHT_MARK_IRQ_THREAD);

	/* Pairs with the release of the one who raised. */
	if (smp_load_acquire(&dev->shot.state) != INTSIGHT_SHOT_RAISED) {
		WRITE_ONCE(dev->spurious, dev->spurious + 1);
		return IRQ_NONE;
	}
	shot = dev->shot;
	/* Pairs with the timer's acquire: it may overwrite the shot now. */
	smp_store_release(&dev->shot.state, INTSIGHT_SHOT_FREE);

	intsight_disturb_in_handler(dev, &shot);

	raw_spin_lock_irqsave(&dev->lock, flags);
	dev->event.flags = in_hardirq() ? INTSIGHT_EVENT_HARDIRQ : 0;
	dev->event.due_ns = shot.due_ns;
	dev->event.raise = shot.raise;
	dev->event.raise_cpu = shot.raise_cpu;
	dev->event.primary = shot.primary;
	dev->event.handler = handler;
	dev->event.handler_cpu = raw_smp_processor_id();
	dev->event.wake = intsight_cycles();
	WRITE_ONCE(dev->event.seq, shot.seq);
	raw_spin_unlock_irqrestore(&dev->lock, flags);

	intsight_dev_wake(dev);
	return IRQ_HANDLED;
}

static int dev_request_irq(struct intsight_dev *dev, u32 mode)
{
	unsigned int irq = intsight_line_irq(dev->line);
	int ret;

	if (mode == INTSIGHT_MODE_THREADED)
		ret = request_threaded_irq(irq, NULL, dev_irq, IRQF_ONESHOT,
					   dev->name, dev);
	else
		ret = request_irq(irq, dev_irq, intsight_mode_is_direct(mode) ?
				  IRQF_NO_THREAD : 0, dev->name, dev);
	dev->requested = !ret;
	if (!ret)
		dev->mode = mode;
	return ret;
}

static void dev_free_irq(struct intsight_dev *dev)
{
	if (dev->requested)
		free_irq(intsight_line_irq(dev->line), dev);
	dev->requested = false;
}

/**
 * intsight_dev_set_mode() - register the handler in another way
 * @dev: the device, with its mutex held
 * @mode: enum intsight_mode, unchecked
 *
 * Return: 0, -EINVAL, -EBUSY if the device is in use, or what request_irq()
 * says. Only in the last case the device has no handler, until a mode can be
 * set.
 */
int intsight_dev_set_mode(struct intsight_dev *dev, unsigned long mode)
{
	lockdep_assert_held(&dev->mutex);

	if (mode > INTSIGHT_MODE_TIMER)
		return -EINVAL;
	if (!intsight_dev_quiet(dev) || atomic_read(&dev->sleepers))
		return -EBUSY;
	/* Its thread may have been given a priority: leave it alone. */
	if (dev->requested && mode == dev->mode)
		return 0;

	dev_free_irq(dev);
	return dev_request_irq(dev, mode);
}

/**
 * intsight_dev_arm() - start the timer
 * @dev: the device, with its mutex held
 * @reader: the caller's file, which becomes the owner
 * @arm: what to do, checked
 *
 * Return: 0, -EBUSY if it is armed already, -EIO if it has no handler.
 */
int intsight_dev_arm(struct intsight_dev *dev, struct intsight_reader *reader,
		     const struct intsight_arm *arm)
{
	lockdep_assert_held(&dev->mutex);

	if (intsight_dev_armed(dev))
		return -EBUSY;
	if (!dev->requested)
		return -EIO;

	intsight_dev_forget(reader);
	dev->owner = reader;
	dev->period = arm->period_ns;
	dev->left = arm->period_ns ? arm->count ?: U64_MAX : 1;
	WRITE_ONCE(dev->armed, true);

	migrate_disable();
	intsight_disturb_follow(dev, smp_processor_id());
	hrtimer_start(&dev->timer, ns_to_ktime(arm->delay_ns),
		      HRTIMER_MODE_REL_PINNED_HARD);
	migrate_enable();
	return 0;
}

/**
 * intsight_dev_disarm() - stop the timer; nothing is raised after this
 * @dev: the device, with its mutex held
 *
 * A raise that is under way is handled as ever.
 */
void intsight_dev_disarm(struct intsight_dev *dev)
{
	lockdep_assert_held(&dev->mutex);

	hrtimer_cancel(&dev->timer);
	WRITE_ONCE(dev->armed, false);
	dev->owner = NULL;
	intsight_disturb_flush(dev);
}

/* All lines have the same chip, so that one copy does. */
static void dev_stamp_mask(struct intsight_dev *dev)
{
	int irq = intsight_line_irq(dev->line);

	if (!line_chip) {
		line_chip = irq_get_chip(irq);
		stamping_chip = *line_chip;
		stamping_chip.irq_mask = dev_irq_mask;
	}
	irq_set_handler_data(irq, dev);
	irq_set_chip(irq, &stamping_chip);
}

int intsight_dev_irq_init(struct intsight_dev *dev)
{
	int ret;

	mutex_init(&dev->mutex);
	raw_spin_lock_init(&dev->lock);
	init_waitqueue_head(&dev->wait);
	rcuwait_init(&dev->sleeper);
	init_irq_work(&dev->poll_work, intsight_dev_poll_work);
	INIT_WORK(&dev->wake_work, intsight_dev_wake_work);
	intsight_hrtimer_setup(&dev->timer, dev_expired, CLOCK_MONOTONIC,
			       HRTIMER_MODE_REL_PINNED_HARD);

	dev->line = intsight_line_create(dev->name, messages ?
					 INTSIGHT_LINE_ONESHOT_SAFE : 0);
	if (IS_ERR(dev->line))
		return PTR_ERR(dev->line);
	dev_stamp_mask(dev);
	ret = dev_request_irq(dev, dev->mode);
	if (ret)
		goto err_line;
	ret = edu && !dev->index ? intsight_edu_carry(dev->line) : 0;
	if (ret)
		goto err_irq;
	return 0;

err_irq:
	dev_free_irq(dev);
err_line:
	intsight_line_destroy(dev->line);
	return ret;
}

void intsight_dev_irq_exit(struct intsight_dev *dev)
{
	if (edu && !dev->index)
		intsight_edu_leave();
	dev_free_irq(dev);
	intsight_line_destroy(dev->line);
	irq_work_sync(&dev->poll_work);
	flush_work(&dev->wake_work);
}
