// SPDX-License-Identifier: GPL-2.0-only
/*
 * selective: the priorities of interrupts' threads.
 *
 * The thread of an interrupt that serves no real-time task runs as SCHED_NORMAL
 * with nice 0. One that serves a task has the priority that the kernel gave it.
 * An interrupt serves a task while an association exists that it has confirmed
 * within the last irqpath_quiet activations. It also serves the kernel threads
 * that are real-time work themselves, of other interrupts or of a driver.
 *
 * A thread whose priority somebody set by hand is never changed. The scheduler
 * calls irqpath_check_setscheduler() with the lock held under which it sets a
 * priority.
 *
 * A worker changes the priorities, because a wakeup that makes an association
 * holds p->pi_lock, and a task that loses one may be exiting.
 *
 * For the other parts of the policy, see check_preempt_wakeup_fair() and
 * rt_mutex_steal().
 */
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <trace/events/irqpath.h>
#include <uapi/linux/sched/types.h>

#include "selective.h"

DEFINE_STATIC_KEY_FALSE(irqpath_selective_key);

/* An interrupt stops serving after so many activations without a wakeup. */
unsigned int irqpath_quiet = 1000;

/* The administrator's lists of interrupt numbers. */
DECLARE_BITMAP(irqpath_allowed, IRQPATH_NR_LISTED);
DECLARE_BITMAP(irqpath_denied, IRQPATH_NR_LISTED);

/* Made when the policy is first switched on, and kept. */
static struct kthread_worker *worker;

static bool is_listed(const unsigned long *list, unsigned int irq)
{
	return irq < IRQPATH_NR_LISTED && test_bit(irq, list);
}

/* FIFO 1: what the kernel itself does in the background, RCU for example. */
#define PRIO_BACKGROUND	(MAX_RT_PRIO - 2)

/**
 * __irqpath_is_urgent_thread() - whether a kernel thread is real-time work
 * @t: its state
 *
 * The threads of a CPU, such as migration/N, work for everybody, and the worker
 * for this policy.
 */
bool __irqpath_is_urgent_thread(const struct irqpath_task *t)
{
	struct kthread_worker *w = READ_ONCE(worker);
	struct task_struct *p = t->task;

	return p->normal_prio < PRIO_BACKGROUND && !kthread_is_per_cpu(p) &&
	       !(w && p == w->task);
}

/**
 * irqpath_serves() - whether an interrupt is real-time work
 * @nr_targets: associations with it, and one more if it serves a kernel thread
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

/* FIFO 50, as the kernel gives it, or ordinary. Fails if set by hand. */
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
 * The primary handler's thread rises first and falls last. It might never run
 * below its secondary thread, which waits for it.
 */
static void adjust_origin(struct irqpath_origin *o)
{
	bool on = static_key_enabled(&irqpath_selective_key);
	bool serves = !on ||
		irqpath_serves(atomic_read(&o->nr_targets) +
			       READ_ONCE(o->serves_thread),
			       READ_ONCE(o->quiet),
			       READ_ONCE(irqpath_quiet),
			       is_listed(irqpath_allowed, o->irq),
			       is_listed(irqpath_denied, o->irq));

	if (serves)
		adjust_thread(o, o->action, serves);
	adjust_thread(o, o->action->secondary, serves);
	if (!serves)
		adjust_thread(o, o->action, serves);
}

static void adjust_origins(struct kthread_work *work)
{
	irqpath_visit_actions(adjust_origin);
}

static DEFINE_KTHREAD_WORK(adjust_work, adjust_origins);

static void queue_adjust(struct irq_work *work)
{
	kthread_queue_work(worker, &adjust_work);
}

static struct irq_work kick = IRQ_WORK_INIT_HARD(queue_adjust);

/**
 * irqpath_adjust_threads() - have the worker adjust the interrupts' threads
 *
 * Called after associations or lists have changed.
 *
 * Context: any; p->pi_lock may be held.
 */
void irqpath_adjust_threads(void)
{
	if (static_branch_unlikely(&irqpath_selective_key))
		irq_work_queue(&kick);
}

/**
 * irqpath_set_quiet() - set irqpath_quiet, and adjust the threads
 * @quiet: activations
 *
 * Return: 0.
 */
int irqpath_set_quiet(unsigned int quiet)
{
	WRITE_ONCE(irqpath_quiet, quiet);
	irqpath_adjust_threads();
	return 0;
}

/**
 * irqpath_check_setscheduler() - check a change of a task's policy
 * @p: the task
 * @policy: the new one
 *
 * Context: rq->lock of @p held, which orders selective's changes of a thread
 * and those of others.
 * Return: 0, or -EBUSY if selective comes after somebody else.
 */
int irqpath_check_setscheduler(struct task_struct *p, int policy)
{
	struct irqpath_task *t = READ_ONCE(p->irqpath);
	struct kthread_worker *w = READ_ONCE(worker);

	/* Of all kernel threads, only those of interrupts have an origin. */
	if (!(p->flags & PF_KTHREAD) || !t || !READ_ONCE(t->origin))
		return 0;
	if (!w || current != w->task) {
		/* The thread sets its own priority when it starts. */
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
 * irqpath_selective_start() - demote the threads that serve nobody
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
	irqpath_adjust_threads();
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
