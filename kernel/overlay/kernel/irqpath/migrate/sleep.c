// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sleeps of wait sites that take part in migrate: what schedule() and its
 * like do, between parking and running what was offered. A prediction that
 * proves wrong may put the task back to sleep here, see las.c.
 */
#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/sched.h>
#include <linux/sched/debug.h>

#include "migrate.h"

void __sched __irqpath_schedule(void)
{
	bool parked = irqpath_park();

	do {
		schedule();
	} while (parked && irqpath_unpark(true));
}
EXPORT_SYMBOL_GPL(__irqpath_schedule);

long __sched __irqpath_schedule_timeout(long timeout)
{
	bool parked = irqpath_park();

	do {
		timeout = schedule_timeout(timeout);
	} while (parked && irqpath_unpark(timeout > 0));
	return timeout;
}
EXPORT_SYMBOL_GPL(__irqpath_schedule_timeout);

/*
 * It does not say whether time is left: the site sleeps again, if at all. With
 * a limit the task is running when it returns, which would hide from a lazy one
 * whether the handler wakes it.
 */
int __sched __irqpath_schedule_hrtimeout_range(ktime_t *expires, u64 delta,
					       const enum hrtimer_mode mode)
{
	bool parked = irqpath_park();
	int ret = schedule_hrtimeout_range(expires, delta, mode);

	if (parked) {
		__set_current_state(current->irqpath->sleep_state);
		irqpath_unpark(false);
	}
	return ret;
}
