// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/irqpath: associations, and a directory per policy with a switch,
 * what can be set, and what it has done. Described in
 * Documentation/ABI/testing/sysfs-kernel-irqpath.
 */
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/sysfs.h>

#include "irqpath.h"
#include "netprio.h"

/* Longer limits would leave lines masked; shorter ones beat a switch. */
#define WATCHDOG_MIN_US	10
#define WATCHDOG_MAX_US	1000000

/* Protects the switches. */
static DEFINE_MUTEX(policy_mutex);

static int migrate_start(void)
{
	static_branch_enable(&irqpath_migrate_key);
	return 0;
}

static void migrate_stop(void)
{
	static_branch_disable(&irqpath_migrate_key);
}

static struct irqpath_switch learn = {
	.learns = true,
};

static struct irqpath_switch migrate = {
	.learns = true,
	.start = migrate_start,
	.stop = migrate_stop,
};

static void start_learning(void)
{
	if (!static_key_enabled(&irqpath_learn_key))
		irqpath_forget_contexts();
	static_branch_inc(&irqpath_learn_key);
}

/* Each user of learning holds it on by itself. */
static int set_enabled(struct irqpath_switch *policy, bool on)
{
	int ret = 0;

	lockdep_assert_held(&policy_mutex);

	if (policy->enabled == on)
		return 0;
	if (on) {
		if (policy->learns)
			start_learning();
		if (policy->start)
			ret = policy->start();
	} else if (policy->stop) {
		policy->stop();
	}
	if (policy->learns && (!on || ret))
		static_branch_dec(&irqpath_learn_key);
	policy->enabled = on && !ret;
	return ret;
}

/**
 * irqpath_store_enabled() - what is written to a policy's switch
 * @policy: the policy
 * @buf: the text
 * @count: its length
 *
 * Return: @count, or why it stays as it was.
 */
ssize_t irqpath_store_enabled(struct irqpath_switch *policy, const char *buf,
			      size_t count)
{
	bool on;
	int ret = kstrtobool(buf, &on);

	if (ret)
		return ret;
	mutex_lock(&policy_mutex);
	ret = set_enabled(policy, on);
	mutex_unlock(&policy_mutex);
	return ret ?: count;
}

/**
 * irqpath_sum_stats() - a counter of all CPUs
 * @offset: which, in struct irqpath_stats
 */
unsigned long irqpath_sum_stats(size_t offset)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu) {
		struct irqpath_stats *stats = per_cpu_ptr(&irqpath_cpus.stats,
							  cpu);

		sum += READ_ONCE(*(unsigned long *)((void *)stats + offset));
	}
	return sum;
}

IRQPATH_STATISTIC(learned);
IRQPATH_STATISTIC(offered);
IRQPATH_STATISTIC(demuxed);
IRQPATH_STATISTIC(migrated);
IRQPATH_STATISTIC(mispredicted);
IRQPATH_STATISTIC(lazy);
IRQPATH_STATISTIC(mm_switched);
IRQPATH_STATISTIC(lost);
IRQPATH_STATISTIC(elsewhere);
IRQPATH_STATISTIC(rescued);

static ssize_t learn_enabled_show(struct kobject *kobj,
				  struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(learn.enabled));
}

static ssize_t learn_enabled_store(struct kobject *kobj,
				   struct kobj_attribute *attr,
				   const char *buf, size_t count)
{
	return irqpath_store_enabled(&learn, buf, count);
}

static struct kobj_attribute learn_enabled_attr =
	__ATTR(enabled, 0644, learn_enabled_show, learn_enabled_store);

static ssize_t migrate_enabled_show(struct kobject *kobj,
				    struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(migrate.enabled));
}

static ssize_t migrate_enabled_store(struct kobject *kobj,
				     struct kobj_attribute *attr,
				     const char *buf, size_t count)
{
	return irqpath_store_enabled(&migrate, buf, count);
}

static struct kobj_attribute migrate_enabled_attr =
	__ATTR(enabled, 0644, migrate_enabled_show, migrate_enabled_store);

static ssize_t watchdog_us_show(struct kobject *kobj,
				struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(irqpath_watchdog_us));
}

static ssize_t watchdog_us_store(struct kobject *kobj,
				 struct kobj_attribute *attr,
				 const char *buf, size_t count)
{
	unsigned int limit_us;
	int ret = kstrtouint(buf, 0, &limit_us);

	if (ret)
		return ret;
	if (limit_us && (limit_us < WATCHDOG_MIN_US ||
			 limit_us > WATCHDOG_MAX_US))
		return -ERANGE;
	WRITE_ONCE(irqpath_watchdog_us, limit_us);
	return count;
}

