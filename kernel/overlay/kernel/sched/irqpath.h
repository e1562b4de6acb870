/* SPDX-License-Identifier: GPL-2.0-only */
/* The calls of direct that only core.c has, which alone includes this. */

#ifdef CONFIG_IRQPATH_DIRECT

#include "../irqpath/irqpath.h"
#include "../irqpath/direct/direct.h"

#ifdef CONFIG_IRQPATH_LAS
#include "../irqpath/migrate/migrate.h"

/**
 * irqpath_task_mm() - get the address space that a task needs while it runs
 * @p: a task in a context switch
 *
 * The barrier stands for that of switch_mm(), which is left out and which
 * switch_mm_cid() needs after rq->curr has changed.
 *
 * Return: p->mm, or NULL if the task only runs a handler.
 */
static __always_inline struct mm_struct *irqpath_task_mm(struct task_struct *p)
{
	struct irqpath_task *t;

	if (!static_branch_unlikely(&irqpath_las_key))
		return p->mm;
	t = READ_ONCE(p->irqpath);
	if (likely(!t || !READ_ONCE(t->lazy)))
		return p->mm;
	smp_mb(); /* that of switch_mm() */
	return NULL;
}
#else
#define irqpath_task_mm(p) ((p)->mm)
#endif

static __always_inline struct rq *
context_switch(struct rq *rq, struct task_struct *prev,
	       struct task_struct *next, struct rq_flags *rf);

/* gcc would no longer inline these, with a second caller or a static key. */
__always_inline void raw_spin_rq_lock_nested(struct rq *rq, int subclass);
#ifdef CONFIG_SCHED_INFO
static __always_inline void sched_info_arrive(struct rq *rq,
					      struct task_struct *t);
#endif
static __always_inline void prepare_task_switch(struct rq *rq,
						struct task_struct *prev,
						struct task_struct *next);
#ifdef __CHECKER__ /* sparse wants the word at the definition, too */
static void ttwu_stat(struct task_struct *p, int cpu, int wake_flags);
#else
static __always_inline void ttwu_stat(struct task_struct *p, int cpu,
				      int wake_flags);
#endif

#ifdef IRQPATH_DEFERS_TIMERS
static inline void hrtick_schedule_enter(struct rq *rq);
#else
static inline void hrtick_schedule_enter(struct rq *rq) { }
#endif

/* Not inlined: in __schedule() it would take registers from every switch. */
static noinline bool __sched notrace
__irqpath_direct_switch(struct rq *rq, struct task_struct *prev, bool preempt)
{
	struct task_struct *next;
	struct rq_flags rf;

	next = irqpath_direct_next(rq, prev, preempt, &rf);
	if (!next)
		return false;
	__acquire(rq->__lock); /* for sparse, see irqpath_direct_next() */
	hrtick_schedule_enter(rq);
	trace_sched_switch(preempt, prev, next, READ_ONCE(prev->__state));
	/* Also unlocks the rq. */
	context_switch(rq, prev, next, &rf);
	trace_sched_exit_tp(true);
	return true;
}

/**
 * irqpath_direct_switch() - switch to the task that a hardirq chose to run next
 * @rq: this CPU's
 * @prev: the running task
 * @sched_mode: of __schedule()
 *
 * Context: __schedule(), interrupts disabled.
 * Return: true if it switched, and this is after the switch back; false with
 * nothing done.
 */
#define irqpath_direct_switch(rq, prev, sched_mode)		\
	(static_branch_unlikely(&irqpath_direct_key) &&		\
	 (rq)->irqpath_loan &&					\
	 __irqpath_direct_switch(rq, prev, (sched_mode) == SM_PREEMPT))

/* The part of try_to_wake_up() before a task is queued, for this CPU. */
static bool irqpath_wake_locked(struct task_struct *p, unsigned int state)
{
	lockdep_assert_held(&p->pi_lock);

	smp_mb__after_spinlock();
	if (!(READ_ONCE(p->__state) & state))
		return false;
	/* As in try_to_wake_up(): p->on_rq after p->state. */
	smp_rmb();
	if (READ_ONCE(p->on_rq))
		return false;
	smp_acquire__after_ctrl_dep();
	if (!irqpath_may_wake_directly(p))
		return false;
	trace_sched_waking(p);
	irqpath_learn_wakeup(p);
	irqpath_direct_wake(p);
	ttwu_stat(p, task_cpu(p), WF_TTWU);
	return true;
}

static noinline bool __irqpath_direct_wakes(struct task_struct *p,
					    unsigned int state)
{
	bool woken;

	/* Interrupts are disabled. */
	raw_spin_lock(&p->pi_lock);
	woken = irqpath_wake_locked(p, state);
	raw_spin_unlock(&p->pi_lock);
	return woken;
}

/**
 * irqpath_direct_wakes() - let a task run next without being queued
 * @p: a task
 * @state: of try_to_wake_up()
 *
 * Not for kernel threads. They save little on their long path, and a more
 * urgent task whose interrupt comes meanwhile would have to settle the loan.
 *
 * Before the ordinary wakeup instead of in it, where the call would take
 * registers from every wakeup.
 *
 * Return: true if @p is woken; false with nothing done.
 */
static __always_inline bool irqpath_direct_wakes(struct task_struct *p,
						 unsigned int state)
{
	return static_branch_unlikely(&irqpath_direct_key) && in_hardirq() &&
	       rt_prio(p->prio) && !(p->flags & PF_KTHREAD) && p != current &&
	       __irqpath_direct_wakes(p, state);
}

#else /* !CONFIG_IRQPATH_DIRECT */

/* They are macros for the reason that <linux/irqpath.h> gives. */
#define irqpath_task_mm(p) ((p)->mm)
#define irqpath_direct_wakes(p, state) ((void)(p), (void)(state), false)
#define irqpath_direct_switch(rq, prev, sched_mode) \
	((void)(rq), (void)(prev), (void)(sched_mode), false)

#endif /* CONFIG_IRQPATH_DIRECT */

#if defined(CONFIG_IRQPATH_DIRECT) && !defined(__CHECKER__)

/* Whoever locks a queue brings it up to date before anyone reads it. */
static noinline void __irqpath_lock_rq(struct rq *rq, int subclass)
{
	raw_spin_lock_nested(&rq->__lock, subclass);
	if (rq->irqpath_loan)
		irqpath_direct_settle(rq);
}

/* A call instead of the lock: @rq needs no register while it is waited for. */
static __always_inline void irqpath_lock_rq(struct rq *rq, int subclass)
{
	if (static_branch_unlikely(&irqpath_loan_key))
		__irqpath_lock_rq(rq, subclass);
	else
		raw_spin_lock_nested(&rq->__lock, subclass);
}

static __always_inline bool irqpath_trylock_rq(struct rq *rq)
{
	bool locked = raw_spin_trylock(&rq->__lock);

	if (static_branch_unlikely(&irqpath_loan_key) && locked &&
	    rq->irqpath_loan)
		irqpath_direct_settle(rq);
	return locked;
}

#else /* sparse follows the lock as in core.c */

#define irqpath_lock_rq(rq, subclass) \
	raw_spin_lock_nested(&(rq)->__lock, subclass)
#define irqpath_trylock_rq(rq) raw_spin_trylock(&(rq)->__lock)

#endif
