/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: what learning tells migrate. Private to kernel/irqpath/, included by
 * learn/.
 */
#ifndef _KERNEL_IRQPATH_MIGRATE_LEARNING_H
#define _KERNEL_IRQPATH_MIGRATE_LEARNING_H

#ifdef CONFIG_IRQPATH_MIGRATE

#include "rules.h"

/* An origin was made. */
static inline void irqpath_init_run(struct irqpath_origin *o)
{
	rt_mutex_init(&o->run);
#ifdef CONFIG_LOCKDEP
	lockdep_register_key(&o->key);
	lockdep_init_map(&o->map, "irq_handler", &o->key, 0);
#endif
}

/* An origin gets an action. */
static inline void irqpath_reset_peek(struct irqpath_origin *o)
{
	o->peek = NULL;
}

/* The state of a task was made. */
static inline void irqpath_init_place(struct irqpath_task *t)
{
	INIT_LIST_HEAD(&t->node);
}

/* Context: interrupts disabled. */
static inline void irqpath_note_own_softirq(unsigned int nr)
{
	if (!in_hardirq() && current->irqpath)
		current->irqpath->own_softirqs |= BIT(nr);
}

#else /* !CONFIG_IRQPATH_MIGRATE */

struct irqpath_origin;
struct irqpath_task;

static inline void irqpath_init_run(struct irqpath_origin *o) { }
static inline void irqpath_reset_peek(struct irqpath_origin *o) { }
static inline void irqpath_init_place(struct irqpath_task *t) { }
static inline void irqpath_note_own_softirq(unsigned int nr) { }
static inline void irqpath_leave_place(struct irqpath_task *t) { }
static inline void irqpath_end_offers(struct irqpath_origin *o) { }

#endif /* CONFIG_IRQPATH_MIGRATE */

#endif /* _KERNEL_IRQPATH_MIGRATE_LEARNING_H */
