/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The calls of irqpath in core.c, and the two copies of the functions that call
 * it or do not: see kernel/irqpath/sched.c. Only core.c includes this.
 */
#ifdef CONFIG_IRQPATH

/**
 * irqpath_direct_next() - switch to the task that a hardirq chose to run next
 * @rq: this CPU's
 * @prev: the running task
 * @preempt: it is preempted, whatever its state
 * @rf: of rq_lock()
 * @hooked: this copy calls irqpath
 *
 * Context: __schedule(), interrupts disabled.
 * Return: the task, with rq->lock held and everything before the switch done,
 * or NULL with nothing done.
 */
static inline struct task_struct *
irqpath_direct_next(struct rq *rq, struct task_struct *prev, bool preempt,
		    struct rq_flags *rf, bool hooked)
{
	if (hooked && static_branch_unlikely(&irqpath_direct_key) &&
	    rq->irqpath_loan)
		return __irqpath_direct_next(rq, prev, preempt, rf);
	return NULL;
}

/* Bring a queue that was just locked up to date before anyone reads it. */
static inline void irqpath_rq_locked(struct rq *rq)
{
	if (static_branch_unlikely(&irqpath_sched_key) && rq->irqpath_loan)
		irqpath_direct_settle(rq);
}

#else /* !CONFIG_IRQPATH */

/* They are macros for the reason that <linux/irqpath.h> gives. */
#define irqpath_rq_locked(rq) ((void)(rq))
#define irqpath_direct_next(rq, prev, preempt, rf, hooked) \
	((void)(rq), (void)(prev), (void)(preempt), (void)(rf), \
	 (void)(hooked), NULL)

#endif /* CONFIG_IRQPATH */

#if defined(CONFIG_IRQPATH) && !defined(__CHECKER__)

/* The name and the parameters of a function whose definition makes two. */
#define IRQPATH_COPIES(name, ...) copy_of_##name(__VA_ARGS__, bool irqpath)

static __always_inline int
copy_of_try_to_wake_up(struct task_struct *p, unsigned int state,
		       int wake_flags, bool irqpath);
static __always_inline void copy_of___schedule(int sched_mode, bool irqpath);

static noinline int hooked_try_to_wake_up(struct task_struct *p,
					   unsigned int state, int wake_flags)
{
	return copy_of_try_to_wake_up(p, state, wake_flags, true);
}

int try_to_wake_up(struct task_struct *p, unsigned int state, int wake_flags)
{
	if (static_branch_unlikely(&irqpath_sched_key))
		return hooked_try_to_wake_up(p, state, wake_flags);
	return copy_of_try_to_wake_up(p, state, wake_flags, false);
}

/* In parentheses: the function, not the macro that chooses. */
static noinline void __sched notrace
(__schedule)(int sched_mode)
{
	copy_of___schedule(sched_mode, false);
}

static noinline void __sched notrace hooked_schedule(int sched_mode)
{
	copy_of___schedule(sched_mode, true);
}

#define __schedule(sched_mode)					\
	(static_branch_unlikely(&irqpath_sched_key) ?		\
	 hooked_schedule(sched_mode) : (__schedule)(sched_mode))

/*
 * gcc would no longer inline these, as they have a second caller or a static
 * key.
 */
__always_inline void raw_spin_rq_lock_nested(struct rq *rq, int subclass);
static __always_inline void block_task(struct rq *rq, struct task_struct *p,
				       int flags);
static __always_inline void migrate_disable_switch(struct rq *rq,
						   struct task_struct *p);
static __always_inline void prepare_task_switch(struct rq *rq,
						struct task_struct *prev,
						struct task_struct *next);
#ifdef CONFIG_SCHED_INFO
static __always_inline void sched_info_arrive(struct rq *rq,
					      struct task_struct *t);
#endif
static __always_inline int select_task_rq(struct task_struct *p, int cpu,
					  int *wake_flags);
static __always_inline bool try_to_block_task(struct rq *rq,
					      struct task_struct *p,
					      unsigned long *task_state_p);
static inline void ttwu_queue(struct task_struct *p, int cpu, int wake_flags);
static __always_inline int ttwu_runnable(struct task_struct *p, int wake_flags);
static __always_inline void ttwu_stat(struct task_struct *p, int cpu,
				      int wake_flags);

#else

/* One copy, which calls irqpath or not. sparse can follow it as in core.c. */
#define IRQPATH_COPIES(name, ...) name(__VA_ARGS__)
enum { irqpath = IS_ENABLED(CONFIG_IRQPATH) };

#endif
