// SPDX-License-Identifier: GPL-2.0-only
/* /sys/kernel/irqpath/direct. */
#include <linux/kobject.h>
#include <linux/sysfs.h>

#include "irqpath.h"

static struct irqpath_switch direct = {
	.start = irqpath_direct_start,
	.stop = irqpath_direct_stop,
};

static ssize_t enabled_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(direct.enabled));
}

static ssize_t enabled_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	return irqpath_store_enabled(&direct, buf, count);
}

static struct kobj_attribute enabled_attr = __ATTR_RW(enabled);

IRQPATH_STATISTIC(switched);
IRQPATH_STATISTIC(overtaken);
IRQPATH_STATISTIC(busy);
IRQPATH_STATISTIC(outranked);
IRQPATH_STATISTIC(remote);
IRQPATH_STATISTIC(unfit);

static struct attribute *direct_attrs[] = {
	&enabled_attr.attr,
	&switched_attr.attr,
	&overtaken_attr.attr,
	&busy_attr.attr,
	&outranked_attr.attr,
	&remote_attr.attr,
	&unfit_attr.attr,
	NULL,
};

const struct attribute_group irqpath_direct_group = {
	.name = "direct",
	.attrs = direct_attrs,
};