static struct kobj_attribute watchdog_us_attr = __ATTR_RW(watchdog_us);

static ssize_t early_demux_show(struct kobject *kobj,
				struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(irqpath_early_demux));
}

static ssize_t early_demux_store(struct kobject *kobj,
				 struct kobj_attribute *attr,
				 const char *buf, size_t count)
{
	bool on;
	int ret = kstrtobool(buf, &on);

	if (ret)
		return ret;
	WRITE_ONCE(irqpath_early_demux, on);
	return count;
}

static struct kobj_attribute early_demux_attr = __ATTR_RW(early_demux);

static ssize_t las_show(struct kobject *kobj, struct kobj_attribute *attr,
			char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(irqpath_las));
}

static ssize_t las_store(struct kobject *kobj, struct kobj_attribute *attr,
			 const char *buf, size_t count)
{
	bool on;
	int ret = kstrtobool(buf, &on) ?: irqpath_las_set(on);

	return ret ?: count;
}

static struct kobj_attribute las_attr = __ATTR_RW(las);

#ifdef CONFIG_IRQPATH_FAULTS
static ssize_t drop_every_show(struct kobject *kobj,
			       struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%u\n", READ_ONCE(irqpath_drop_every));
}

static ssize_t drop_every_store(struct kobject *kobj,
				struct kobj_attribute *attr,
				const char *buf, size_t count)
{
	unsigned int every;
	int ret = kstrtouint(buf, 0, &every);

	if (ret)
		return ret;
	WRITE_ONCE(irqpath_drop_every, every);
	return count;
}

static struct kobj_attribute drop_every_attr = __ATTR_RW(drop_every);
#endif

/* One page: with more associations than fit, the last tasks are missing. */
static ssize_t associations_show(struct kobject *kobj,
				 struct kobj_attribute *attr, char *buf)
{
	struct task_struct *g, *p;
	int len = sysfs_emit(buf, "irq\tname\tpid\tcomm\tprio\thits\truns\t"
			     "misses\tage_ms\tcredit\n");

	rcu_read_lock();
	for_each_process_thread(g, p) {
		struct irqpath_task *t = READ_ONCE(p->irqpath);
		int i;

		for (i = 0; t && i < IRQPATH_NR_SLOTS; i++) {
			struct irqpath_slot *slot = &t->slot[i];
			struct irqpath_origin *o = READ_ONCE(slot->origin);

			if (!o)
				continue;
			len += sysfs_emit_at(buf, len,
					     "%u\t%s\t%d\t%s\t%u\t%lu\t%lu\t%lu\t%u\t%u\n",
					     o->irq, o->name, p->pid, p->comm,
					     p->rt_priority, slot->hits,
					     slot->runs, slot->misses,
					     jiffies_to_msecs(jiffies - slot->last),
					     slot->credit);
		}
	}
	rcu_read_unlock();
	return len;
}

static struct kobj_attribute associations_attr = __ATTR_RO(associations);

static struct attribute *root_attrs[] = {
	&associations_attr.attr,
	NULL,
};

static const struct attribute_group root_group = {
	.attrs = root_attrs,
};

static struct attribute *learn_attrs[] = {
	&learn_enabled_attr.attr,
	&learned_attr.attr,
	NULL,
};

static const struct attribute_group learn_group = {
	.name = "learn",
	.attrs = learn_attrs,
};

static struct attribute *migrate_attrs[] = {
	&migrate_enabled_attr.attr,
	&watchdog_us_attr.attr,
#ifdef CONFIG_IRQPATH_FAULTS
	&drop_every_attr.attr,
#endif
	&early_demux_attr.attr,
	&las_attr.attr,
	&offered_attr.attr,
	&demuxed_attr.attr,
	&migrated_attr.attr,
	&mispredicted_attr.attr,
	&lazy_attr.attr,
	&mm_switched_attr.attr,
	&lost_attr.attr,
	&elsewhere_attr.attr,
	&rescued_attr.attr,
	NULL,
};

static const struct attribute_group migrate_group = {
	.name = "migrate",
	.attrs = migrate_attrs,
};

static const struct attribute_group *groups[] = {
	&root_group,
	&learn_group,
	&migrate_group,
	&irqpath_selective_group,
#ifdef CONFIG_IRQPATH_NETPRIO
	&irqpath_netprio_group,
#endif
	&irqpath_direct_group,
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
