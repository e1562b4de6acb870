// SPDX-License-Identifier: GPL-2.0-only
/* /sys/kernel/irqpath/migrate. */
#include "../sysfs.h"
#include "migrate.h"

/* A longer limit leaves lines masked, a shorter one beats a switch. */
#define WATCHDOG_MIN_US	10
#define WATCHDOG_MAX_US	1000000

static int start_migrate(void)
{
	/* A group may have no time left in the middle of a handler. */
	if (IS_ENABLED(CONFIG_RT_GROUP_SCHED))
		return -EOPNOTSUPP;
	static_branch_enable(&irqpath_claim_key);
	static_branch_enable(&irqpath_migrate_key);
	return 0;
}

static void stop_migrate(void)
{
	static_branch_disable(&irqpath_migrate_key);
	irqpath_revoke_offers();
}

static struct irqpath_switch migrate = {
	.file = IRQPATH_SWITCH_FILE,
	.learns = true,
	.start = start_migrate,
	.stop = stop_migrate,
};

/* Offers that were made with a limit must not stay without one. */
static int set_watchdog(unsigned int us)
{
	WRITE_ONCE(irqpath_watchdog_us, us);
	if (!us)
		irqpath_revoke_offers();
	return 0;
}

static struct irqpath_setting watchdog_us = {
	.file = IRQPATH_SETTING_FILE(watchdog_us),
	.value = &irqpath_watchdog_us,
	.set = set_watchdog,
	.min = WATCHDOG_MIN_US,
	.max = WATCHDOG_MAX_US,
	/* Without a limit an interrupt can be lost, which tests need. */
	.or_zero = IS_ENABLED(CONFIG_IRQPATH_FAULTS),
};

static struct irqpath_setting early_demux = {
	.file = IRQPATH_SETTING_FILE(early_demux),
	.value = &irqpath_early_demux,
	.max = 1,
};

#ifdef CONFIG_IRQPATH_LAS
static struct irqpath_setting las = {
	.file = IRQPATH_SETTING_FILE(las),
	.value = &irqpath_las,
	.max = 1,
	.set = irqpath_set_las,
};
#endif

static struct attribute *attrs[] = {
	&migrate.file.attr,
	&watchdog_us.file.attr,
	&early_demux.file.attr,
#ifdef CONFIG_IRQPATH_LAS
	&las.file.attr,
#endif
	&IRQPATH_COUNTER(offered).file.attr,
	&IRQPATH_COUNTER(demuxed).file.attr,
	&IRQPATH_COUNTER(migrated).file.attr,
	&IRQPATH_COUNTER(stood_in).file.attr,
	&IRQPATH_COUNTER(mispredicted).file.attr,
#ifdef CONFIG_IRQPATH_LAS
	&IRQPATH_COUNTER(lazy).file.attr,
#endif
	&IRQPATH_COUNTER(mm_switched).file.attr,
	&IRQPATH_COUNTER(deferred).file.attr,
	&IRQPATH_COUNTER(lost).file.attr,
	&IRQPATH_COUNTER(elsewhere).file.attr,
	&IRQPATH_COUNTER(lent).file.attr,
	&IRQPATH_COUNTER(rescued).file.attr,
	NULL,
};

const struct attribute_group irqpath_migrate_group = {
	.name = "migrate",
	.attrs = attrs,
};
