// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/irqpath: associations, and a directory per policy with a switch,
 * what can be set, and what it has done. Described in
 * Documentation/ABI/testing/sysfs-kernel-irqpath.
 */
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/kstrtox.h>
#include <linux/sched/signal.h>

#include "sysfs.h"

/* Longer limits would leave lines masked; shorter ones beat a switch. */
#define WATCHDOG_MIN_US	10
#define WATCHDOG_MAX_US	1000000

DEFINE_MUTEX(irqpath_sysfs_mutex); /* see sysfs.h */

static void start_learning(void)
{
	if (!static_key_enabled(&irqpath_learn_key))
		irqpath_forget_raised();
	irqpath_sched_hold();
	static_branch_inc(&irqpath_learn_key);
}

static void stop_learning(void)
{
	static_branch_dec(&irqpath_learn_key);
	irqpath_sched_release();
}

/* Each user of learning holds it on by itself. */
static int set_enabled(struct irqpath_switch *policy, bool on)
{
	int ret = 0;

	lockdep_assert_held(&irqpath_sysfs_mutex);

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
		stop_learning();
	WRITE_ONCE(policy->enabled, on && !ret);
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

static int migrate_start(void)
{
	/* A group may have no time left in the middle of a handler. */
	if (IS_ENABLED(CONFIG_RT_GROUP_SCHED))
		return -EOPNOTSUPP;
	static_branch_enable(&irqpath_claim_key);
	static_branch_enable(&irqpath_migrate_key);
	return 0;
}

static void migrate_stop(void)
{
	static_branch_disable(&irqpath_migrate_key);
	irqpath_revoke_offers();
}

static struct irqpath_switch learn = {
	.file = IRQPATH_SWITCH_FILE,
	.learns = true,
};

static struct irqpath_switch migrate = {
	.file = IRQPATH_SWITCH_FILE,
	.learns = true,
	.start = migrate_start,
	.stop = migrate_stop,
};

/* Offers that were made in the belief that they have a limit do not stay. */
static int watchdog_set(unsigned int us)
{
	WRITE_ONCE(irqpath_watchdog_us, us);
	if (!us)
		irqpath_revoke_offers();
	return 0;
}

static struct irqpath_setting watchdog_us = {
	.file = IRQPATH_SETTING_FILE(watchdog_us),
	.value = &irqpath_watchdog_us,
	.set = watchdog_set,
	.min = WATCHDOG_MIN_US,
	.max = WATCHDOG_MAX_US,
	/* Without a limit an interrupt can be lost, as tests of the limit want. */
	.or_zero = IS_ENABLED(CONFIG_IRQPATH_FAULTS),
};

static struct irqpath_setting early_demux = {
	.file = IRQPATH_SETTING_FILE(early_demux),
	.value = &irqpath_early_demux,
	.max = 1,
};

static struct irqpath_setting las = {
	.file = IRQPATH_SETTING_FILE(las),
	.value = &irqpath_las,
	.max = 1,
	.set = irqpath_las_set,
};

#ifdef CONFIG_IRQPATH_FAULTS
static struct irqpath_setting drop_every = {
	.file = IRQPATH_SETTING_FILE(drop_every),
	.value = &irqpath_drop_every,
	.max = UINT_MAX,
};

static struct irqpath_setting suspended = {
	.file = IRQPATH_SETTING_FILE(suspended),
	.value = &irqpath_suspended,
	.max = IRQPATH_ALL_RULES,
};
#endif

/* Room for the line that says how many are missing. */
#define MORE_LEN	sizeof("# 4294967295 more\n")

/* Return: the length of the line, or 0 if it does not fit. */
static int show_slot(char *buf, int at, const struct irqpath_slot *slot,
		     const struct irqpath_origin *o, struct task_struct *p,
		     pid_t pid)
{
	char name[IRQPATH_SHOWN_NAME], comm[IRQPATH_SHOWN_NAME];
	char own[TASK_COMM_LEN];
	int len;

	irqpath_escape_name(name, sizeof(name), o->name);
	irqpath_escape_name(comm, sizeof(comm), get_task_comm(own, p));
	len = sysfs_emit_at(buf, at,
			    "%u\t%s\t%d\t%s\t%u\t%lu\t%lu\t%lu\t%u\t%u\t%d\t%lu\n",
			    o->irq, name, pid, comm, p->rt_priority, slot->hits,
			    slot->runs, slot->misses,
			    jiffies_to_msecs(jiffies - slot->last),
			    irqpath_trust(slot), slot->pinned,
			    slot->mm_switched);
	return at + len + MORE_LEN <= PAGE_SIZE ? len : 0;
}

/* One page: whole lines, and how many there was no room for. */
static ssize_t associations_show(struct kobject *kobj,
				 struct kobj_attribute *attr, char *buf)
{
	struct task_struct *g, *p;
	unsigned int more = 0;
	int len = sysfs_emit(buf, "irq\tname\tpid\tcomm\tprio\thits\truns\t"
			     "misses\tage_ms\tcredit\tpinned\tmm_switched\n");

	rcu_read_lock();
	for_each_process_thread(g, p) {
		struct irqpath_task *t = READ_ONCE(p->irqpath);
		pid_t pid = t ? irqpath_visible_pid(p) : 0;
		int i;

		for (i = 0; pid && i < IRQPATH_NR_SLOTS; i++) {
			struct irqpath_slot *slot = &t->slot[i];
			struct irqpath_origin *o = READ_ONCE(slot->origin);
			int line = 0;

			if (!o)
				continue;
			if (!more)
				line = show_slot(buf, len, slot, o, p, pid);
			len += line;
			more += !line;
		}
	}
	rcu_read_unlock();
	if (more)
		len += sysfs_emit_at(buf, len, "# %u more\n", more);
	return len;
}

/* Who may know of other users' tasks: see show.c, too. */
static struct kobj_attribute associations_attr = __ATTR_RO_MODE(associations, 0400);

static struct attribute *root_attrs[] = {
	&associations_attr.attr,
	NULL,
};

static const struct attribute_group root_group = {
	.attrs = root_attrs,
};

static struct attribute *learn_attrs[] = {
	&learn.file.attr,
	&IRQPATH_COUNTER(learned).file.attr,
	NULL,
};

static const struct attribute_group learn_group = {
	.name = "learn",
	.attrs = learn_attrs,
};

static struct attribute *migrate_attrs[] = {
	&migrate.file.attr,
	&watchdog_us.file.attr,
#ifdef CONFIG_IRQPATH_FAULTS
	&drop_every.file.attr,
	&suspended.file.attr,
#endif
	&early_demux.file.attr,
	&las.file.attr,
	&IRQPATH_COUNTER(offered).file.attr,
	&IRQPATH_COUNTER(demuxed).file.attr,
	&IRQPATH_COUNTER(migrated).file.attr,
	&IRQPATH_COUNTER(mispredicted).file.attr,
	&IRQPATH_COUNTER(lazy).file.attr,
	&IRQPATH_COUNTER(mm_switched).file.attr,
	&IRQPATH_COUNTER(lost).file.attr,
	&IRQPATH_COUNTER(elsewhere).file.attr,
	&IRQPATH_COUNTER(lent).file.attr,
	&IRQPATH_COUNTER(rescued).file.attr,
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
