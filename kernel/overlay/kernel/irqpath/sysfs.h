/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: the kinds of files in /sys/kernel/irqpath, private to kernel/irqpath/.
 */
#ifndef _KERNEL_IRQPATH_SYSFS_H
#define _KERNEL_IRQPATH_SYSFS_H

#include <linux/kobject.h>
#include <linux/mutex.h>
#include <linux/sysfs.h>

#include "irqpath.h"

/* Held while a file is written, which switches a policy or sets a number. */
extern struct mutex irqpath_sysfs_mutex;

/**
 * struct irqpath_switch - a policy's file "enabled"
 * @file: the file
 * @enabled: the policy is on
 * @start: switches the policy on; may fail
 * @stop: switches it off
 */
struct irqpath_switch {
	struct kobj_attribute	file;
	bool			enabled;
#ifdef CONFIG_IRQPATH_LEARN
	/** @learns: the policy needs associations */
	bool			learns;
#endif
	int			(*start)(void);
	void			(*stop)(void);
};

/**
 * struct irqpath_setting - a file with a number that can be set
 * @file: the file
 * @value: the number
 * @min: the least value
 * @max: the greatest value
 * @or_zero: 0 is allowed as well
 * @set: sets the number, may fail; NULL if writing @value is enough
 */
struct irqpath_setting {
	struct kobj_attribute	file;
	unsigned int		*value;
	unsigned int		min;
	unsigned int		max;
	bool			or_zero;
	int			(*set)(unsigned int value);
};

/**
 * struct irqpath_counter - a file with a counter of struct irqpath_stats
 * @file: the file
 * @offset: of the counter
 */
struct irqpath_counter {
	struct kobj_attribute	file;
	size_t			offset;
};

ssize_t irqpath_switch_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf);
ssize_t irqpath_switch_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count);
ssize_t irqpath_setting_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf);
ssize_t irqpath_setting_store(struct kobject *kobj, struct kobj_attribute *attr,
			      const char *buf, size_t count);
ssize_t irqpath_counter_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf);

#define IRQPATH_SWITCH_FILE						\
	__ATTR(enabled, 0644, irqpath_switch_show, irqpath_switch_store)

#define IRQPATH_SETTING_FILE(_name)					\
	__ATTR(_name, 0644, irqpath_setting_show, irqpath_setting_store)

#define IRQPATH_COUNTER(_name)						\
	((struct irqpath_counter) {					\
		.file = {						\
			.attr = { .name = #_name, .mode = 0444 },	\
			.show = irqpath_counter_show,			\
		},							\
		.offset = offsetof(struct irqpath_stats, _name),	\
	})

#ifdef CONFIG_IRQPATH_LEARN
extern const struct attribute_group irqpath_root_group;
extern const struct attribute_group irqpath_learn_group;
#endif
#ifdef CONFIG_IRQPATH_MIGRATE
extern const struct attribute_group irqpath_migrate_group;
#endif
#ifdef CONFIG_IRQPATH_SELECTIVE
extern const struct attribute_group irqpath_selective_group;
#endif
#ifdef CONFIG_IRQPATH_NETPRIO
extern const struct attribute_group irqpath_netprio_group;
#endif
#ifdef CONFIG_IRQPATH_DIRECT
extern const struct attribute_group irqpath_direct_group;
#endif
#ifdef CONFIG_IRQPATH_FAULTS
extern const struct attribute_group irqpath_faults_group;
#endif

#endif /* _KERNEL_IRQPATH_SYSFS_H */
