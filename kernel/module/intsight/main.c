// SPDX-License-Identifier: GPL-2.0-only
/*
 * intsight: raises interrupts and measures the work that they cause.
 *
 * This file only starts the parts. Each one stands alone:
 *   clock.c    clocks, and how fast the cycle counter is
 *   line.c     interrupt lines that any machine can raise
 *   bench.c    what the bottom halves of an interrupt cost (debugfs.c)
 *   device.c   /dev/intsight, a task that sleeps until its interrupt came
 *   nic.c      a network device with such a line and NAPI
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/init.h>
#include <linux/module.h>

#include "intsight.h"

struct intsight_part {
	int (*init)(void);
	void (*exit)(void);
};

/* In the order of init; taken down from the last to the first. */
static const struct intsight_part parts[] = {
	{ intsight_cycles_init },
	{ intsight_line_init, intsight_line_exit },
	{ intsight_softirq_init },
	{ intsight_workqueue_init, intsight_workqueue_exit },
	{ intsight_hrtimer_init },
	{ intsight_trigger_init, intsight_trigger_exit },
	{ intsight_edu_init, intsight_edu_exit },
	{ intsight_gpio_init, intsight_gpio_exit },
	{ intsight_nic_init, intsight_nic_exit },
	/* What can be opened comes last: an init that fails does not wait. */
	{ intsight_device_init, intsight_device_exit },
	{ intsight_debugfs_init, intsight_debugfs_exit },
};

static void parts_exit(size_t nr_parts)
{
	while (nr_parts--)
		if (parts[nr_parts].exit)
			parts[nr_parts].exit();
}

static int __init intsight_init(void)
{
	size_t i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		ret = parts[i].init();
		if (ret) {
			parts_exit(i);
			return ret;
		}
	}
	return 0;
}
module_init(intsight_init);

static void __exit intsight_exit(void)
{
	parts_exit(ARRAY_SIZE(parts));
}
module_exit(intsight_exit);

MODULE_DESCRIPTION("Interrupts on demand and the time their bottom halves take");
MODULE_LICENSE("GPL");
