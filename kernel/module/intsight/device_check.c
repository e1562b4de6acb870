// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks for tests of kernels that run the handlers of /dev/intsightN elsewhere
 * than in the interrupt's thread.
 *
 * Only handlers that a disturbance makes long (INTSIGHT_DISTURB_HANDLER) check,
 * so that measured handlers do not pay for it.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "compat.h"
#include "device.h"

#define PATIENCE	(5 * HZ)

static unsigned int overlaps;
module_param(overlaps, uint, 0444);
MODULE_PARM_DESC(overlaps, "handlers that ran while a long one of their device did");

static bool bus;
module_param(bus, bool, 0644);
MODULE_PARM_DESC(bus, "long handlers wake the thread of device 0, as a bus's do for a device on it");

enum {
	INVERSION_NONE,
	INVERSION_HANDLER,	/* long handlers take the lock */
	INVERSION_SLEEPER,	/* the writer sleeps with the lock held */
};

static unsigned int inversion;
#ifdef CONFIG_LOCKDEP
/* Known to lockdep only, so that nothing really waits for it. */
static struct lockdep_map inverted =
	STATIC_LOCKDEP_MAP_INIT("inverted", &inverted);
#endif

/* Spurious to the thread, whose device has raised nothing. */
static void wake_first_thread(struct intsight_dev *dev)
{
	struct intsight_dev *first = intsight_first_device();

	if (first && first != dev && READ_ONCE(first->requested))
		irq_wake_thread(intsight_line_irq(first->line), first);
}

/**
 * intsight_check_begin() - a long handler begins
 * @dev: its device
 *
 * Context: the handler.
 * Return: for intsight_check_end().
 */
u64 intsight_check_begin(struct intsight_dev *dev)
{
	atomic_inc(&dev->running);
	if (READ_ONCE(inversion) == INVERSION_HANDLER) {
		lock_map_acquire(&inverted);
		lock_map_release(&inverted);
	}
	if (READ_ONCE(bus))
		wake_first_thread(dev);
	return READ_ONCE(dev->event.seq);
}

/**
 * intsight_check_end() - a long handler ends
 * @dev: its device
 * @handled: what intsight_check_begin() returned: what was handled then
 */
void intsight_check_end(struct intsight_dev *dev, u64 handled)
{
	if (READ_ONCE(dev->event.seq) != handled)
		WRITE_ONCE(overlaps, overlaps + 1);
	atomic_dec(&dev->running);
}

/*
 * Waits for a long handler and then until its line is quiet. -ETIMEDOUT if
 * there is none, -EBUSY if it runs although its line is said to be quiet.
 */
static int synchronize_set(const char *text, const struct kernel_param *kp)
{
	unsigned long last = jiffies + PATIENCE;
	struct intsight_dev *dev = intsight_first_device();

	if (!dev)
		return -ENODEV;
	while (!atomic_read(&dev->running)) {
		if (time_after(jiffies, last))
			return -ETIMEDOUT;
		usleep_range(1000, 1500);
	}
	synchronize_irq(intsight_line_irq(dev->line));
	return atomic_read(&dev->running) ? -EBUSY : 0;
}

static const struct kernel_param_ops synchronize_ops = {
	.set = synchronize_set,
};
module_param_cb(synchronize, &synchronize_ops, NULL, 0200);
MODULE_PARM_DESC(synchronize, "write: wait for a long handler of device 0, and until its line is quiet");

#ifdef CONFIG_PREEMPT_RCU
/*
 * Runs RCU readers for the given milliseconds, one after the other. Each reads
 * until it is preempted. -ETIMEDOUT if none was. -EBUSY if RCU, which must wait
 * for preempted readers, does not know of one.
 */
static int read_set(const char *text, const struct kernel_param *kp)
{
	unsigned int ms, left = 0, unknown = 0;
	int ret = kstrtouint(text, 0, &ms);
	unsigned long last = jiffies + msecs_to_jiffies(ms);

	if (ret)
		return ret;
	while (time_before(jiffies, last)) {
		unsigned long switches;

		rcu_read_lock();
		switches = READ_ONCE(current->nivcsw);
		while (READ_ONCE(current->nivcsw) == switches &&
		       time_before(jiffies, last))
			cpu_relax();
		if (READ_ONCE(current->nivcsw) != switches) {
			left++;
			unknown += !current->rcu_read_unlock_special.b.blocked;
		}
		rcu_read_unlock();
	}
	if (unknown)
		return -EBUSY;
	return left ? 0 : -ETIMEDOUT;
}

static const struct kernel_param_ops read_ops = {
	.set = read_set,
};
module_param_cb(read, &read_ops, NULL, 0200);
MODULE_PARM_DESC(read, "write N: be an RCU reader for N ms, one that RCU knows of when it is left");
#endif

/*
 * The handler takes a lock, and a task holds it while it sleeps where it may be
 * offered handlers.
 */
static int inversion_set(const char *text, const struct kernel_param *kp)
{
	unsigned int value;
	int ret = kstrtouint(text, 0, &value);

	if (ret || value > INVERSION_SLEEPER)
		return ret ?: -EINVAL;
	WRITE_ONCE(inversion, value);
	if (value != INVERSION_SLEEPER)
		return 0;
	/*
	 * The task is running and comes back at once. Only the place matters.
	 */
	lock_map_acquire(&inverted);
	intsight_schedule();
	lock_map_release(&inverted);
	return 0;
}

static const struct kernel_param_ops inversion_ops = {
	.set = inversion_set,
};
module_param_cb(inversion, &inversion_ops, NULL, 0200);
MODULE_PARM_DESC(inversion, "write 1: long handlers take a lock; 2: sleep with it, as a task that waits");
