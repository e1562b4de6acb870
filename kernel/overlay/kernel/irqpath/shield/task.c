// SPDX-License-Identifier: GPL-2.0-only
/*
 * shield: shielded CPUs run only tasks that are bound to shielded CPUs.
 *
 * Everything that sets the affinity of a task ends in
 * set_cpus_allowed_common(). There the mask is kept as the one that was asked
 * for. The one that holds is made from it: without the shielded CPUs, if a
 * usable CPU is left. So it does not matter who asks (sched_setaffinity(), a
 * cpuset, a driver, hotplug), nor whether that was before or after the shield
 * was set. A thread that is bound to one CPU stays where it is.
 *
 * When a shield changes, or a CPU comes or goes, each task's affinity is set
 * once more to the one that was asked for. A task that is forked meanwhile does
 * so before it first runs.
 *
 * Deadline tasks are left alone, because they were admitted to all CPUs of
 * their root domain.
 */
#include <linux/pid.h>
#include <linux/sched/task.h>

#include "shield.h"

DEFINE_STATIC_KEY_FALSE(irqpath_procs_key);

static bool leaves_some(const struct cpumask *cpus,
			const struct cpumask *shield,
			const struct cpumask *usable)
{
	int cpu;

	for_each_cpu_andnot(cpu, cpus, shield)
		if (cpumask_test_cpu(cpu, usable))
			return true;
	return false;
}

/**
 * irqpath_shield_cut() - remove the shielded CPUs from an affinity
 * @cpus: the affinity
 * @shield: the shielded CPUs
 * @usable: CPUs that can run something now
 *
 * Return: true if it removed some. It does not change @cpus if that would leave
 * no usable CPU.
 */
bool irqpath_shield_cut(struct cpumask *cpus, const struct cpumask *shield,
			const struct cpumask *usable)
{
	if (!cpumask_intersects(cpus, shield) ||
	    !leaves_some(cpus, shield, usable))
		return false;
	cpumask_andnot(cpus, cpus, shield);
	return true;
}

/**
 * irqpath_shield_is_cut() - whether irqpath_shield_cut() made an affinity
 * @cpus: the affinity that holds
 * @asked: the affinity that was asked for
 * @shield: the shielded CPUs
 * @usable: CPUs that can run something now
 */
bool irqpath_shield_is_cut(const struct cpumask *cpus,
			   const struct cpumask *asked,
			   const struct cpumask *shield,
			   const struct cpumask *usable)
{
	if (!leaves_some(asked, shield, usable))
		return cpumask_equal(cpus, asked);
	return cpumask_subset(cpus, asked) &&
	       !cpumask_intersects(cpus, shield) &&
	       cpumask_weight(cpus) == cpumask_weight_andnot(asked, shield);
}

/*
 * A task that must stay on its CPU and sets its own affinity would wait for
 * itself if it lost that CPU.
 */
static bool is_exempt(struct task_struct *p)
{
	return p->policy == SCHED_DEADLINE ||
	       (p == current && p->migration_disabled);
}

/* @p->cpus_mask is the affinity that was asked for. Remove shielded CPUs. */
static void cut_affinity(struct task_struct *p)
{
	struct irqpath_cpuset *set;

	guard(rcu)();
	set = rcu_dereference(irqpath_shield_procs.set);
	if (set && !is_exempt(p) &&
	    irqpath_shield_cut(&p->cpus_mask, &set->cpus, cpu_active_mask))
		p->nr_cpus_allowed = cpumask_weight(&p->cpus_mask);
}

/**
 * irqpath_shield_task() - apply the shield when a task's affinity is set
 * @p: the task, its cpus_mask just set to @asked
 * @asked: the affinity that is asked for
 * @yield: @p can run nowhere else: do not apply it
 *
 * Context: p->pi_lock is held, and rq->lock if @p is queued.
 */
void irqpath_shield_task(struct task_struct *p, const struct cpumask *asked,
			 bool yield)
{
	if (asked != &p->irqpath_asked)
		cpumask_copy(&p->irqpath_asked, asked);
	if (static_branch_unlikely(&irqpath_procs_key) && !yield)
		cut_affinity(p);
}

/**
 * irqpath_shield_is_settled() - whether a task has the affinity asked for
 * @p: the task
 * @asked: the affinity that is asked for
 *
 * Context: p->pi_lock is held.
 */
bool irqpath_shield_is_settled(struct task_struct *p,
			       const struct cpumask *asked)
{
	struct irqpath_cpuset *set;

	if (!cpumask_equal(&p->irqpath_asked, asked))
		return false;
	guard(rcu)();
	set = rcu_dereference(irqpath_shield_procs.set);
	if (!set || is_exempt(p))
		return cpumask_equal(&p->cpus_mask, asked);
	return irqpath_shield_is_cut(&p->cpus_mask, asked, &set->cpus,
				     cpu_active_mask);
}

void __irqpath_shield_fork(struct task_struct *p)
{
	lockdep_assert_held(&p->pi_lock);

	cpumask_copy(&p->cpus_mask, &p->irqpath_asked);
	p->nr_cpus_allowed = cpumask_weight(&p->cpus_mask);
	cut_affinity(p);
}

/* Find the next task with at least this number, and advance the number. */
static struct task_struct *next_task_from(pid_t *nr)
{
	struct task_struct *p = NULL;
	struct pid *pid;

	guard(rcu)();
	while (!p) {
		pid = find_ge_pid(*nr, &init_pid_ns);
		if (!pid)
			return NULL;
		*nr = pid_nr(pid) + 1;
		p = pid_task(pid, PIDTYPE_PID);
	}
	return get_task_struct(p);
}

static void walk_tasks_once(void)
{
	struct task_struct *p;
	pid_t nr = 1;

	while ((p = next_task_from(&nr))) {
		set_cpus_allowed_ptr(p, irqpath_asked(p));
		put_task_struct(p);
		cond_resched();
	}
}

/*
 * The walk is by number, because setting an affinity may sleep. A task that is
 * not in the list when the lock is taken sees the new set when it first runs.
 * All others are found. A thread that executes a program takes the number of
 * its leader, once, so that the first walk may miss it. Setting fails for a
 * task without a usable CPU, which is right: it asked for no other.
 */
static void walk_tasks(void)
{
	read_lock(&tasklist_lock);
	read_unlock(&tasklist_lock);

	walk_tasks_once();
	walk_tasks_once();
}

struct irqpath_shield irqpath_shield_procs = {
	.key = &irqpath_procs_key,
	.walk = walk_tasks,
};
