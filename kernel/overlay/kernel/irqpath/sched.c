// SPDX-License-Identifier: GPL-2.0-only
/*
 * irqpath: the static key that has the scheduler call the policies.
 *
 * try_to_wake_up() and __schedule() exist twice: as in a kernel without
 * irqpath, and with calls to it. In a single copy the calls cost 0.4 % of the
 * path of an interrupt that wakes a task, even if they are patched out, because
 * they take registers and room from the code around them. A static key selects
 * the copy at the entry. It also decides whether a locked run queue is checked
 * for a loan.
 */
#include <linux/jump_label.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>

#include "irqpath.h"

DEFINE_STATIC_KEY_FALSE(irqpath_sched_key);

/**
 * irqpath_sched_hold() - have the scheduler call irqpath
 *
 * When it returns, no CPU is in the other copy of __schedule(). A CPU there
 * that has not called rcu_note_context_switch() is waited for. One that has
 * keeps interrupts disabled until it has switched.
 *
 * The other copy of try_to_wake_up() teaches nothing, and its wakeup is an
 * ordinary one. A CPU that locked a run queue without a check found no loan. As
 * always, a loan may be noted while it holds the lock.
 *
 * Context: irqpath_sysfs_mutex held.
 */
void irqpath_sched_hold(void)
{
	bool first = !static_key_enabled(&irqpath_sched_key);

	static_branch_inc(&irqpath_sched_key);
	if (first) {
		synchronize_rcu();
		kick_all_cpus_sync();
	}
}

/* The policy that held it has no offers, loans or lazy tasks any more. */
void irqpath_sched_release(void)
{
	static_branch_dec(&irqpath_sched_key);
}
