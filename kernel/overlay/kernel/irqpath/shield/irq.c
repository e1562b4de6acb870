// SPDX-License-Identifier: GPL-2.0-only
/*
 * shield: shielded CPUs take only interrupts that are bound to shielded CPUs.
 *
 * The affinity that was asked for stays in the descriptor, where
 * /proc/irq/N/smp_affinity shows it. Only the affinity that the chip gets
 * leaves the shielded CPUs out. The thread of an interrupt follows it.
 */
#include <linux/irq.h>
#include <linux/irqdesc.h>

#include "../genirq.h"
#include "shield.h"

DEFINE_STATIC_KEY_FALSE(irqpath_irqs_key);

void __irqpath_shield_irq(struct cpumask *cpus)
{
	struct irqpath_cpuset *set;

	guard(rcu)();
	set = rcu_dereference(irqpath_shield_irqs.set);
	if (set)
		irqpath_shield_cut(cpus, &set->cpus, cpu_online_mask);
}

/*
 * An interrupt that is not started gets the new affinity when it starts, and
 * one that is about to move when it moves.
 */
static void reapply_affinity(struct irq_desc *desc)
{
	struct irq_data *data = irq_desc_get_irq_data(desc);
	struct irq_chip *chip = irq_data_get_irq_chip(data);
	const struct cpumask *asked = irq_data_get_affinity_mask(data);
	int err = -EBUSY;

	if (!chip || !chip->irq_set_affinity || !irqd_can_balance(data) ||
	    !irqd_is_started(data) || irq_move_pending(data))
		return;
	if (irq_can_move_pcntxt(data))
		err = irq_do_set_affinity(data, asked, false);
	if (err == -EBUSY && IS_ENABLED(CONFIG_GENERIC_PENDING_IRQ)) {
		irqd_set_move_pending(data);
		irq_copy_pending(desc, asked);
		return;
	}
	if (err)
		pr_notice("shield: irq %u stays: error %d\n", data->irq, err);
}

static void walk_irqs(void)
{
	struct irq_desc *desc;
	unsigned long flags;
	unsigned int irq;

	irq_lock_sparse();
	for_each_active_irq(irq) {
		desc = irq_to_desc(irq);
		if (!desc)
			continue;
		raw_spin_lock_irqsave(&desc->lock, flags);
		reapply_affinity(desc);
		raw_spin_unlock_irqrestore(&desc->lock, flags);
	}
	irq_unlock_sparse();
}

struct irqpath_shield irqpath_shield_irqs = {
	.key = &irqpath_irqs_key,
	.walk = walk_irqs,
};
