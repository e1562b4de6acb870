// SPDX-License-Identifier: GPL-2.0-only
/*
 * nmishot - a timer that wakes its reader, and an NMI of known length that comes between.
 *
 * read() arms a timer, sleeps until it has expired, and returns two u64: when the timer was due
 * (CLOCK_MONOTONIC, ns) and how long the NMI took (ns). The timer's handler wakes the reader and
 * then sends an NMI to its own CPU. For x86, and one reader at a time.
 */
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/swait.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include <asm/apic.h>
#include <asm/nmi.h>

static unsigned int delay_us = 2000;
module_param(delay_us, uint, 0644);
MODULE_PARM_DESC(delay_us, "time until the timer expires, us");

static unsigned int busy_us = 500;
module_param(busy_us, uint, 0644);
MODULE_PARM_DESC(busy_us, "length of the NMI, us");

static DEFINE_MUTEX(reading);
/* Of the simple kind: the timer expires in a hardirq on PREEMPT_RT, too. */
static DECLARE_SWAIT_QUEUE_HEAD(readers);
static struct hrtimer timer;
static bool expired, wanted;
static int cpu_wanted;
static u64 nmi_ns;

/* Context: NMI. */
static int shot_nmi(unsigned int type, struct pt_regs *regs)
{
	u64 begin = ktime_get_mono_fast_ns();
	u64 spent;

	if (!READ_ONCE(wanted) || cpu_wanted != smp_processor_id())
		return NMI_DONE;
	do {
		cpu_relax();
		spent = ktime_get_mono_fast_ns() - begin;
	} while (spent < busy_us * NSEC_PER_USEC);
	nmi_ns = spent;
	WRITE_ONCE(wanted, false);
	return NMI_HANDLED;
}

/* Context: hardirq. */
static enum hrtimer_restart shot_expired(struct hrtimer *unused)
{
	expired = true;
	swake_up_one(&readers);
	cpu_wanted = smp_processor_id();
	WRITE_ONCE(wanted, true);
	apic->send_IPI(cpu_wanted, NMI_VECTOR);
	while (READ_ONCE(wanted))
		cpu_relax();
	return HRTIMER_NORESTART;
}

static ssize_t shot_read(struct file *file, char __user *buf, size_t count, loff_t *pos)
{
	u64 result[2];
	int ret;

	if (count < sizeof(result))
		return -EINVAL;
	ret = mutex_lock_interruptible(&reading);
	if (ret)
		return ret;
	expired = false;
	result[0] = ktime_get_ns() + delay_us * NSEC_PER_USEC;
	hrtimer_start(&timer, ns_to_ktime(result[0]), HRTIMER_MODE_ABS_PINNED_HARD);
	ret = swait_event_interruptible_exclusive(readers, READ_ONCE(expired));
	hrtimer_cancel(&timer);
	result[1] = nmi_ns;
	mutex_unlock(&reading);
	if (ret)
		return ret;
	return copy_to_user(buf, result, sizeof(result)) ? -EFAULT : sizeof(result);
}

static const struct file_operations shot_fops = {
	.owner	= THIS_MODULE,
	.read	= shot_read,
};

static struct miscdevice shot_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "nmishot",
	.fops	= &shot_fops,
	.mode	= 0600,
};

static int __init shot_init(void)
{
	int ret;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, shot_expired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	timer.function = shot_expired;
#endif
	ret = register_nmi_handler(NMI_LOCAL, shot_nmi, 0, "nmishot");
	if (ret)
		return ret;
	ret = misc_register(&shot_device);
	if (ret)
		unregister_nmi_handler(NMI_LOCAL, "nmishot");
	return ret;
}
module_init(shot_init);

static void __exit shot_exit(void)
{
	misc_deregister(&shot_device);
	unregister_nmi_handler(NMI_LOCAL, "nmishot");
}
module_exit(shot_exit);

MODULE_DESCRIPTION("A wakeup with an NMI of known length");
MODULE_LICENSE("GPL");
