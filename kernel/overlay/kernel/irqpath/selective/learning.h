/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: what learning tells selective. Private to kernel/irqpath/, included
 * by learn/.
 */
#ifndef _KERNEL_IRQPATH_SELECTIVE_LEARNING_H
#define _KERNEL_IRQPATH_SELECTIVE_LEARNING_H

#ifdef CONFIG_IRQPATH_SELECTIVE

#include "selective.h"

/* An origin gets an action. */
static inline void irqpath_reset_service(struct irqpath_origin *o)
{
	o->serves_thread = false;
	o->quiet = 0;
}

/* The handler of an origin, or of none, is about to run. */
static inline void irqpath_note_activation(struct irqpath_origin *o)
{
	if (static_branch_unlikely(&irqpath_selective_key) && o &&
	    o->quiet != UINT_MAX && ++o->quiet == READ_ONCE(irqpath_quiet))
		irqpath_adjust_threads();
}

/* A task gets an association with the origin. */
static inline void irqpath_add_target(struct irqpath_origin *o)
{
	WRITE_ONCE(o->quiet, 0);
	if (atomic_inc_return(&o->nr_targets) == 1)
		irqpath_adjust_threads();
}

/* An association ends. */
static inline void irqpath_remove_target(struct irqpath_origin *o)
{
	if (atomic_dec_and_test(&o->nr_targets))
		irqpath_adjust_threads();
}

/* The interrupt served a task: it is quiet no longer. */
static inline void irqpath_confirm_service(struct irqpath_origin *o)
{
	unsigned int quiet = READ_ONCE(o->quiet);

	if (quiet)
		WRITE_ONCE(o->quiet, 0);
	if (unlikely(quiet >= READ_ONCE(irqpath_quiet)))
		irqpath_adjust_threads();
}

/*
 * A kernel thread is being woken, by an origin or by none. The origin serves a
 * thread that is real-time work, such as that of another interrupt that serves
 * a task: a controller's interrupt ends the transfer that the thread of a
 * device behind it waits for. A thread that stops serving confirms no more, and
 * the origin falls quiet.
 */
static inline void irqpath_note_service(struct irqpath_origin *o,
					struct irqpath_task *t)
{
	if (!o || o == t->origin || !irqpath_is_urgent_thread(t))
		return;
	if (READ_ONCE(o->serves_thread)) {
		irqpath_confirm_service(o);
		return;
	}
	WRITE_ONCE(o->serves_thread, true);
	WRITE_ONCE(o->quiet, 0);
	irqpath_adjust_threads();
}

/* An interrupt's thread that starts has just set its own priority. */
static inline void irqpath_note_own_priority(struct irqpath_task *t)
{
	if (t->task == current && current->flags & PF_KTHREAD &&
	    READ_ONCE(t->origin))
		irqpath_adjust_threads();
}

#else /* !CONFIG_IRQPATH_SELECTIVE */

struct irqpath_origin;
struct irqpath_task;

static inline void irqpath_reset_service(struct irqpath_origin *o) { }
static inline void irqpath_note_activation(struct irqpath_origin *o) { }
static inline void irqpath_add_target(struct irqpath_origin *o) { }
static inline void irqpath_remove_target(struct irqpath_origin *o) { }
static inline void irqpath_confirm_service(struct irqpath_origin *o) { }
static inline void irqpath_note_service(struct irqpath_origin *o,
					struct irqpath_task *t) { }
static inline void irqpath_note_own_priority(struct irqpath_task *t) { }
static inline void irqpath_adjust_threads(void) { }

#endif /* CONFIG_IRQPATH_SELECTIVE */

#endif /* _KERNEL_IRQPATH_SELECTIVE_LEARNING_H */
