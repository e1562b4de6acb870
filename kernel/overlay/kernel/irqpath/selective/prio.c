// SPDX-License-Identifier: GPL-2.0-only
/*
 * selective: only interrupts that serve a real-time task are real-time work.
 *
 * The thread of an interrupt that has woken no real-time task runs as an
 * ordinary task, SCHED_NORMAL with nice 0; one that has runs at the priority
 * that the kernel gave it. And an ordinary task that is woken does not preempt
 * an ordinary task before its slice ends: see check_preempt_wakeup_fair(). Nor
 * does it keep that one from a mutex until it has run: see rt_mutex_steal().
 *
 * An interrupt serves a task as long as there is an association that it has
 * confirmed within the last irqpath_quiet activations. A thread whose
 * priority somebody has set by hand is never touched: the scheduler asks
 * irqpath_check_setscheduler() with the lock held under which it sets it.
 *
 * Priorities change in a worker: a wakeup that makes an association holds
 * p->pi_lock, a task that loses one may be exiting.
 */
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <trace/events/irqpath.h>
#include <uapi/linux/sched/types.h>

#include "selective.h"

DEFINE_STATIC_KEY_FALSE(irqpath_selective_key);

/* Activations without a wakeup of a real-time task that end the service. */
unsigned int irqpath_quiet = 1000;

/* What the administrator knows better, by interrupt number. */
DECLARE_BITMAP(irqpath_allowed, IRQPATH_NR_LISTED);
DECLARE_BITMAP(irqpath_denied, IRQPATH_NR_LISTED);

/* Made when the policy is first switched on, and kept. */
static struct kthread_worker *worker;

static bool is_listed(const unsigned long *list, unsigned int irq)
{
	return irq < IRQPATH_NR_LISTED && test_bit(irq, list);
}

/**
 * irqpath_serves() - whether an interrupt is real-time work
 * @nr_targets: associations with it
 * @quiet: activations since it woke one of them
 * @limit: irqpath_quiet
 * @allowed: the administrator says that it is
 * @denied: the administrator says that it is not
 */
bool irqpath_serves(unsigned int nr_targets, unsigned int quiet,
		    unsigned int limit, bool allowed, bool denied)
{
	if (allowed || denied)
		return allowed;
	return nr_targets && quiet < limit;
}

/* The priority that the kernel gives it, or none. Fails if set by hand. */
static int set_thread(struct task_struct *p, bool serves)
{
	struct sched_attr attr = {
		.sched_policy = serves ? SCHED_FIFO : SCHED_NORMAL,
		.sched_priority = serves ? MAX_RT_PRIO / 2 : 0,
	};

	return irqpath_set_sched(p, &attr);
}

static void adjust_thread(struct irqpath_origin *o, struct irqaction *action,
			  bool serves)
{
	struct irqpath_task *t;

	if (!action || !action->thread)
		return;
	t = action->thread->irqpath;
	if (!t || READ_ONCE(t->demoted) == !serves ||
	    set_thread(t->task, serves))
		return;
	if (serves) {
		irqpath_count(promoted);
		trace_irqpath_promote(o, t->task);
	} else {
		irqpath_count(demoted);
		trace_irqpath_demote(o, t->task);
	}
}

/*
 * The primary handler's thread rises first and falls last: below its secondary
 * thread, which waits for it, it might never run.
 */
static void adjust(struct irqpath_origin *o)
{
	bool on = static_key_enabled(&irqpath_selective_key);
	bool serves = !on ||
		irqpath_serves(atomic_read(&o->nr_targets), READ_ONCE(o->quiet),
			       READ_ONCE(irqpath_quiet),
			       is_listed(irqpath_allowed, o->irq),
			       is_listed(irqpath_denied, o->irq));

	if (serves)
		adjust_thread(o, o->action, serves);
	adjust_thread(o, o->action->secondary, serves);
	if (!serves)
		adjust_thread(o, o->action, serves);
}

static void adjust_all(struct kthread_work *work)
{
	irqpath_visit_actions(adjust);
}

static DEFINE_KTHREAD_WORK(adjust_work, adjust_all);

static void queue_adjust(struct irq_work *work)
{
	kthread_queue_work(worker, &adjust_work);
}

static struct irq_work kick = IRQ_WORK_INIT_HARD(queue_adjust);

/**
 * irqpath_select() - associations or lists have changed
 *
 * Context: any; p->pi_lock may be held.
 */
void irqpath_select(void)
{
	if (static_branch_unlikely(&irqpath_selective_key))
		irq_work_queue(&kick);
}

/**
 * irqpath_quiet_set() - set irqpath_quiet, which can end and begin services
 * @quiet: activations
 *
 * Return: 0.
 */
int irqpath_quiet_set(unsigned int quiet)
{
	WRITE_ONCE(irqpath_quiet, quiet);
	irqpath_select();
	return 0;
}

/**
 * irqpath_check_setscheduler() - the policy of a task is about to be set
 * @p: the task
 * @policy: the one that it gets
 *
 * Context: rq->lock of @p held. A priority that somebody chose for an
 * interrupt's thread, and ours, come one after the other.
 * Return: 0, or -EBUSY if it is selective that comes second.
 */
int irqpath_check_setscheduler(struct task_struct *p, int policy)
{
	struct irqpath_task *t = READ_ONCE(p->irqpath);
	struct kthread_worker *w = READ_ONCE(worker);

	/* Of the kernel's own threads only those of interrupts have an origin. */
	if (!(p->flags & PF_KTHREAD) || !t || !READ_ONCE(t->origin))
		return 0;
	if (!w || current != w->task) {
		/* The thread sets its own when it begins. */
		if (current == p)
			WRITE_ONCE(t->demoted, false);
		else
			t->set_by_hand = true;
		return 0;
	}
	if (irqpath_is_set_by_hand(t))
		return -EBUSY;
	WRITE_ONCE(t->demoted, policy == SCHED_NORMAL);
	return 0;
}

/**
 * irqpath_selective_start() - demote what serves nobody
 *
 * Context: the switches' mutex is held, learning is on.
 * Return: 0, or why there is no worker.
 */
int irqpath_selective_start(void)
{
	if (!worker) {
		struct kthread_worker *w = kthread_create_worker(0, "irqpath");

		if (IS_ERR(w))
			return PTR_ERR(w);
		sched_set_fifo(w->task);
		WRITE_ONCE(worker, w);
	}
	static_branch_enable(&irqpath_selective_key);
	irqpath_select();
	return 0;
}

/**
 * irqpath_selective_stop() - give every thread its priority back
 *
 * Context: the switches' mutex is held.
 */
void irqpath_selective_stop(void)
{
	static_branch_disable(&irqpath_selective_key);
	kthread_queue_work(worker, &adjust_work);
	kthread_flush_worker(worker);
}
