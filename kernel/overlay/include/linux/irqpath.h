/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: the functions that the rest of the kernel calls.
 *
 * Every function here is an empty inline without CONFIG_IRQPATH, and a
 * patched-out branch until a policy is switched on in /sys/kernel/irqpath. The
 * policies are in kernel/irqpath/, whose irqpath.h lists the parts.
 */
#ifndef _LINUX_IRQPATH_H
#define _LINUX_IRQPATH_H

#include <linux/bitops.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/irqpath_shield.h>
#include <linux/jump_label.h>
#include <linux/sched.h>
#include <linux/sched/rt.h>

struct irq_desc;
struct list_head;
struct napi_struct;
struct net;
struct rq;
struct rq_flags;
struct sk_buff;
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

#ifdef CONFIG_IRQPATH

DECLARE_STATIC_KEY_FALSE(irqpath_learn_key);
DECLARE_STATIC_KEY_FALSE(irqpath_claim_key);
DECLARE_STATIC_KEY_FALSE(irqpath_migrate_key);
DECLARE_STATIC_KEY_FALSE(irqpath_selective_key);
DECLARE_STATIC_KEY_FALSE(irqpath_direct_key);
DECLARE_STATIC_KEY_FALSE(irqpath_las_key);
DECLARE_STATIC_KEY_FALSE(irqpath_loan_key);

/* The life of tasks and actions. Always on, but on no fast path. */
void irqpath_fork(struct task_struct *p);
void irqpath_exit(struct task_struct *p);
void irqpath_task_free(struct task_struct *p);
int irqpath_check_setscheduler(struct task_struct *p, int policy);
void irqpath_prio_changed(struct task_struct *p);
void irqpath_setscheduler(struct task_struct *p);
void irqpath_action_add(struct irq_desc *desc, struct irqaction *action);
void irqpath_action_del(struct irqaction *action);

void irqpath_set_peek(unsigned int irq, void *dev_id, irqpath_peek_t peek);

/* kernel/irq/manage.c, for a task that runs a handler. */
void irqpath_finalize_oneshot(struct irq_desc *desc, struct irqaction *action);
void irqpath_wake_secondary(struct irq_desc *desc, struct irqaction *action);

void __irqpath_learn_wakeup(struct task_struct *p);
irqreturn_t __irqpath_run_hardirq(struct irqaction *action, unsigned int irq);
void __irqpath_note_raise(unsigned int nr);
void __irqpath_run_softirq(struct softirq_action *h, unsigned int nr);
void __irqpath_schedule(void);
long __irqpath_schedule_timeout(long timeout);
int __irqpath_schedule_hrtimeout_range(ktime_t *expires, u64 delta,
				       const enum hrtimer_mode mode);
void __irqpath_wait_socket(const struct sock *sk);
bool __irqpath_offer(struct irq_desc *desc, struct irqaction *action);
void __irqpath_wait_for_runner(struct irqaction *action);
bool __irqpath_defers_preemption(struct task_struct *p);
void __irqpath_sched_switch(struct task_struct *next);
bool irqpath_may_wake_directly(struct task_struct *p);
void irqpath_direct_wake(struct task_struct *p);
struct task_struct *irqpath_direct_next(struct rq *rq,
					struct task_struct *prev,
					bool preempt, struct rq_flags *rf);
void irqpath_direct_settle(struct rq *rq);

/**
 * irqpath_learn_wakeup() - learn from a wakeup
 * @p: the task that is being woken, its state matched
 *
 * Context: try_to_wake_up(), preemption disabled.
 */
static inline void irqpath_learn_wakeup(struct task_struct *p)
{
	if (static_branch_unlikely(&irqpath_learn_key) &&
	    (rt_or_dl_prio(p->normal_prio) || p->flags & PF_KTHREAD))
		__irqpath_learn_wakeup(p);
}

/**
 * irqpath_run_hardirq() - call a hardirq handler
 * @action: its action
 * @irq: the line
 *
 * Return: the handler's return value.
 */
static inline irqreturn_t irqpath_run_hardirq(struct irqaction *action,
					      unsigned int irq)
{
	if (static_branch_unlikely(&irqpath_learn_key))
		return __irqpath_run_hardirq(action, irq);
	return action->handler(irq, action->dev_id);
}

/* Context: interrupts disabled. */
static inline void irqpath_note_raise(unsigned int nr)
{
	if (static_branch_unlikely(&irqpath_learn_key))
		__irqpath_note_raise(nr);
}

static inline void irqpath_run_softirq(struct softirq_action *h,
				       unsigned int nr)
{
	if (static_branch_unlikely(&irqpath_learn_key))
		__irqpath_run_softirq(h, nr);
	else
		h->action();
}

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

/**
 * irqpath_keeps_slice() - whether an ordinary task may use up its slice
 *
 * Return: true if another ordinary task must not preempt it.
 */
static inline bool irqpath_keeps_slice(void)
{
	return static_branch_unlikely(&irqpath_selective_key);
}

#else /* !CONFIG_IRQPATH */

/*
 * Some are macros, because with an empty inline function the compiler writes
 * the operands of a comparison in another order.
 */
#define irqpath_learn_wakeup(p) ((void)(p))
#define irqpath_defers_preemption(cpu, p) ((void)(cpu), (void)(p), false)
#define irqpath_wait_socket(sk) ((void)(sk))
#define irqpath_run_hardirq(action, irq) \
	((action)->handler(irq, (action)->dev_id))
