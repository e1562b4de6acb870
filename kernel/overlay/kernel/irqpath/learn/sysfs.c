// SPDX-License-Identifier: GPL-2.0-only
/* /sys/kernel/irqpath/associations, and learn. */
#include <linux/jiffies.h>
#include <linux/sched/signal.h>

#include "../sysfs.h"
#include "show.h"

static struct irqpath_switch learn = {
	.file = IRQPATH_SWITCH_FILE,
	.learns = true,
};

/* Room for the line that says how many are missing. */
#define MORE_LEN	sizeof("# 4294967295 more\n")

/* Return: the length of the line, or 0 if it does not fit. */
static int show_slot(char *buf, int at, const struct irqpath_slot *slot,
		     const struct irqpath_origin *o, struct task_struct *p,
		     pid_t pid)
{
	char name[IRQPATH_SHOWN_NAME], comm[IRQPATH_SHOWN_NAME];
	char own[TASK_COMM_LEN];
	int len;

	irqpath_escape_name(name, sizeof(name), o->name);
	irqpath_escape_name(comm, sizeof(comm), get_task_comm(own, p));
	len = sysfs_emit_at(buf, at,
			    "%u\t%s\t%d\t%s\t%u\t%lu\t%lu\t%lu\t%u\t%u\t%d\t%lu\n",
			    o->irq, name, pid, comm, p->rt_priority, slot->hits,
			    slot->runs, slot->misses,
			    jiffies_to_msecs(jiffies - slot->last),
			    irqpath_get_trust(slot), slot->pinned,
			    slot->mm_switched);
	return at + len + MORE_LEN <= PAGE_SIZE ? len : 0;
}

/* One page: whole lines, and the number of lines that did not fit. */
static ssize_t associations_show(struct kobject *kobj,
				 struct kobj_attribute *attr, char *buf)
{
	struct task_struct *g, *p;
	unsigned int more = 0;
	int len = sysfs_emit(buf, "irq\tname\tpid\tcomm\tprio\thits\truns\t"
			     "misses\tage_ms\tcredit\tpinned\tmm_switched\n");

	rcu_read_lock();
	for_each_process_thread(g, p) {
		struct irqpath_task *t = READ_ONCE(p->irqpath);
		pid_t pid = t ? irqpath_visible_pid(p) : 0;
		int i;

		for (i = 0; pid && i < IRQPATH_NR_SLOTS; i++) {
			struct irqpath_slot *slot = &t->slot[i];
			struct irqpath_origin *o = READ_ONCE(slot->origin);
			int line = 0;

			if (!o)
				continue;
			if (!more)
				line = show_slot(buf, len, slot, o, p, pid);
			len += line;
			more += !line;
		}
	}
	rcu_read_unlock();
	if (more)
		len += sysfs_emit_at(buf, len, "# %u more\n", more);
	return len;
}

/* For root only, as it names tasks of all users. */
static struct kobj_attribute associations_attr =
	__ATTR_RO_MODE(associations, 0400);

static struct attribute *root_attrs[] = {
	&associations_attr.attr,
	NULL,
};

const struct attribute_group irqpath_root_group = {
	.attrs = root_attrs,
};

static struct attribute *learn_attrs[] = {
	&learn.file.attr,
	&IRQPATH_COUNTER(learned).file.attr,
	NULL,
};

const struct attribute_group irqpath_learn_group = {
	.name = "learn",
	.attrs = learn_attrs,
};
