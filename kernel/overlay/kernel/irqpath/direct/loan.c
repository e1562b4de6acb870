// SPDX-License-Identifier: GPL-2.0-only
/*
 * direct: a hardirq switches straight to the task that it woke.
 *
 * The hardirq only notes the task. The next __schedule() switches to it and
 * leaves both queues as they are. The task runs on a loan: the queues still
 * show its lender as the running task.
 *
 * The next one to lock the run queue settles the loan first: the tick, a
 * wakeup, setscheduler(), or the task itself when it sleeps. Settling puts the
 * lender back and queues the task, as of the moment of the switch. Nobody has
 * moved the queue's clock since, so that it still shows that moment.
 *
 * A loan has two stages, both settled under rq->lock:
 *	noted	rq->irqpath_loan is the task, lender is NULL; the task is on_rq,
 *		so that everyone who wants something of it takes the lock;
 *	running	lender is the task that it was switched from, rq->curr the task.
 *
 * If the running task cannot be left behind (see may_lend()), or somebody took
 * the lock before the switch, the ordinary code runs.
 */
#include <linux/bottom_half.h>
#include <linux/mmu_context.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>
#include <linux/psi.h>
#include <trace/events/irqpath.h>
#include <trace/events/sched.h>

#include "../../sched/sched.h"
#include "../../sched/stats.h"
#include "../../sched/pelt.h"
#include "../irqpath.h"
#ifdef CONFIG_IRQPATH_LAS
#include "../migrate/migrate.h"
#endif
#include "direct.h"

DEFINE_STATIC_KEY_FALSE(irqpath_direct_key);

/* A locked run queue is checked for a loan. On before the first can be noted. */
DEFINE_STATIC_KEY_FALSE(irqpath_loan_key);

/*
 * rq->irqpath_loan is the task that runs on a loan, or will. Its CPU sets it,
 * and it is cleared under rq->lock. The lender is the task in whose place it
 * runs, NULL before it begins, and is protected by rq->lock.
 */
static DEFINE_PER_CPU(struct task_struct *, lender);

/* The policy is on. The key stays on until the last loan is settled. */
static bool accepting;

/* __schedule() would have to change the task's mask first. */
static bool is_pinned(struct task_struct *curr)
{
	return curr->migration_disabled && curr->cpus_ptr == &curr->cpus_mask;
}

/*
 * @curr can stay in its queue as the running task while another one runs. A
 * real-time task that may move cannot: other CPUs must get it at once. Nor can
 * a task that a deadline server runs: its time is charged to the server.
 */
static bool may_lend(struct task_struct *curr)
{
	if (curr->dl_server || !task_on_rq_queued(curr) || is_pinned(curr))
		return false;
	return curr->sched_class == &fair_sched_class ||
	       curr->sched_class == &idle_sched_class ||
	       (curr->sched_class == &rt_sched_class &&
		num_online_cpus() == 1);
}

#ifdef CONFIG_IRQPATH_MIGRATE
/*
 * The woken task has a handler to run, and would wait at once:
 * local_bh_disable() takes a lock that somebody has. The switch would be made
 * twice.
 */
static bool would_block(void)
{
	return IRQPATH_BH_LOCK && irqpath_is_offering() && local_bh_blocked();
}
#endif

/**
 * irqpath_may_wake_directly() - whether a task can run next without being queued
 * @p: the task, its state matched, in no queue
 *
 * Context: hardirq, p->pi_lock held.
 */
bool irqpath_may_wake_directly(struct task_struct *p)
{
	struct task_struct *curr = current;
	int cpu = smp_processor_id();

	lockdep_assert_held(&p->pi_lock);

	if (!READ_ONCE(accepting) || p->sched_class != &rt_sched_class)
		return false;
	/*
	 * Without a pending switch the scheduler would pick the running task: a
	 * task that outranks it outranks all.
	 */
	if (this_rq()->irqpath_loan || need_resched()) {
		irqpath_count(busy);
		return false;
	}
	if (irqpath_keeps_cpu(curr->prio, p->prio)) {
		irqpath_count(outranked);
		return false;
	}
	/* Acquire as in try_to_wake_up(): see what the task left behind. */
	if (task_cpu(p) != cpu || smp_load_acquire(&p->on_cpu) ||
	    !cpumask_test_cpu(cpu, p->cpus_ptr) || !cpu_active(cpu) ||
	    p->sched_contributes_to_load || p->in_iowait) {
		irqpath_count(remote);
		return false;
	}
	if (!may_lend(curr)) {
		irqpath_count(unfit);
		return false;
	}
#ifdef CONFIG_IRQPATH_MIGRATE
	if (would_block()) {
		irqpath_count(blocked);
		return false;
	}
#endif
	return true;
}

