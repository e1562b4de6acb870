// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/irqpath: the directories, and the kinds of files in them. See
 * Documentation/ABI/testing/sysfs-kernel-irqpath-*.
 */
#include <linux/init.h>
#include <linux/kstrtox.h>

#include "learn/learn.h"
#include "sysfs.h"

#define CREATE_TRACE_POINTS
#include <trace/events/irqpath.h>

DEFINE_PER_CPU(struct irqpath_cpu, irqpath_cpus);

DEFINE_MUTEX(irqpath_sysfs_mutex); /* see sysfs.h */

static int set_enabled(struct irqpath_switch *policy, bool on)
{
	int ret = 0;

	lockdep_assert_held(&irqpath_sysfs_mutex);

	if (policy->enabled == on)
		return 0;
	if (on) {
		irqpath_start_learning(policy);
		if (policy->start)
			ret = policy->start();
	} else if (policy->stop) {
		policy->stop();
	}
	on = on && !ret;
	irqpath_stop_learning(policy, on);
	WRITE_ONCE(policy->enabled, on);
	return ret;
}

ssize_t irqpath_switch_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	struct irqpath_switch *policy = container_of(attr,
						     struct irqpath_switch,
						     file);

	return sysfs_emit(buf, "%d\n", READ_ONCE(policy->enabled));
}

ssize_t irqpath_switch_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	struct irqpath_switch *policy = container_of(attr,
						     struct irqpath_switch,
						     file);
	bool on;
	int ret = kstrtobool(buf, &on);

	if (ret)
		return ret;
	mutex_lock(&irqpath_sysfs_mutex);
	ret = set_enabled(policy, on);
	mutex_unlock(&irqpath_sysfs_mutex);
	return ret ?: count;
}

ssize_t irqpath_setting_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	struct irqpath_setting *setting = container_of(attr,
						       struct irqpath_setting,
						       file);

	return sysfs_emit(buf, "%u\n", READ_ONCE(*setting->value));
}

ssize_t irqpath_setting_store(struct kobject *kobj, struct kobj_attribute *attr,
			      const char *buf, size_t count)
{
	struct irqpath_setting *setting = container_of(attr,
						       struct irqpath_setting,
						       file);
	unsigned int value;
	int ret = kstrtouint(buf, 0, &value);

	if (ret)
		return ret;
	if ((value < setting->min || value > setting->max) &&
	    (value || !setting->or_zero))
		return -ERANGE;
	mutex_lock(&irqpath_sysfs_mutex);
	if (setting->set)
		ret = setting->set(value);
	else
		WRITE_ONCE(*setting->value, value);
	mutex_unlock(&irqpath_sysfs_mutex);
	return ret ?: count;
}

ssize_t irqpath_counter_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	struct irqpath_counter *counter = container_of(attr,
						       struct irqpath_counter,
						       file);
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		void *stats = per_cpu_ptr(&irqpath_cpus.stats, cpu);

		sum += READ_ONCE(*(unsigned long *)(stats + counter->offset));
	}
	return sysfs_emit(buf, "%lu\n", sum);
}

static const struct attribute_group *groups[] = {
#ifdef CONFIG_IRQPATH_LEARN
	&irqpath_root_group,
	&irqpath_learn_group,
#endif
#ifdef CONFIG_IRQPATH_MIGRATE
	&irqpath_migrate_group,
#endif
#ifdef CONFIG_IRQPATH_SELECTIVE
	&irqpath_selective_group,
#endif
#ifdef CONFIG_IRQPATH_NETPRIO
	&irqpath_netprio_group,
#endif
#ifdef CONFIG_IRQPATH_DIRECT
	&irqpath_direct_group,
#endif
#ifdef CONFIG_IRQPATH_FAULTS
	&irqpath_faults_group,
#endif
	NULL,
};

static int __init irqpath_sysfs_init(void)
{
	struct kobject *root = kobject_create_and_add("irqpath", kernel_kobj);
	int ret;

	if (!root)
		return -ENOMEM;
	ret = sysfs_create_groups(root, groups);
	if (ret)
		kobject_put(root);
	return ret;
}
subsys_initcall(irqpath_sysfs_init);
