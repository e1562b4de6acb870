// SPDX-License-Identifier: GPL-2.0-only
/* /sys/kernel/irqpath/netprio. */
#include "../sysfs.h"
#include "netprio.h"

/* With less the guard would serve most packets, with more connections break. */
#define HOLD_MIN_US	1000
#define HOLD_MAX_US	10000000

static struct irqpath_switch netprio = {
	.file = IRQPATH_SWITCH_FILE,
	.start = irqpath_netprio_start,
	.stop = irqpath_netprio_stop,
};

static struct irqpath_setting max_hold_us = {
	.file = IRQPATH_SETTING_FILE(max_hold_us),
	.value = &irqpath_max_hold_us,
	.min = HOLD_MIN_US,
	.max = HOLD_MAX_US,
	.or_zero = true,
	.set = irqpath_set_max_hold,
};

static struct irqpath_setting napi_hold_us = {
	.file = IRQPATH_SETTING_FILE(napi_hold_us),
	.value = &irqpath_napi_hold_us,
	.min = HOLD_MIN_US,
	.max = HOLD_MAX_US,
	.or_zero = true,
	.set = irqpath_set_napi_hold,
};

static struct irqpath_setting queue_limit = {
	.file = IRQPATH_SETTING_FILE(queue_limit),
	.value = &irqpath_queue_limit,
	.min = 1,
	.max = UINT_MAX,
};

static struct attribute *attrs[] = {
	&netprio.file.attr,
	&max_hold_us.file.attr,
	&napi_hold_us.file.attr,
	&queue_limit.file.attr,
	&IRQPATH_COUNTER(exempt).file.attr,
	&IRQPATH_COUNTER(classified).file.attr,
	&IRQPATH_COUNTER(passed).file.attr,
	&IRQPATH_COUNTER(held).file.attr,
	&IRQPATH_COUNTER(resorted).file.attr,
	&IRQPATH_COUNTER(dropped).file.attr,
	&IRQPATH_COUNTER(served).file.attr,
	&IRQPATH_COUNTER(expired).file.attr,
	&IRQPATH_COUNTER(purged).file.attr,
	&IRQPATH_COUNTER(kept).file.attr,
	NULL,
};

const struct attribute_group irqpath_netprio_group = {
	.name = "netprio",
	.attrs = attrs,
};