/**
 * irqpath_direct_wake() - note the task that runs next
 * @p: a task for which irqpath_may_wake_directly() has returned true
 *
 * Context: as there, without a break.
 */
void irqpath_direct_wake(struct task_struct *p)
{
	struct task_struct *curr = current;

	WRITE_ONCE(p->on_rq, TASK_ON_RQ_QUEUED);
	irqpath_note_woken(p);
#ifdef CONFIG_IRQPATH_LAS
	/*
	 * A task that is offered a handler keeps its state if lazy, see las.c.
	 * On its way out of schedule() it may go back to sleep with the offer,
	 * which only the watchdog finds then.
	 */
	if (irqpath_is_offering() && irqpath_may_be_lazy(p))
		p->irqpath->lazy = true;
	else
		WRITE_ONCE(p->__state, TASK_RUNNING);
#else
	WRITE_ONCE(p->__state, TASK_RUNNING);
#endif
	trace_sched_wakeup(p);
	set_tsk_need_resched(curr);
	set_preempt_need_resched();
	/* Pairs with irqpath_direct_settle(), which sees the task runnable. */
	smp_store_release(&this_rq()->irqpath_loan, p);
}

/*
 * Somebody who had the lock when the task was noted has queued a task that goes
 * before it. Or he has queued one that should run on another CPU, which nobody
 * would notice; with one CPU, that one has to wait anyway.
 * Context: rq->lock held.
 */
static bool is_outranked(struct rq *rq, struct task_struct *p)
{
	return irqpath_keeps_cpu(rq->rt.highest_prio.curr, p->prio) ||
	       (rq->rt.overloaded && num_online_cpus() > 1) ||
	       rq->dl.dl_nr_running ||
	       (rq->stop && task_on_rq_queued(rq->stop));
}

/* The task was noted and overtaken: its wakeup is like any other. */
static void settle_noted(struct rq *rq, struct task_struct *p)
{
	rq->clock_update_flags = 0;
	update_rq_clock(rq);
	activate_task(rq, p, ENQUEUE_WAKEUP | ENQUEUE_NOCLOCK);
	wakeup_preempt(rq, p, WF_TTWU);
	irqpath_count(overtaken);
}

#ifdef CONFIG_PSI
/* psi_enqueue() leaves a task alone that is on a CPU. */
static void update_psi(struct task_struct *prev, struct task_struct *p)
{
	int set = TSK_RUNNING;

	if (static_branch_likely(&psi_disabled))
		return;
	if (p->in_memstall)
		set |= TSK_MEMSTALL_RUNNING;
	psi_task_change(p, 0, set);
	psi_task_switch(prev, p, false);
}
#else
static void update_psi(struct task_struct *prev, struct task_struct *p) { }
#endif

/* The task runs: do the work that __schedule() left out, as of that time. */
static void settle_running(struct rq *rq, struct task_struct *p,
			   struct task_struct *prev)
{
	rq->clock_update_flags = RQCF_UPDATED;
	prev->sched_class->put_prev_task(rq, prev, p);
	activate_task(rq, p, ENQUEUE_WAKEUP | ENQUEUE_NOCLOCK);
	/* It did not wait: the switch has called sched_info_arrive(). */
	sched_info_dequeue(rq, p);
	if (prev->sched_class != &rt_sched_class)
		update_rt_rq_load_avg(rq_clock_pelt(rq), rq, 0);
	p->sched_class->set_next_task(rq, p, false);
	irqpath_set_next_class(rq, p->sched_class);
	update_psi(prev, p);
}

