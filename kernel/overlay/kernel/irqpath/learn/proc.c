// SPDX-License-Identifier: GPL-2.0-only
/*
 * /proc/irq/N/irqpath_target: the tasks that a line wakes, and associations by
 * hand. A pinned association is never replaced by another one and never loses
 * its trust. It ends with the task, with its real-time class and with the
 * handler, like any other.
 */
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/jiffies.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "../genirq.h"
#include "../irqpath.h"
#include "show.h"

#define NAME	"irqpath_target"

static void show_task(struct seq_file *m, struct task_struct *p,
		      unsigned int irq)
{
	char own[TASK_COMM_LEN], comm[IRQPATH_SHOWN_NAME];
	struct irqpath_task *t = READ_ONCE(p->irqpath);
	pid_t pid = t ? irqpath_visible_pid(p) : 0;
	int i;

	for (i = 0; pid && i < IRQPATH_NR_SLOTS; i++) {
		struct irqpath_slot *slot = &t->slot[i];
		struct irqpath_origin *o = READ_ONCE(slot->origin);

		if (!o || o->irq != irq)
			continue;
		irqpath_escape_name(comm, sizeof(comm), get_task_comm(own, p));
		seq_printf(m, "%d\t%s\t%u\t%lu\t%lu\t%lu\t%u\t%u\t%d\n", pid,
			   comm, p->rt_priority, slot->hits, slot->runs,
			   slot->misses,
			   jiffies_to_msecs(jiffies - slot->last),
			   irqpath_get_trust(slot), slot->pinned);
	}
}

static int target_show(struct seq_file *m, void *v)
{
	unsigned int irq = (unsigned long)m->private;
	struct task_struct *g, *p;

	seq_puts(m, "pid\tcomm\tprio\thits\truns\tmisses\tage_ms\tcredit\tpinned\n");
	rcu_read_lock();
	for_each_process_thread(g, p)
		show_task(m, p, irq);
	rcu_read_unlock();
	return 0;
}

static int target_open(struct inode *inode, struct file *file)
{
	return single_open(file, target_show, pde_data(inode));
}

static struct task_struct *get_task(pid_t pid)
{
	struct task_struct *p;

	rcu_read_lock();
	p = find_task_by_vpid(pid);
	if (p)
		get_task_struct(p);
	rcu_read_unlock();
	return p;
}

/* A thread's number pins its association, the negative number unpins it. */
static ssize_t target_write(struct file *file, const char __user *buf,
			    size_t count, loff_t *pos)
{
	unsigned int irq = (unsigned long)pde_data(file_inode(file));
	struct task_struct *p;
	int pid, ret;

	ret = kstrtoint_from_user(buf, count, 10, &pid);
	if (ret)
		return ret;
	if (!pid || pid == INT_MIN)
		return -EINVAL;
	p = get_task(abs(pid));
	if (!p)
		return -ESRCH;
	ret = irqpath_pin(p, irqpath_find_origin(irq), pid > 0);
	put_task_struct(p);
	return ret ?: count;
}

static const struct proc_ops target_ops = {
	.proc_open	= target_open,
	.proc_read	= seq_read,
	.proc_lseek	= seq_lseek,
	.proc_release	= single_release,
	.proc_write	= target_write,
};

/**
 * irqpath_add_proc_file() - make the file of a line
 * @desc: the line, whose directory is there
 * @irq: its number
 *
 * Return: whether it was made.
 */
bool irqpath_add_proc_file(struct irq_desc *desc, unsigned int irq)
{
	return proc_create_data(NAME, 0600, desc->dir, &target_ops,
				(void *)(unsigned long)irq);
}

/**
 * irqpath_remove_proc_file() - remove the file of a line
 * @desc: the line
 *
 * Context: may sleep; waits for readers and writers.
 */
void irqpath_remove_proc_file(struct irq_desc *desc)
{
	remove_proc_entry(NAME, desc->dir);
}