#define irqpath_run_softirq(h, nr) ((void)(nr), (h)->action())
#define irqpath_schedule() schedule()
#define irqpath_schedule_timeout(timeout) schedule_timeout(timeout)
#define irqpath_schedule_hrtimeout_range(expires, delta, mode) \
	schedule_hrtimeout_range(expires, delta, mode)

static inline void irqpath_fork(struct task_struct *p) { }
static inline void irqpath_exit(struct task_struct *p) { }
static inline void irqpath_task_free(struct task_struct *p) { }
static inline int irqpath_check_setscheduler(struct task_struct *p,
					     int policy) { return 0; }
static inline void irqpath_prio_changed(struct task_struct *p) { }
static inline void irqpath_setscheduler(struct task_struct *p) { }
static inline void irqpath_action_add(struct irq_desc *desc,
				      struct irqaction *action) { }
static inline void irqpath_action_del(struct irqaction *action) { }
static inline void irqpath_note_raise(unsigned int nr) { }
static inline void irqpath_set_peek(unsigned int irq, void *dev_id,
				    irqpath_peek_t peek) { }
static inline bool irqpath_offer(struct irq_desc *desc,
				 struct irqaction *action) { return false; }

static inline bool irqpath_claim_for_thread(struct irqaction *action, int nr)
{
	return test_and_clear_bit(nr, &action->thread_flags);
}

static inline void irqpath_sched_switch(struct task_struct *next) { }
static inline bool irqpath_keeps_slice(void) { return false; }

#endif /* CONFIG_IRQPATH */

#if defined(CONFIG_IRQPATH) && defined(CONFIG_LOCKDEP)
void irqpath_handler_begin(struct irqaction *action);
void irqpath_handler_end(struct irqaction *action);
#else
static inline void irqpath_handler_begin(struct irqaction *action) { }
static inline void irqpath_handler_end(struct irqaction *action) { }
#endif

#ifdef CONFIG_IRQPATH_NETPRIO

DECLARE_STATIC_KEY_FALSE(irqpath_netprio_key);

/* The use of sockets, and their end, which is always on. */
void __irqpath_netprio_sort(void);
void __irqpath_add_receiver(struct sock *sk);
void irqpath_socket_free(struct sock *sk);

/* net/core/dev.c, for the threads that serve held packets and NAPIs. */
void irqpath_netprio_receive(struct sk_buff *skb);
bool irqpath_napi_poll(struct napi_struct *n);

bool __irqpath_netprio_hold(struct sk_buff *skb);
void __irqpath_netprio_hold_list(struct list_head *head);
void __irqpath_napi_begin(struct napi_struct *n);
bool __irqpath_napi_hold(struct napi_struct *n);
void __irqpath_napi_end(struct napi_struct *n);
void __irqpath_napi_disable(void);

/* The current task sends, receives or polls. */
static inline void irqpath_add_receiver(struct sock *sk)
{
	if (static_branch_unlikely(&irqpath_netprio_key))
		__irqpath_add_receiver(sk);
}

/* The priority of a task has changed. No lock is held. */
static inline void irqpath_netprio_sort(void)
{
	if (static_branch_unlikely(&irqpath_netprio_key))
		__irqpath_netprio_sort();
}

/**
 * irqpath_netprio_hold() - let a received packet wait for more urgent work
 * @skb: the packet
 *
 * Context: RCU read side, bottom halves disabled.
 * Return: true if the packet has been taken.
 */
static inline bool irqpath_netprio_hold(struct sk_buff *skb)
{
	if (static_branch_unlikely(&irqpath_netprio_key))
		return __irqpath_netprio_hold(skb);
	return false;
}

/* The same for a list, from which the taken packets are removed. */
static inline void irqpath_netprio_hold_list(struct list_head *head)
{
	if (static_branch_unlikely(&irqpath_netprio_key))
		__irqpath_netprio_hold_list(head);
}

/* Around a NAPI's poll. The end only if it brought less than its budget. */
static inline void irqpath_napi_begin(struct napi_struct *n)
{
	if (static_branch_unlikely(&irqpath_netprio_key))
		__irqpath_napi_begin(n);
}

static inline void irqpath_napi_end(struct napi_struct *n)
{
	if (static_branch_unlikely(&irqpath_netprio_key))
		__irqpath_napi_end(n);
}

/* A NAPI is being disabled: NAPI_STATE_DISABLE has just been set. */
static inline void irqpath_napi_disable(void)
{
	if (static_branch_unlikely(&irqpath_netprio_key))
		__irqpath_napi_disable();
}

/**
 * irqpath_napi_hold() - keep a NAPI scheduled whose packets must wait anyway
 * @n: the NAPI, about to complete
 *
 * Return: true if the NAPI must not complete; irqpath_napi_end() takes it.
 */
static inline bool irqpath_napi_hold(struct napi_struct *n)
{
	if (static_branch_unlikely(&irqpath_netprio_key))
		return __irqpath_napi_hold(n);
	return false;
}

#else /* !CONFIG_IRQPATH_NETPRIO */

#define irqpath_socket_free(sk) ((void)(sk))

static inline void irqpath_add_receiver(struct sock *sk) { }
static inline void irqpath_netprio_sort(void) { }
static inline bool irqpath_netprio_hold(struct sk_buff *skb) { return false; }
static inline void irqpath_netprio_hold_list(struct list_head *head) { }
static inline void irqpath_napi_begin(struct napi_struct *n) { }
static inline bool irqpath_napi_hold(struct napi_struct *n) { return false; }
static inline void irqpath_napi_end(struct napi_struct *n) { }
static inline void irqpath_napi_disable(void) { }

#endif /* CONFIG_IRQPATH_NETPRIO */

#endif /* _LINUX_IRQPATH_H */
