/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: shielded CPUs, for the scheduler, interrupts and the tick.
 *
 * A task keeps the affinity that was asked for in irqpath_asked, and the one
 * that holds in cpus_mask: the same, or the same without the CPUs in
 * /proc/shield/procs. An interrupt has always kept both.
 */
#ifndef _LINUX_IRQPATH_SHIELD_H
#define _LINUX_IRQPATH_SHIELD_H

#include <linux/cpumask.h>
#include <linux/jump_label.h>
#include <linux/sched.h>

#ifdef CONFIG_IRQPATH_SHIELD

DECLARE_STATIC_KEY_FALSE(irqpath_procs_key);
DECLARE_STATIC_KEY_FALSE(irqpath_irqs_key);
DECLARE_STATIC_KEY_FALSE(irqpath_ltmrs_key);

void irqpath_shield_task(struct task_struct *p, const struct cpumask *asked,
			 bool yield);
bool irqpath_shield_is_settled(struct task_struct *p,
			       const struct cpumask *asked);
void __irqpath_shield_fork(struct task_struct *p);
void __irqpath_shield_irq(struct cpumask *cpus);
bool __irqpath_shield_keeps_tick(int cpu);

/* The CPUs that a task may run on when nothing is shielded. */
static inline const struct cpumask *irqpath_asked(struct task_struct *p)
{
	return &p->irqpath_asked;
}

/**
 * irqpath_shield_dest() - choose the CPU of a task whose affinity has changed
 * @p: the task
 * @valid: CPUs that can take it
 * @dest: one of them that was asked for
 *
 * Return: @dest, or a CPU that is not shielded. If the last of those is just
 * going away, @dest as well: the task's affinity is then set once more.
 */
static inline unsigned int irqpath_shield_dest(struct task_struct *p,
					       const struct cpumask *valid,
					       unsigned int dest)
{
	unsigned int cpu;

	if (likely(cpumask_test_cpu(dest, &p->cpus_mask)))
		return dest;
	cpu = cpumask_any_and_distribute(valid, &p->cpus_mask);
	return cpu < nr_cpu_ids ? cpu : dest;
}

/**
 * irqpath_shield_yields() - whether a shield can yield to a task without a CPU
 * @p: the task
 *
 * Return: true if the shield has taken CPUs from it. They are given back before
 * the affinity that was asked for is overridden.
 */
static inline bool irqpath_shield_yields(struct task_struct *p)
{
	return !cpumask_equal(&p->cpus_mask, &p->irqpath_asked);
}

/**
 * irqpath_shield_fork() - apply the shield to a new task before it runs
 * @p: the task, a copy of one whose affinity may have changed since
 *
 * The key may be off if the copy was made under a shield that is gone.
 */
static inline void irqpath_shield_fork(struct task_struct *p)
{
	if (static_branch_unlikely(&irqpath_procs_key) ||
	    unlikely(!cpumask_equal(&p->cpus_mask, &p->irqpath_asked)))
		__irqpath_shield_fork(p);
}

/**
 * irqpath_shield_irq() - remove the shielded CPUs from an interrupt's affinity
 * @cpus: online CPUs that were asked for
 */
static inline void irqpath_shield_irq(struct cpumask *cpus)
{
	if (static_branch_unlikely(&irqpath_irqs_key))
		__irqpath_shield_irq(cpus);
}

/* The tick of this CPU in nohz_full= must not stop. */
static inline bool irqpath_shield_keeps_tick(int cpu)
{
	return static_branch_unlikely(&irqpath_ltmrs_key) &&
	       __irqpath_shield_keeps_tick(cpu);
}

#else /* !CONFIG_IRQPATH_SHIELD */

static inline void irqpath_shield_task(struct task_struct *p,
				       const struct cpumask *asked,
				       bool yield) { }

static inline bool irqpath_shield_is_settled(struct task_struct *p,
					     const struct cpumask *asked)
{
	return cpumask_equal(&p->cpus_mask, asked);
}

static inline const struct cpumask *irqpath_asked(struct task_struct *p)
{
	return p->cpus_ptr;
}

static inline unsigned int irqpath_shield_dest(struct task_struct *p,
					       const struct cpumask *valid,
					       unsigned int dest)
{
	return dest;
}

static inline void irqpath_shield_fork(struct task_struct *p) { }
static inline void irqpath_shield_irq(struct cpumask *cpus) { }
static inline bool irqpath_shield_keeps_tick(int cpu) { return false; }

#endif /* CONFIG_IRQPATH_SHIELD */

#endif /* _LINUX_IRQPATH_SHIELD_H */