/**
 * irqpath_direct_settle() - bring a queue up to date
 * @rq: the queue, which has a loan
 *
 * Context: any CPU has just taken rq->lock; rq is not pinned yet.
 */
void irqpath_direct_settle(struct rq *rq)
{
	struct task_struct **prev = per_cpu_ptr(&lender, cpu_of(rq));
	unsigned int flags = rq->clock_update_flags;
	struct task_struct *p;

	lockdep_assert_rq_held(rq);

	/* Pairs with irqpath_direct_wake(). */
	p = smp_load_acquire(&rq->irqpath_loan);
	if (*prev)
		settle_running(rq, p, *prev);
	else
		settle_noted(rq, p);
	*prev = NULL;
	WRITE_ONCE(rq->irqpath_loan, NULL);
	rq->clock_update_flags = flags;
}

/**
 * irqpath_direct_next() - get the task that a hardirq chose to run next
 * @rq: this CPU's
 * @prev: the running task
 * @preempt: it is preempted, whatever its state
 * @rf: of rq_lock()
 *
 * Context: __schedule(), interrupts disabled.
 * Return: the task, with rq->lock held and everything before the switch done,
 * or NULL with nothing done.
 */
struct task_struct *irqpath_direct_next(struct rq *rq,
					struct task_struct *prev,
					bool preempt, struct rq_flags *rf)
{
	struct task_struct *p;

	/* @prev is about to sleep. */
	if (!preempt && READ_ONCE(prev->__state))
		return NULL;

	/* Not rq_lock(), which settles. */
	raw_spin_lock(&rq->__lock);
	p = rq->irqpath_loan;
	/* The owner of the lock may have changed all this since the note. */
	if (unlikely(!p || this_cpu_read(lender) || !may_lend(prev) ||
		     rq->balance_callback || is_outranked(rq, p))) {
		raw_spin_unlock(&rq->__lock);
		return NULL;
	}
	rq_pin_lock(rq, rf);
	smp_mb__after_spinlock(); /* as in __schedule() */

	rq->clock_update_flags = 0;
	update_rq_clock(rq);
	if (IRQPATH_CHARGES_CURR || prev->sched_class == &rt_sched_class)
		prev->sched_class->update_curr(rq);
	p->se.exec_start = rq_clock_task(rq);
	sched_info_enqueue(rq, p);
	this_cpu_write(lender, prev);

	clear_tsk_need_resched(prev);
	clear_preempt_need_resched();
#ifdef CONFIG_SCHED_DEBUG
	rq->last_seen_need_resched_ns = 0;
#endif
	rq->nr_switches++;
	prev->nivcsw++;
	/* Ordered as in __schedule(); context_switch() has the barrier. */
	RCU_INIT_POINTER(rq->curr, p);
	irqpath_sched_switch(p);
	irqpath_count(switched);
	/* For sparse: the lock is dropped where __schedule() drops it. */
	__release(rq->__lock);
	return p;
}

int irqpath_direct_start(void)
{
	/*
	 * Core scheduling has other locks, a group may have no time left, and
	 * with proxy execution another task than the running one is queued.
	 */
	if (IS_ENABLED(CONFIG_SCHED_CORE) ||
	    IS_ENABLED(CONFIG_RT_GROUP_SCHED) ||
	    IS_ENABLED(CONFIG_SCHED_PROXY_EXEC))
		return -EOPNOTSUPP;
	/* Whoever locked a run queue before found none. */
	static_branch_enable(&irqpath_loan_key);
	static_branch_enable(&irqpath_direct_key);
	WRITE_ONCE(accepting, true);
	return 0;
}

void irqpath_direct_stop(void)
{
	struct rq_flags rf;
	int cpu;

	WRITE_ONCE(accepting, false);
	/* Wait for the hardirqs that saw it true. */
	synchronize_rcu();
	for_each_possible_cpu(cpu) {
		rq_lock_irqsave(cpu_rq(cpu), &rf);
		rq_unlock_irqrestore(cpu_rq(cpu), &rf);
	}
	static_branch_disable(&irqpath_direct_key);
	static_branch_disable(&irqpath_loan_key);
}
