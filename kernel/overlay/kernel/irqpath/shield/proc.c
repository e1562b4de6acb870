// SPDX-License-Identifier: GPL-2.0-only
/*
 * shield: /proc/shield, the tick of shielded CPUs, and CPUs that come and go.
 * See Documentation/ABI/testing/procfs-shield.
 */
#include <linux/cpu.h>
#include <linux/init.h>
#include <linux/mutex.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/tick.h>
#include <linux/workqueue.h>

#include "shield.h"

DEFINE_STATIC_KEY_FALSE(irqpath_ltmrs_key);

enum { PROCS, IRQS, LTMRS, ALL, NR_FILES };

static const char * const names[NR_FILES] = { "procs", "irqs", "ltmrs", "all" };

/* Protects the masks, and is taken before cpus_read_lock(). */
static DEFINE_MUTEX(shield_mutex);

/* CPUs whose tick may stop: those of nohz_full= at boot. */
static struct cpumask ltmrs;

bool __irqpath_shield_keeps_tick(int cpu)
{
	return !cpumask_test_cpu(cpu, &ltmrs);
}

static bool is_nohz_full(const struct cpumask *cpus)
{
	if (!tick_nohz_full_enabled())
		return cpumask_empty(cpus);
	return cpumask_subset(cpus, tick_nohz_full_mask);
}

/* A CPU that is kicked checks whether its tick must run. */
static void set_ltmrs(const struct cpumask *cpus)
{
	int cpu;

	if (!tick_nohz_full_enabled())
		return;
	cpumask_copy(&ltmrs, cpus);
	if (cpumask_equal(cpus, tick_nohz_full_mask))
		static_branch_disable_cpuslocked(&irqpath_ltmrs_key);
	else
		static_branch_enable_cpuslocked(&irqpath_ltmrs_key);
	for_each_cpu_and(cpu, tick_nohz_full_mask, cpu_online_mask)
		tick_nohz_full_kick_cpu(cpu);
}

/* Take over @new, which is NULL for no CPU. */
static void set_shield(struct irqpath_shield *s, struct irqpath_cpuset *new)
{
	struct irqpath_cpuset *old;

	old = rcu_replace_pointer(s->set, new, lockdep_is_held(&shield_mutex));
	if (new)
		static_branch_enable_cpuslocked(s->key);
	s->walk();
	if (!new)
		static_branch_disable_cpuslocked(s->key);
	kfree_rcu(old, rcu);
}

static int make_set(struct irqpath_cpuset **set, const struct cpumask *cpus)
{
	*set = NULL;
	if (cpumask_empty(cpus))
		return 0;
	*set = kmalloc_obj(**set, GFP_KERNEL);
	if (!*set)
		return -ENOMEM;
	cpumask_copy(&(*set)->cpus, cpus);
	return 0;
}

static void get_shield(const struct irqpath_shield *s, struct cpumask *cpus)
{
	struct irqpath_cpuset *set =
		rcu_dereference_protected(s->set,
					  lockdep_is_held(&shield_mutex));

	if (set)
		cpumask_copy(cpus, &set->cpus);
	else
		cpumask_clear(cpus);
}

/* An active CPU must be left for everybody else. */
static bool is_acceptable(unsigned int file, const struct cpumask *cpus)
{
	if ((file == LTMRS || file == ALL) && !is_nohz_full(cpus))
		return false;
	return cpumask_subset(cpus, cpu_possible_mask) &&
	       !cpumask_subset(cpu_active_mask, cpus);
}

/* Everything that may fail comes before anything changes. */
static int set_cpus(unsigned int file, const struct cpumask *cpus)
{
	struct irqpath_cpuset *procs = NULL, *irqs = NULL;
	int ret;

	if (!is_acceptable(file, cpus))
		return -EINVAL;
	if (file == PROCS || file == ALL) {
		ret = make_set(&procs, cpus);
		if (ret)
			return ret;
	}
	if (file == IRQS || file == ALL) {
		ret = make_set(&irqs, cpus);
		if (ret) {
			kfree(procs);
			return ret;
		}
	}
	/* Interrupts first: their threads follow them. */
	if (file == IRQS || file == ALL)
		set_shield(&irqpath_shield_irqs, irqs);
	if (file == PROCS || file == ALL)
		set_shield(&irqpath_shield_procs, procs);
	if (file == LTMRS || file == ALL)
		set_ltmrs(cpus);
	return 0;
}

