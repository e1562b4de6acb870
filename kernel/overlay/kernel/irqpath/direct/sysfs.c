// SPDX-License-Identifier: GPL-2.0-only
/* /sys/kernel/irqpath/direct. */
#include "../sysfs.h"
#include "direct.h"

static struct irqpath_switch direct = {
	.file = IRQPATH_SWITCH_FILE,
	.start = irqpath_direct_start,
	.stop = irqpath_direct_stop,
};

static struct attribute *attrs[] = {
	&direct.file.attr,
	&IRQPATH_COUNTER(switched).file.attr,
	&IRQPATH_COUNTER(overtaken).file.attr,
	&IRQPATH_COUNTER(busy).file.attr,
	&IRQPATH_COUNTER(outranked).file.attr,
	&IRQPATH_COUNTER(remote).file.attr,
	&IRQPATH_COUNTER(unfit).file.attr,
#ifdef CONFIG_IRQPATH_MIGRATE
	&IRQPATH_COUNTER(blocked).file.attr,
#endif
	NULL,
};

const struct attribute_group irqpath_direct_group = {
	.name = "direct",
	.attrs = attrs,
};
