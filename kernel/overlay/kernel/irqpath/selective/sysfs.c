// SPDX-License-Identifier: GPL-2.0-only
/* /sys/kernel/irqpath/selective. */
#include <linux/bitmap.h>

#include "../sysfs.h"
#include "selective.h"

static struct irqpath_switch selective = {
	.file = IRQPATH_SWITCH_FILE,
	.learns = true,
	.start = irqpath_selective_start,
	.stop = irqpath_selective_stop,
};

static struct irqpath_setting quiet = {
	.file = IRQPATH_SETTING_FILE(quiet),
	.value = &irqpath_quiet,
	.min = 1,
	.max = UINT_MAX,
	.set = irqpath_set_quiet,
};

/* An interrupt is in one list at most, the one written last. */
static ssize_t store_list(unsigned long *list, unsigned long *other,
			  const char *buf, size_t count)
{
	DECLARE_BITMAP(parsed, IRQPATH_NR_LISTED);
	int ret = bitmap_parselist(buf, parsed, IRQPATH_NR_LISTED);

	if (ret)
		return ret;
	mutex_lock(&irqpath_sysfs_mutex);
	bitmap_copy(list, parsed, IRQPATH_NR_LISTED);
	bitmap_andnot(other, other, parsed, IRQPATH_NR_LISTED);
	irqpath_adjust_threads();
	mutex_unlock(&irqpath_sysfs_mutex);
	return count;
}

static ssize_t allow_show(struct kobject *kobj, struct kobj_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%*pbl\n", IRQPATH_NR_LISTED, irqpath_allowed);
}

static ssize_t allow_store(struct kobject *kobj, struct kobj_attribute *attr,
			   const char *buf, size_t count)
{
	return store_list(irqpath_allowed, irqpath_denied, buf, count);
}

static struct kobj_attribute allow_attr = __ATTR_RW(allow);

static ssize_t deny_show(struct kobject *kobj, struct kobj_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "%*pbl\n", IRQPATH_NR_LISTED, irqpath_denied);
}

static ssize_t deny_store(struct kobject *kobj, struct kobj_attribute *attr,
			  const char *buf, size_t count)
{
	return store_list(irqpath_denied, irqpath_allowed, buf, count);
}

static struct kobj_attribute deny_attr = __ATTR_RW(deny);

static struct attribute *attrs[] = {
	&selective.file.attr,
	&quiet.file.attr,
	&allow_attr.attr,
	&deny_attr.attr,
	&IRQPATH_COUNTER(promoted).file.attr,
	&IRQPATH_COUNTER(demoted).file.attr,
	NULL,
};

const struct attribute_group irqpath_selective_group = {
	.name = "selective",
	.attrs = attrs,
};
