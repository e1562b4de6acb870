// SPDX-License-Identifier: GPL-2.0-only
/*
 * migrate: the sleeps of the wait sites that take part. Each parks, sleeps as
 * schedule() or its like, and runs the handler that was offered. After a wrong
 * prediction a task without its address space goes back to sleep here.
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
		if (likely(!parked || !irqpath_has_offer()))
			schedule();
	} while (parked && irqpath_unpark(true));
}
EXPORT_SYMBOL_GPL(__irqpath_schedule);

long __sched __irqpath_schedule_timeout(long timeout)
{
	bool parked = irqpath_park();

	do {
		if (likely(!parked || !irqpath_has_offer()))
			timeout = schedule_timeout(timeout);
	} while (parked && irqpath_unpark(timeout > 0));
	return timeout;
}
EXPORT_SYMBOL_GPL(__irqpath_schedule_timeout);

/*
 * schedule_hrtimeout_range() does not say whether time is left, so the task
 * does not sleep on here. With a time limit it returns with the task running. A
 * lazy task could not see then whether the handler wakes it: set its state
 * again.
 */
int __sched __irqpath_schedule_hrtimeout_range(ktime_t *expires, u64 delta,
					       const enum hrtimer_mode mode)
{
	bool parked = irqpath_park();
	int ret = -EINTR;

	if (likely(!parked || !irqpath_has_offer()))
		ret = schedule_hrtimeout_range(expires, delta, mode);
	if (parked) {
		__set_current_state(current->irqpath->sleep_state);
		irqpath_unpark(false);
	}
	return ret;
}
