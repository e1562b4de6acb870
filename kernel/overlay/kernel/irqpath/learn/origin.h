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
 * @peek: looks at the packet behind the interrupt, or NULL
 * @run: held by the task that runs the handler in the thread's place; the
 *	 thread waits for it, and so lends the task its priority
 * @nr_targets: associations that name this origin
 * @serves_thread: has woken a kernel thread that is real-time work
 * @quiet: activations since the last wakeup of a real-time task or thread
 * @key: lockdep class of @map
 * @map: held while the handler runs, in the thread and in a task; touched
 *	 where tasks park: an inversion shows without a migration
 */
struct irqpath_origin {
	struct list_head	node;
	struct irqaction	*action;
	struct irq_desc		*desc;
	unsigned int		irq;
	bool			forced;
	char			name[TASK_COMM_LEN];
	bool			has_file;
	irqpath_peek_t		peek;
	struct rt_mutex		run;
	atomic_t		nr_targets;
	bool			serves_thread;
	unsigned int		quiet;
#ifdef CONFIG_LOCKDEP
	struct lock_class_key	key;
	struct lockdep_map	map;
#endif
};

#ifdef CONFIG_LOCKDEP
static inline void irqpath_map_acquire(struct irqpath_origin *o)
{
	lock_map_acquire(&o->map);
}

static inline void irqpath_map_release(struct irqpath_origin *o)
{
	lock_map_release(&o->map);
}
#else
static inline void irqpath_map_acquire(struct irqpath_origin *o) { }
static inline void irqpath_map_release(struct irqpath_origin *o) { }
#endif

typedef void (*irqpath_visit_t)(struct irqpath_origin *o);

void irqpath_visit_actions(irqpath_visit_t visit);
void irqpath_forget_raised(void);
struct irqpath_origin *irqpath_find_origin(unsigned int irq);
void irqpath_set_origin_peek(unsigned int irq, void *dev_id,
			     irqpath_peek_t peek);

#endif /* _KERNEL_IRQPATH_ORIGIN_H */
