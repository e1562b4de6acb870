/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: the rules that keep migrate safe, private to kernel/irqpath/.
 */
#ifndef _KERNEL_IRQPATH_RULES_H
#define _KERNEL_IRQPATH_RULES_H

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/rtmutex.h>
#include <linux/sched.h>
#include <linux/sched/rt.h>
#include <linux/wait.h>

#include "../genirq.h"
#include "../faults.h"
#include "migrate.h"

/* A forced-threaded handler was written for hardirqs, and can run in a task. */
static inline bool __irqpath_may_migrate(const struct irqpath_origin *o)
{
	return o->forced;
}

/* Parking shows lockdep the locks that the task may take in the handler. */
static inline void __irqpath_touch_handler_lock(struct irqpath_origin *o)
{
	irqpath_map_acquire(o);
	irqpath_map_release(o);
}

/* The most urgent task is offered a handler first. */
static inline bool __irqpath_parks_before(const struct irqpath_task *t,
					  const struct irqpath_task *other)
{
	return t->task->prio < other->task->prio;
}

/*
 * A sleeping task whose priority changes has no place until it parks again. It
 * may sleep on, but its place among the parked tasks is wrong.
 */
static inline void __irqpath_leave_place(struct irqpath_task *t)
{
	if (READ_ONCE(t->state) != IRQPATH_IDLE)
		irqpath_disarm_task(t);
}

/* Handlers are offered by a task's own priority, not by one it was lent. */
static inline int __irqpath_own_prio(const struct task_struct *p)
{
	return READ_ONCE(p->normal_prio);
}

/**
 * irqpath_outranks() - whether a task may run a handler in its thread's place
 * @p: the task
 * @action: with a thread
 *
 * Its own priority counts: one that was lent to it may be taken back while it
 * runs the handler. An RR task has to be above the thread, because it yields to
 * its equals when its slice ends, and the thread does not.
 */
static inline bool irqpath_outranks(const struct task_struct *p,
				    const struct irqaction *action)
{
	int thread = READ_ONCE(action->thread->normal_prio);
	int prio = irqpath_own_prio(p);

	return rt_or_dl_prio(prio) && prio <= thread - (p->policy == SCHED_RR);
}

/* An offer goes to a task that runs at once where the thread would. */
static inline bool __irqpath_preempts_thread(const struct task_struct *p,
					     const struct irqaction *action)
{
	return irqpath_outranks(p, action);
}

/* The thread waits for the running task, which goes before it. */
static inline bool irqpath_thread_waits(const struct irqaction *action)
{
	int prio = current->prio;

	return rt_or_dl_prio(prio) && prio <= READ_ONCE(action->thread->prio);
}

/* A traced task is offered nothing: its tracer may stop it. */
static inline bool __irqpath_is_traced(const struct task_struct *p)
{
	return p->ptrace;
}

/* An offer goes to a task that may run on this CPU. */
static inline bool __irqpath_may_run_here(const struct task_struct *p)
{
	return task_cpu(p) == smp_processor_id() &&
	       cpumask_test_cpu(smp_processor_id(), p->cpus_ptr);
}

/* The token that the hardirq has just set is the only one of the line. */
static inline bool __irqpath_has_one_token(struct irq_desc *desc)
{
	return atomic_read(&desc->threads_active) == 1;
}

/* A task runs the handler of the origin. */
static inline bool __irqpath_has_runner(struct irqpath_origin *o)
{
	return rt_mutex_base_is_locked(&o->run.rtmutex);
}

/* Wake the task that was offered a handler. */
static inline void __irqpath_wake_runner(struct task_struct *p)
{
	wake_up_state(p, TASK_NORMAL);
}

/*
 * The current task becomes the runner of the handler that it was offered, if
 * there is none. It sets its origin first, so that irqpath_prio_changed()
 * notices any later change.
 */
static inline bool __irqpath_begin_run(struct irqpath_task *t)
{
	WRITE_ONCE(t->origin, t->from);
	if (!rt_mutex_trylock(&t->from->run)) {
		WRITE_ONCE(t->origin, NULL);
		return false;
	}
	/* Pairs with irqpath_prio_changed(): one of the two sees the other. */
	smp_mb();
	return true;
}

/* A task that was demoted or moved might not run when the thread would. */
static inline bool __irqpath_is_fit(const struct irqpath_task *t)
{
	return t->cpu == smp_processor_id() &&
	       irqpath_outranks(current, t->action);
}

/*
 * Give the token back. If the next one is there already, the two become one,
 * and so do their counts. The count that is left keeps the line from being
 * freed.
 */
static inline void irqpath_return_token(struct irqpath_origin *o,
					struct irqaction *action)
{
	if (test_and_set_bit(IRQTF_RUNTHREAD, &action->thread_flags))
		atomic_dec(&o->desc->threads_active);
}

/*
 * The runner takes the token. A thread that takes the next token finds the
 * runner.
 *
 * A task may come late, for an offer that it lost to the thread: beside the
 * next offer, or while the thread runs the handler. Then the line counts more
 * than one token, and the task leaves this one.
 */
static inline bool __irqpath_take_token(struct irqpath_origin *o,
					struct irqaction *action)
{
	if (!test_and_clear_bit(IRQTF_RUNTHREAD, &action->thread_flags))
		return false;
	if (likely(irqpath_has_one_token(o->desc)))
		return true;
	irqpath_return_token(o, action);
	return false;
}

/* Run the handler. The line is not quiet until irqpath_end_handler(). */
static inline irqreturn_t __irqpath_call_handler(struct irq_desc *desc,
						 struct irqaction *action)
{
	return action->thread_fn(action->irq, action->dev_id);
}

/* The task unmasks the line that the hardirq masked for the handler. */
static inline void __irqpath_unmask_line(struct irq_desc *desc,
					 struct irqaction *action)
{
	irqpath_finalize_oneshot(desc, action);
}

/*
 * The handler still runs. If a thread runs it, the task that would run it once
 * more might preempt the thread.
 */
static inline bool irqpath_handler_is_running(struct irqpath_origin *o,
					      struct irq_desc *desc)
{
	return !irqpath_has_one_token(desc) || irqpath_has_runner(o);
}

/* The softirqs that run in the task: those that its handler raised. */
static inline u32 __irqpath_own_softirqs(const struct irqpath_task *t)
{
	return t->own_softirqs;
}

/*
 * Tell free_irq() that the token is handled, as a thread does. The line may be
 * gone at once, so the task must not be preempted between count and wakeup.
 */
static inline void __irqpath_end_handler(struct irq_desc *desc)
{
	preempt_disable();
	if (likely(!atomic_dec_and_test(&desc->threads_active) ||
		   /* That was a barrier, as that of prepare_to_wait(). */
		   !waitqueue_active(&desc->wait_for_threads))) {
		preempt_enable();
		return;
	}
	rcu_read_lock();
	preempt_enable();
	wake_up(&desc->wait_for_threads);
	rcu_read_unlock();
}

/* The thread lends its priority to a runner that may have fallen below it. */
static inline bool __irqpath_must_lend(struct irqpath_origin *o)
{
	return irqpath_has_runner(o);
}

/* The offers of an action go with it. */
static inline void __irqpath_end_offers(struct irqpath_origin *o)
{
	irqpath_withdraw_offers(o);
}

#endif /* _KERNEL_IRQPATH_RULES_H */
