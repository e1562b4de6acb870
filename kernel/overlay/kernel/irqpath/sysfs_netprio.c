// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/irqpath/netprio. Described in
 * Documentation/ABI/testing/sysfs-kernel-irqpath.
 */
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/sysfs.h>

#include "netprio.h"

/* Shorter, the guard would be who serves; longer, connections would break. */
#define HOLD_MIN_US	1000
#define HOLD_MAX_US	10000000

/* Not the other switches': those hold learning on, which is not used here. */
static DEFINE_MUTEX(netprio_mutex);
static bool is_enabled;

static ssize_t enabled_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(is_enabled));
}

static ssize_t enabled_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	bool on;
	int ret = kstrtobool(buf, &on);

	if (ret)
		return ret;
	mutex_lock(&netprio_mutex);
	if (on && !is_enabled)
		ret = irqpath_netprio_start();
	else if (!on && is_enabled)
		irqpath_netprio_stop();
	if (!ret)
		is_enabled = on;
	mutex_unlock(&netprio_mutex);
	return ret ?: count;
}

static struct kobj_attribute enabled_attr = __ATTR_RW(enabled);

static ssize_t store_us(unsigned int *value, const char *buf, size_t count)
{
	unsigned int us;
	int ret = kstrtouint(buf, 0, &us);

	if (ret)
		return ret;
	if (us && (us < HOLD_MIN_US || us > HOLD_MAX_US))
		return -ERANGE;
	WRITE_ONCE(*value, us);
	return count;
}

static ssize_t max_hold_us_show(struct kobject *kobj,
				struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(irqpath_max_hold_us));
}

static ssize_t max_hold_us_store(struct kobject *kobj,
				 struct kobj_attribute *attr, const char *buf,
				 size_t count)
{
	return store_us(&irqpath_max_hold_us, buf, count);
}

static struct kobj_attribute max_hold_us_attr = __ATTR_RW(max_hold_us);

static ssize_t napi_hold_us_show(struct kobject *kobj,
				 struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(irqpath_napi_hold_us));
}

static ssize_t napi_hold_us_store(struct kobject *kobj,
				  struct kobj_attribute *attr, const char *buf,
				  size_t count)
{
	return store_us(&irqpath_napi_hold_us, buf, count);
}

static struct kobj_attribute napi_hold_us_attr = __ATTR_RW(napi_hold_us);

static ssize_t queue_limit_show(struct kobject *kobj,
				struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(irqpath_queue_limit));
}

static ssize_t queue_limit_store(struct kobject *kobj,
				 struct kobj_attribute *attr, const char *buf,
				 size_t count)
{
	unsigned int limit;
	int ret = kstrtouint(buf, 0, &limit);

	if (ret)
		return ret;
	if (!limit)
		return -ERANGE;
	WRITE_ONCE(irqpath_queue_limit, limit);
	return count;
}

static struct kobj_attribute queue_limit_attr = __ATTR_RW(queue_limit);

IRQPATH_STATISTIC(exempt);
IRQPATH_STATISTIC(classified);
IRQPATH_STATISTIC(passed);
IRQPATH_STATISTIC(held);
IRQPATH_STATISTIC(dropped);
IRQPATH_STATISTIC(served);
IRQPATH_STATISTIC(expired);
IRQPATH_STATISTIC(purged);
IRQPATH_STATISTIC(kept);

static struct attribute *attrs[] = {
	&enabled_attr.attr,
	&max_hold_us_attr.attr,
	&napi_hold_us_attr.attr,
	&queue_limit_attr.attr,
	&exempt_attr.attr,
	&classified_attr.attr,
	&passed_attr.attr,
	&held_attr.attr,
	&dropped_attr.attr,
	&served_attr.attr,
	&expired_attr.attr,
	&purged_attr.attr,
	&kept_attr.attr,
	NULL,
};

const struct attribute_group irqpath_netprio_group = {
	.name = "netprio",
	.attrs = attrs,
};
