/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM irqpath

#if !defined(_TRACE_IRQPATH_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_IRQPATH_H

#include <linux/netdevice.h>
#include <linux/sched.h>
#include <linux/tracepoint.h>

#ifdef CONFIG_IRQPATH_LEARN
struct irqpath_origin;

DECLARE_EVENT_CLASS(irqpath_target,

	TP_PROTO(struct irqpath_origin *o, struct task_struct *p),

	TP_ARGS(o, p),

	TP_STRUCT__entry(
		__field(unsigned int, irq)
		__array(char, comm, TASK_COMM_LEN)
		__field(pid_t, pid)
		__field(int, prio)
	),

	TP_fast_assign(
		__entry->irq	= o->irq;
		memcpy(__entry->comm, p->comm, TASK_COMM_LEN);
		__entry->pid	= p->pid;
		__entry->prio	= p->prio;
	),

	TP_printk("irq=%u comm=%s pid=%d prio=%d", __entry->irq,
		  __entry->comm, __entry->pid, __entry->prio)
);

/**
 * irqpath_learn - an interrupt was seen to wake a real-time task
 * @o: what the wakeup came from
 * @p: the task
 *
 * Called once per association, not per wakeup.
 */
DEFINE_EVENT(irqpath_target, irqpath_learn,
	TP_PROTO(struct irqpath_origin *o, struct task_struct *p),
	TP_ARGS(o, p)
);
#endif

#ifdef CONFIG_IRQPATH_MIGRATE
/**
 * irqpath_offer - a hardirq woke a parked task to run its handler
 * @o: the interrupt
 * @p: the task
 */
DEFINE_EVENT(irqpath_target, irqpath_offer,
	TP_PROTO(struct irqpath_origin *o, struct task_struct *p),
	TP_ARGS(o, p)
);

/**
 * irqpath_handback - an offer goes back to the irq thread
 * @o: the interrupt
 * @p: the task that did not run the handler
 */
DEFINE_EVENT(irqpath_target, irqpath_handback,
	TP_PROTO(struct irqpath_origin *o, struct task_struct *p),
	TP_ARGS(o, p)
);

/**
 * irqpath_run_entry - a task begins to run a handler in the thread's place
 * @o: the interrupt
 * @p: the task, current
 */
DEFINE_EVENT(irqpath_target, irqpath_run_entry,
	TP_PROTO(struct irqpath_origin *o, struct task_struct *p),
	TP_ARGS(o, p)
);

/**
 * irqpath_run_exit - the handler and its softirqs have returned
 * @irq: the line
 * @woke: whether they woke the task, as predicted
 */
TRACE_EVENT(irqpath_run_exit,

	TP_PROTO(unsigned int irq, bool woke),

	TP_ARGS(irq, woke),

	TP_STRUCT__entry(
		__field(unsigned int, irq)
		__field(bool, woke)
	),

	TP_fast_assign(
		__entry->irq	= irq;
		__entry->woke	= woke;
	),

	TP_printk("irq=%u woke=%d", __entry->irq, __entry->woke)
);
#endif

#ifdef CONFIG_IRQPATH_SELECTIVE
/**
 * irqpath_promote - an interrupt serves a real-time task
 * @o: the interrupt
 * @p: its thread, real-time again
 */
DEFINE_EVENT(irqpath_target, irqpath_promote,
	TP_PROTO(struct irqpath_origin *o, struct task_struct *p),
	TP_ARGS(o, p)
);

/**
 * irqpath_demote - an interrupt serves no real-time task
 * @o: the interrupt
 * @p: its thread, an ordinary task from now on
 */
DEFINE_EVENT(irqpath_target, irqpath_demote,
	TP_PROTO(struct irqpath_origin *o, struct task_struct *p),
	TP_ARGS(o, p)
);
#endif

#ifdef CONFIG_IRQPATH_NETPRIO
/**
 * irqpath_hold - a received packet waits for more urgent work
 * @skb: the packet
 * @level: that of its receiver: a priority as in task_struct.prio, 100 if
 *	   ordinary
 * @work: the level of the work
 */
TRACE_EVENT(irqpath_hold,

	TP_PROTO(struct sk_buff *skb, unsigned int level, unsigned int work),

	TP_ARGS(skb, level, work),

	TP_STRUCT__entry(
		__field(void *, skb)
		__field(int, ifindex)
		__field(unsigned int, len)
		__field(unsigned int, level)
		__field(unsigned int, work)
	),

	TP_fast_assign(
		__entry->skb		= skb;
		__entry->ifindex	= skb->dev->ifindex;
		__entry->len		= skb->len;
		__entry->level		= level;
		__entry->work		= work;
	),

	TP_printk("skb=%p ifindex=%d len=%u level=%u work=%u", __entry->skb,
		  __entry->ifindex, __entry->len, __entry->level,
		  __entry->work)
);

/**
 * irqpath_serve - a held packet goes on
 * @skb: the packet
 * @level: the level that held it
 * @waited_ns: how long it was held
 * @expired: it was held for too long, and the guard serves it
 */
TRACE_EVENT(irqpath_serve,

	TP_PROTO(struct sk_buff *skb, unsigned int level, u64 waited_ns,
		 bool expired),

	TP_ARGS(skb, level, waited_ns, expired),

	TP_STRUCT__entry(
		__field(void *, skb)
		__field(unsigned int, level)
		__field(u64, waited_ns)
		__field(bool, expired)
	),

	TP_fast_assign(
		__entry->skb		= skb;
		__entry->level		= level;
		__entry->waited_ns	= waited_ns;
		__entry->expired	= expired;
	),

	TP_printk("skb=%p level=%u waited_ns=%llu expired=%d", __entry->skb,
		  __entry->level, __entry->waited_ns, __entry->expired)
);
#endif

#endif /* _TRACE_IRQPATH_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
