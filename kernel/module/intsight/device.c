// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/intsightN: a task sleeps until its interrupt came.
 *
 * This file has the character devices and checks what user space says; the
 * interrupt itself is in device_irq.c, the sleep in device_wait.c, the delays
 * on request in device_disturb.c. Every device has a line of its own, and
 * /dev/intsight is another name of /dev/intsight0.
 *
 * Readers sleep inside file operations, so that the open file keeps the
 * module: there is nothing to wake when it goes. The close of the file that
 * armed a device disarms it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "cycles.h"
#include "device.h"
#include "intsight.h"

#define MAX_DEVICES 8

static unsigned int nr_devices = 2;
module_param(nr_devices, uint, 0444);
MODULE_PARM_DESC(nr_devices, "number of /dev/intsightN, 0 to 8 (default 2)");

static struct intsight_dev *devices;

static int dev_open(struct inode *inode, struct file *file);

static int dev_release(struct inode *inode, struct file *file)
{
	struct intsight_reader *reader = file->private_data;
	struct intsight_dev *dev = reader->dev;

	mutex_lock(&dev->mutex);
	if (dev->owner == reader)
		intsight_dev_disarm(dev);
	mutex_unlock(&dev->mutex);
	kfree(reader);
	return 0;
}

static ssize_t dev_read(struct file *file, char __user *buf, size_t size,
			loff_t *pos)
{
	struct intsight_event event = {};
	int ret;

	if (size < sizeof(event))
		return -EINVAL;
	ret = intsight_dev_wait(file->private_data,
				file->f_flags & O_NONBLOCK, &event);
	if (ret)
		return ret;
	return copy_to_user(buf, &event, sizeof(event)) ? -EFAULT :
							  sizeof(event);
}

static __poll_t dev_poll(struct file *file, poll_table *table)
{
	struct intsight_reader *reader = file->private_data;

	poll_wait(file, &reader->dev->wait, table);
	return intsight_dev_polled(reader) ? EPOLLIN | EPOLLRDNORM : 0;
}

/*
 * All structures begin with size and flags. Copies the whole of one and checks
 * these two: this version knows one size of each, and no flags.
 */
static int copy_request(void *to, const void __user *from, size_t size)
{
	const u32 *head = to;

	if (copy_from_user(to, from, size))
		return -EFAULT;
	return head[0] == size && !head[1] ? 0 : -EINVAL;
}

static int copy_reply(void __user *to, const void *from, size_t size)
{
	return copy_to_user(to, from, size) ? -EFAULT : 0;
}

static long dev_ioctl_info(struct intsight_dev *dev, void __user *argp)
{
	struct intsight_info info;
	int ret = copy_request(&info, argp, sizeof(info));

	if (ret)
		return ret;
	if (memchr_inv(info.reserved, 0, sizeof(info.reserved)))
		return -EINVAL;
	info.index = dev->index;
	info.mode = READ_ONCE(dev->mode);
	info.irq = intsight_line_irq(dev->line);
	info.intruder_irq = intsight_line_irq(dev->intruder);
	info.cycles_khz = intsight_cycles_khz();
	return copy_reply(argp, &info, sizeof(info));
}

static bool arm_is_valid(const struct intsight_arm *arm)
{
	if (memchr_inv(arm->reserved, 0, sizeof(arm->reserved)) ||
	    arm->delay_ns > INTSIGHT_MAX_DELAY_NS)
		return false;
	if (!arm->period_ns)
		return arm->count <= 1;
	return arm->period_ns >= INTSIGHT_MIN_PERIOD_NS &&
	       arm->period_ns <= INTSIGHT_MAX_DELAY_NS;
}

static int dev_arm(struct intsight_reader *reader,
		   const struct intsight_arm *arm)
{
	struct intsight_dev *dev = reader->dev;
	int ret;

	if (!arm_is_valid(arm))
		return -EINVAL;
	mutex_lock(&dev->mutex);
	ret = intsight_dev_arm(dev, reader, arm);
	mutex_unlock(&dev->mutex);
	return ret;
}