static ssize_t shield_write(struct file *file, const char __user *buffer,
			    size_t count, loff_t *pos)
{
	unsigned int which = (uintptr_t)pde_data(file_inode(file));
	cpumask_var_t cpus;
	int ret;

	/* It moves tasks of other users and containers. */
	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	ret = cpumask_parse_user(buffer, count, cpus);
	if (!ret) {
		mutex_lock(&shield_mutex);
		cpus_read_lock();
		ret = set_cpus(which, cpus);
		cpus_read_unlock();
		mutex_unlock(&shield_mutex);
	}
	free_cpumask_var(cpus);
	return ret ?: count;
}

/*
 * A CPU that comes or goes may allow a shield to hold, or prevent it. When
 * hotplug reports it, the CPU is not usable yet, or still is. The work waits
 * until the change is done.
 */
static void reapply_shields(struct work_struct *work)
{
	mutex_lock(&shield_mutex);
	cpus_read_lock();
	if (static_key_enabled(&irqpath_irqs_key))
		irqpath_shield_irqs.walk();
	if (static_key_enabled(&irqpath_procs_key))
		irqpath_shield_procs.walk();
	cpus_read_unlock();
	mutex_unlock(&shield_mutex);
}

static DECLARE_WORK(walk_work, reapply_shields);

static int queue_walk(unsigned int cpu)
{
	queue_work(system_unbound_wq, &walk_work);
	return 0;
}

static void get_cpus(unsigned int file, struct cpumask *cpus,
		     struct cpumask *irqs)
{
	switch (file) {
	case PROCS:
		get_shield(&irqpath_shield_procs, cpus);
		break;
	case IRQS:
		get_shield(&irqpath_shield_irqs, cpus);
		break;
	case LTMRS:
		cpumask_copy(cpus, &ltmrs);
		break;
	default:
		get_shield(&irqpath_shield_procs, cpus);
		get_shield(&irqpath_shield_irqs, irqs);
		cpumask_and(cpus, cpus, irqs);
		cpumask_and(cpus, cpus, &ltmrs);
	}
}

/*
 * A mask that its administrator reads holds, even for CPUs that have just come.
 * Others must not make the kernel work for them.
 */
static int shield_show(struct seq_file *m, void *v)
{
	cpumask_var_t cpus, irqs;
	int ret = -ENOMEM;

	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return ret;
	if (!alloc_cpumask_var(&irqs, GFP_KERNEL))
		goto free_cpus;
	if (file_ns_capable(m->file, &init_user_ns, CAP_SYS_ADMIN))
		flush_work(&walk_work);
	mutex_lock(&shield_mutex);
	get_cpus((uintptr_t)m->private, cpus, irqs);
	mutex_unlock(&shield_mutex);
	seq_printf(m, "%*pb\n", cpumask_pr_args(cpus));
	ret = 0;
	free_cpumask_var(irqs);
free_cpus:
	free_cpumask_var(cpus);
	return ret;
}

static int shield_open(struct inode *inode, struct file *file)
{
	return single_open(file, shield_show, pde_data(inode));
}

static const struct proc_ops shield_proc_ops = {
	.proc_open	= shield_open,
	.proc_read	= seq_read,
	.proc_lseek	= seq_lseek,
	.proc_release	= single_release,
	.proc_write	= shield_write,
};

static int __init shield_init(void)
{
	struct proc_dir_entry *dir;
	uintptr_t i;
	int state;

	if (tick_nohz_full_enabled())
		cpumask_copy(&ltmrs, tick_nohz_full_mask);
	state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "irqpath:shield",
					  queue_walk, queue_walk);
	if (state < 0)
		return state;
	dir = proc_mkdir("shield", NULL);
	if (!dir)
		goto remove;
	for (i = 0; i < NR_FILES; i++)
		if (!proc_create_data(names[i], 0644, dir, &shield_proc_ops,
				      (void *)i))
			goto remove;
	return 0;

remove:
	proc_remove(dir);
	cpuhp_remove_state_nocalls(state);
	return -ENOMEM;
}
late_initcall(shield_init);
