/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: the origin of work, private to kernel/irqpath/. See origin.c.
 *
 * An origin is never freed, only reused. A stale pointer can therefore name
 * the wrong interrupt, which is a misprediction, but never freed memory.
 */
#ifndef _KERNEL_IRQPATH_ORIGIN_H
#define _KERNEL_IRQPATH_ORIGIN_H

#include <linux/irqpath.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/rtmutex.h>
#include <linux/sched.h>

/**
 * struct irqpath_origin - one irqaction, as the origin of work
 * @node: in the list of all
 * @action: the action, or NULL while the origin is free
 * @desc: the line of @action
 * @irq: its number
 * @forced: the action's handler runs in a forced thread
 * @name: of the action, truncated
 * @has_file: this origin owns /proc/irq/N/irqpath_target of the line
 */
struct irqpath_origin {
	struct list_head	node;
	struct irqaction	*action;
	struct irq_desc		*desc;
	unsigned int		irq;
	bool			forced;
	char			name[TASK_COMM_LEN];
	bool			has_file;
#ifdef CONFIG_IRQPATH_MIGRATE
	/** @peek: looks at the packet behind the interrupt, or NULL */
	irqpath_peek_t		peek;
	/**
	 * @run: held by the task that runs the handler in the thread's place;
	 * the thread waits for it, and so lends the task its priority
	 */
	struct rt_mutex		run;
#endif
#ifdef CONFIG_IRQPATH_SELECTIVE
	/** @nr_targets: associations that name this origin */
	atomic_t		nr_targets;
	/** @serves_thread: has woken a kernel thread that is real-time work */
	bool			serves_thread;
	/** @quiet: activations since it last woke a real-time task or thread */
	unsigned int		quiet;
#endif
#if defined(CONFIG_IRQPATH_MIGRATE) && defined(CONFIG_LOCKDEP)
	/** @key: lockdep class of @map */
	struct lock_class_key	key;
	/**
	 * @map: held while the handler runs, in the thread and in a task;
	 * touched where tasks park: an inversion shows without a migration
	 */
	struct lockdep_map	map;
#endif
};

/* No action has the origin, and no task runs the handler of its last one. */
static inline bool irqpath_origin_is_free(struct irqpath_origin *o)
{
#ifdef CONFIG_IRQPATH_MIGRATE
	if (rt_mutex_base_is_locked(&o->run.rtmutex))
		return false;
#endif
	return !o->action;
}

typedef void (*irqpath_visit_t)(struct irqpath_origin *o);

void irqpath_visit_actions(irqpath_visit_t visit);
void irqpath_forget_raised(void);
struct irqpath_origin *irqpath_find_origin(unsigned int irq);
#ifdef CONFIG_IRQPATH_MIGRATE
void irqpath_set_origin_peek(unsigned int irq, void *dev_id,
			     irqpath_peek_t peek);
#endif

#endif /* _KERNEL_IRQPATH_ORIGIN_H */