static long dev_ioctl_arm(struct intsight_reader *reader, void __user *argp)
{
	struct intsight_arm arm;
	int ret = copy_request(&arm, argp, sizeof(arm));

	return ret ?: dev_arm(reader, &arm);
}

static long dev_ioctl_disarm(struct intsight_dev *dev, unsigned long arg)
{
	if (arg)
		return -EINVAL;
	mutex_lock(&dev->mutex);
	intsight_dev_disarm(dev);
	mutex_unlock(&dev->mutex);
	/* Afterwards the counts agree, unless somebody has armed it again. */
	return wait_event_interruptible(dev->wait, intsight_dev_quiet(dev) ||
					intsight_dev_armed(dev));
}

static long dev_ioctl_wait(struct intsight_reader *reader, bool nonblock,
			   void __user *argp)
{
	struct intsight_event event;
	int ret = copy_request(&event, argp, sizeof(event));

	if (!ret)
		ret = intsight_dev_wait(reader, nonblock, &event);
	return ret ?: copy_reply(argp, &event, sizeof(event));
}

static long dev_ioctl_arm_wait(struct intsight_reader *reader, bool nonblock,
			       void __user *argp)
{
	struct intsight_arm_wait __user *user = argp;
	struct intsight_arm_wait both;
	int ret = copy_request(&both.arm, &user->arm, sizeof(both.arm)) ?:
		  copy_request(&both.event, &user->event, sizeof(both.event));

	if (!ret)
		ret = dev_arm(reader, &both.arm);
	if (!ret)
		ret = intsight_dev_wait(reader, nonblock, &both.event);
	/* A restart would arm once more. */
	if (ret == -ERESTARTSYS)
		return -EINTR;
	return ret ?: copy_reply(&user->event, &both.event,
				 sizeof(both.event));
}

static long dev_ioctl_disturb(struct intsight_dev *dev, unsigned int cmd,
			      void __user *argp)
{
	struct intsight_disturb disturb;
	int ret = copy_request(&disturb, argp, sizeof(disturb));

	if (ret)
		return ret;
	mutex_lock(&dev->mutex);
	if (cmd == INTSIGHT_IOC_DISTURB)
		ret = intsight_disturb_set(dev, &disturb);
	else
		ret = intsight_disturb_get(dev, &disturb);
	mutex_unlock(&dev->mutex);
	if (ret || cmd == INTSIGHT_IOC_DISTURB)
		return ret;
	return copy_reply(argp, &disturb, sizeof(disturb));
}

static long dev_ioctl_counts(struct intsight_dev *dev, void __user *argp)
{
	struct intsight_counts counts;
	int ret = copy_request(&counts, argp, sizeof(counts));

	if (ret)
		return ret;
	counts.expired = READ_ONCE(dev->expired);
	counts.raised = READ_ONCE(dev->raised);
	counts.handled = READ_ONCE(dev->event.seq);
	counts.overruns = READ_ONCE(dev->overruns);
	counts.spurious = READ_ONCE(dev->spurious);
	counts.read = atomic64_read(&dev->read);
	return copy_reply(argp, &counts, sizeof(counts));
}

static long dev_ioctl_mode(struct intsight_dev *dev, unsigned long mode)
{
	int ret;

	mutex_lock(&dev->mutex);
	ret = intsight_dev_set_mode(dev, mode);
	mutex_unlock(&dev->mutex);
	return ret;
}

