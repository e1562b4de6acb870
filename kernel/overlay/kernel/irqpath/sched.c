// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the scheduler calls, and when.
 *
 * try_to_wake_up() and __schedule() exist twice: as everybody has them, and with
 * calls to what is here. In a single copy the calls, although they are not made,
 * take registers and room from the code around them: 0.4 % of the path of an
 * interrupt that wakes a task. Which copy runs is decided at the entry, by a
 * static key; so is whether a run queue that has been locked is looked at for a
 * loan.
 */
#include <linux/jump_label.h>
#include <linux/rcupdate.h>
#include <linux/smp.h>

#include "irqpath.h"

DEFINE_STATIC_KEY_FALSE(irqpath_sched_key);

/**
 * irqpath_sched_hold() - have the scheduler call us
 *
 * When it returns, no CPU is in the other copy of __schedule(): who was there
 * and had not said so to RCU, rcu_note_context_switch(), is waited for, and who
 * had keeps interrupts disabled until it has switched. The other copy of
 * try_to_wake_up() teaches nothing, and its wakeup is an ordinary one. Who locked
 * a run queue and did not look found no loan, and may hold the lock while one is
 * noted, as always.
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

/* Who held it has no offers, loans and lazy tasks any more. */
void irqpath_sched_release(void)
{
	static_branch_dec(&irqpath_sched_key);
}
