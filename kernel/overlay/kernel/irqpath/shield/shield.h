/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: /proc/shield, private to its own files.
 *
 * task.c what a shield takes from an affinity; tasks
 * irq.c  interrupts
 * proc.c the files, the tick, and CPUs that come and go
 */
#ifndef _KERNEL_IRQPATH_SHIELD_H
#define _KERNEL_IRQPATH_SHIELD_H

#include <linux/cpumask.h>
#include <linux/irqpath_shield.h>
#include <linux/rcupdate.h>

/**
 * struct irqpath_cpuset - shielded CPUs, never changed once in use
 * @rcu: frees it when nobody reads it
 * @cpus: the CPUs
 */
struct irqpath_cpuset {
	struct rcu_head	rcu;
	struct cpumask	cpus;
};

/**
 * struct irqpath_shield - one kind of shield
 * @set: NULL while no CPU is shielded
 * @key: on while there is a @set, and until everything it changed is restored
 * @walk: applies @set to all tasks or all interrupts
 */
struct irqpath_shield {
	struct irqpath_cpuset __rcu	*set;
	struct static_key_false		*key;
	void				(*walk)(void);
};

extern struct irqpath_shield irqpath_shield_procs;
extern struct irqpath_shield irqpath_shield_irqs;

bool irqpath_shield_cut(struct cpumask *cpus, const struct cpumask *shield,
			const struct cpumask *usable);
bool irqpath_shield_is_cut(const struct cpumask *cpus,
			   const struct cpumask *asked,
			   const struct cpumask *shield,
			   const struct cpumask *usable);

#endif /* _KERNEL_IRQPATH_SHIELD_H */
