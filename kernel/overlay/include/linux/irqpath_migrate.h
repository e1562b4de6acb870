/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: tasks that run the handlers of interrupts, for wait sites, genirq
 * and the scheduler. Included by <linux/irqpath.h>.
 */
#ifndef _LINUX_IRQPATH_MIGRATE_H
#define _LINUX_IRQPATH_MIGRATE_H

#include <linux/bitops.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/jump_label.h>
#include <linux/sched.h>

struct irq_desc;
struct net;
struct sock;

/**
 * struct irqpath_flow - the fields of a packet that identify its socket
 * @net: namespace of the device
 * @protocol: IPPROTO_UDP or IPPROTO_TCP; 0 if unknown
 * @port: the local port
 * @peer: the remote port; 0 is any
 */
struct irqpath_flow {
	struct net	*net;
	u16		protocol;
	__be16		port;
	__be16		peer;
};

typedef bool (*irqpath_peek_t)(void *dev_id, struct irqpath_flow *flow);

#ifdef CONFIG_IRQPATH_MIGRATE

DECLARE_STATIC_KEY_FALSE(irqpath_claim_key);
DECLARE_STATIC_KEY_FALSE(irqpath_migrate_key);

void irqpath_prio_changed(struct task_struct *p);
void irqpath_set_peek(unsigned int irq, void *dev_id, irqpath_peek_t peek);

/* kernel/irq/manage.c, for a task that runs a handler. */
void irqpath_finalize_oneshot(struct irq_desc *desc, struct irqaction *action);
void irqpath_wake_secondary(struct irq_desc *desc, struct irqaction *action);

void __irqpath_schedule(void);
long __irqpath_schedule_timeout(long timeout);
int __irqpath_schedule_hrtimeout_range(ktime_t *expires, u64 delta,
				       const enum hrtimer_mode mode);
void __irqpath_wait_socket(const struct sock *sk);
bool __irqpath_offer(struct irq_desc *desc, struct irqaction *action);
void __irqpath_wait_for_runner(struct irqaction *action);
bool __irqpath_defers_preemption(struct task_struct *p);
void __irqpath_sched_switch(struct task_struct *next);

/**
 * irqpath_schedule() - sleep, and be ready to run a handler meanwhile
 *
 * For wait sites that hold no spinlock and check their condition after every
 * wakeup: the task may return from its sleep without a reason.
 *
 * Context: a task whose state is set for sleeping.
 */
static inline void irqpath_schedule(void)
{
	if (static_branch_unlikely(&irqpath_migrate_key))
		__irqpath_schedule();
	else
		schedule();
}

/* As irqpath_schedule(), with the arguments of schedule_timeout(). */
static inline long irqpath_schedule_timeout(long timeout)
{
	if (static_branch_unlikely(&irqpath_migrate_key))
		return __irqpath_schedule_timeout(timeout);
	return schedule_timeout(timeout);
}

/* As irqpath_schedule(), with those of schedule_hrtimeout_range(). */
static inline int irqpath_schedule_hrtimeout_range(ktime_t *expires, u64 delta,
						   const enum hrtimer_mode mode)
{
	if (static_branch_unlikely(&irqpath_migrate_key))
		return __irqpath_schedule_hrtimeout_range(expires, delta, mode);
	return schedule_hrtimeout_range(expires, delta, mode);
}

/**
 * irqpath_wait_socket() - note the socket that the task will sleep for
 * @sk: the socket, or NULL for none, or no longer any
 */
static inline void irqpath_wait_socket(const struct sock *sk)
{
	if (static_branch_unlikely(&irqpath_migrate_key))
		__irqpath_wait_socket(sk);
}

/**
 * irqpath_offer() - let a parked task run a threaded handler
 * @desc: the line
 * @action: its action, IRQTF_RUNTHREAD set
 *
 * Return: true if a task was woken for it. The thread sleeps on, unless the
 * task does not come.
 */
static inline bool irqpath_offer(struct irq_desc *desc,
				 struct irqaction *action)
{
	if (static_branch_unlikely(&irqpath_migrate_key))
		return __irqpath_offer(desc, action);
	return false;
}

/**
 * irqpath_defers_preemption() - whether a task runs on although it is outranked
 * @cpu: where @p is being woken
 * @p: a task
 *
 * Context: wakeup_preempt_rt(), rq->lock held, @p is the more urgent one.
 * Return: true if the current task runs there, runs a handler, and is preempted
 * when it has done so.
 */
static inline bool irqpath_defers_preemption(int cpu, struct task_struct *p)
{
	return static_branch_unlikely(&irqpath_migrate_key) &&
	       cpu == smp_processor_id() && __irqpath_defers_preemption(p);
}

/**
 * irqpath_claim_for_thread() - take the token, and wait for a task that runs
 *				the handler
 * @action: the irq thread's action
 * @nr: IRQTF_RUNTHREAD
 *
 * The thread waits even without a token, and so lends its priority to the task.
 *
 * Context: the irq thread, with its state set for sleeping. If it has waited,
 * its state is running afterwards.
 * Return: whether there was a token.
 */
static inline bool irqpath_claim_for_thread(struct irqaction *action, int nr)
{
	bool claimed = test_and_clear_bit(nr, &action->thread_flags);

	if (static_branch_unlikely(&irqpath_claim_key))
		__irqpath_wait_for_runner(action);
	return claimed;
}

/* Context: __schedule(), rq->lock held. */
static inline void irqpath_sched_switch(struct task_struct *next)
{
	if (static_branch_unlikely(&irqpath_migrate_key))
		__irqpath_sched_switch(next);
}

#else /* !CONFIG_IRQPATH_MIGRATE */

/* Macros where <linux/irqpath.h> says why. */
#define irqpath_defers_preemption(cpu, p) ((void)(cpu), (void)(p), false)
#define irqpath_wait_socket(sk) ((void)(sk))
#define irqpath_schedule() schedule()
#define irqpath_schedule_timeout(timeout) schedule_timeout(timeout)
#define irqpath_schedule_hrtimeout_range(expires, delta, mode) \
	schedule_hrtimeout_range(expires, delta, mode)

static inline void irqpath_prio_changed(struct task_struct *p) { }
static inline void irqpath_set_peek(unsigned int irq, void *dev_id,
				    irqpath_peek_t peek) { }
static inline bool irqpath_offer(struct irq_desc *desc,
				 struct irqaction *action) { return false; }

static inline bool irqpath_claim_for_thread(struct irqaction *action, int nr)
{
	return test_and_clear_bit(nr, &action->thread_flags);
}

static inline void irqpath_sched_switch(struct task_struct *next) { }

#endif /* CONFIG_IRQPATH_MIGRATE */

#if defined(CONFIG_IRQPATH_MIGRATE) && defined(CONFIG_LOCKDEP)
void irqpath_handler_begin(struct irqaction *action);
void irqpath_handler_end(struct irqaction *action);
#else
static inline void irqpath_handler_begin(struct irqaction *action) { }
static inline void irqpath_handler_end(struct irqaction *action) { }
#endif

#endif /* _LINUX_IRQPATH_MIGRATE_H */
