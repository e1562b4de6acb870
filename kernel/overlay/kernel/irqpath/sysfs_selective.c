// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/irqpath/selective. Described in
 * Documentation/ABI/testing/sysfs-kernel-irqpath.
 */
#include <linux/bitmap.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/sysfs.h>

#include "irqpath.h"

static struct irqpath_switch selective = {
	.learns = true,
	.start = irqpath_selective_start,
	.stop = irqpath_selective_stop,
};

static ssize_t enabled_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(selective.enabled));
}

static ssize_t enabled_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	return irqpath_store_enabled(&selective, buf, count);
}

static struct kobj_attribute enabled_attr = __ATTR_RW(enabled);

static ssize_t quiet_show(struct kobject *kobj, struct kobj_attribute *attr,
			  char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(irqpath_quiet));
}

static ssize_t quiet_store(struct kobject *kobj, struct kobj_attribute *attr,
			   const char *buf, size_t count)
{
	unsigned int quiet;
	int ret = kstrtouint(buf, 0, &quiet);

	if (ret)
		return ret;
	if (!quiet)
		return -ERANGE;
	WRITE_ONCE(irqpath_quiet, quiet);
	irqpath_select();
	return count;
}

static struct kobj_attribute quiet_attr = __ATTR_RW(quiet);

/* An interrupt is in one list at most: the last word counts. */
static ssize_t store_list(unsigned long *list, unsigned long *other,
			  const char *buf, size_t count)
{
	DECLARE_BITMAP(parsed, IRQPATH_NR_LISTED);
	int ret = bitmap_parselist(buf, parsed, IRQPATH_NR_LISTED);

	if (ret)
		return ret;
	bitmap_copy(list, parsed, IRQPATH_NR_LISTED);
	bitmap_andnot(other, other, parsed, IRQPATH_NR_LISTED);
	irqpath_select();
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

IRQPATH_STATISTIC(promoted);
IRQPATH_STATISTIC(demoted);

static struct attribute *attrs[] = {
	&enabled_attr.attr,
	&quiet_attr.attr,
	&allow_attr.attr,
	&deny_attr.attr,
	&promoted_attr.attr,
	&demoted_attr.attr,
	NULL,
};

const struct attribute_group irqpath_selective_group = {
	.name = "selective",
	.attrs = attrs,
};