static long dev_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct intsight_reader *reader = file->private_data;
	struct intsight_dev *dev = reader->dev;
	bool nonblock = file->f_flags & O_NONBLOCK;
	void __user *argp = (void __user *)arg;

	switch (cmd) {
	case INTSIGHT_IOC_INFO:
		return dev_ioctl_info(dev, argp);
	case INTSIGHT_IOC_MODE:
		return dev_ioctl_mode(dev, arg);
	case INTSIGHT_IOC_ARM:
		return dev_ioctl_arm(reader, argp);
	case INTSIGHT_IOC_DISARM:
		return dev_ioctl_disarm(dev, arg);
	case INTSIGHT_IOC_WAIT:
		return dev_ioctl_wait(reader, nonblock, argp);
	case INTSIGHT_IOC_ARM_WAIT:
		return dev_ioctl_arm_wait(reader, nonblock, argp);
	case INTSIGHT_IOC_DISTURB:
	case INTSIGHT_IOC_DISTURBED:
		return dev_ioctl_disturb(dev, cmd, argp);
	case INTSIGHT_IOC_COUNTS:
		return dev_ioctl_counts(dev, argp);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations dev_fops = {
	.owner		= THIS_MODULE,
	.open		= dev_open,
	.release	= dev_release,
	.read		= dev_read,
	.poll		= dev_poll,
	.unlocked_ioctl	= dev_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.llseek		= noop_llseek,
};

static struct miscdevice alias = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "intsight",
	.fops	= &dev_fops,
};

/* Also for the alias. */
static int dev_open(struct inode *inode, struct file *file)
{
	struct miscdevice *misc = file->private_data;
	struct intsight_reader *reader;

	reader = kzalloc(sizeof(*reader), GFP_KERNEL);
	if (!reader)
		return -ENOMEM;
	reader->dev = misc == &alias ? devices :
		      container_of(misc, struct intsight_dev, misc);
	intsight_dev_forget(reader);
	file->private_data = reader;
	return stream_open(inode, file);
}

/**
 * intsight_first_device() - /dev/intsight0
 *
 * Return: NULL if there is none.
 */
struct intsight_dev *intsight_first_device(void)
{
	return devices;
}

static int dev_create(struct intsight_dev *dev, unsigned int index)
{
	int ret;

	dev->index = index;
	snprintf(dev->name, sizeof(dev->name), "intsight%u", index);
	ret = intsight_dev_irq_init(dev);
	if (ret)
		return ret;
	ret = intsight_disturb_init(dev);
	if (ret)
		intsight_dev_irq_exit(dev);
	return ret;
}

/* No handler may run when what it set going has been waited for. */
static void dev_remove(struct intsight_dev *dev)
{
	intsight_dev_irq_exit(dev);
	intsight_disturb_exit(dev);
}

static int dev_register(struct intsight_dev *dev)
{
	dev->misc.minor = MISC_DYNAMIC_MINOR;
	dev->misc.name = dev->name;
	dev->misc.fops = &dev_fops;
	return misc_register(&dev->misc);
}

static void devices_remove(unsigned int nr)
{
	while (nr--)
		dev_remove(&devices[nr]);
	kfree(devices);
	devices = NULL;
}

int intsight_device_init(void)
{
	unsigned int nr_made, nr_named;
	int ret;

	if (nr_devices > MAX_DEVICES) {
		pr_err("nr_devices=%u: at most %d\n", nr_devices,
		       MAX_DEVICES);
		return -EINVAL;
	}
	if (!nr_devices)
		return 0;

	devices = kcalloc(nr_devices, sizeof(*devices), GFP_KERNEL);
	if (!devices)
		return -ENOMEM;
	for (nr_made = 0; nr_made < nr_devices; nr_made++) {
		ret = dev_create(&devices[nr_made], nr_made);
		if (ret)
			goto err_made;
	}
	/* From here on they can be opened, so that little may still fail. */
	for (nr_named = 0; nr_named < nr_devices; nr_named++) {
		ret = dev_register(&devices[nr_named]);
		if (ret)
			goto err_named;
	}
	ret = misc_register(&alias);
	if (ret)
		goto err_named;
	return 0;

err_named:
	while (nr_named--)
		misc_deregister(&devices[nr_named].misc);
err_made:
	devices_remove(nr_made);
	return ret;
}

void intsight_device_exit(void)
{
	unsigned int i;

	if (!nr_devices)
		return;
	misc_deregister(&alias);
	for (i = 0; i < nr_devices; i++)
		misc_deregister(&devices[i].misc);
	devices_remove(nr_devices);
}
