// SPDX-License-Identifier: GPL-2.0-only
/*
 * migrate: a hardirq offers its handler to a task that is parked on its CPU,
 * instead of waking the handler's thread.
 */
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <trace/events/irqpath.h>

#include "rules.h"

/* @t can run the handler of @action here as soon as it is woken. */
static bool is_eligible(struct irqpath_task *t, struct irqaction *action)
{
	struct task_struct *p = t->task;

	return irqpath_is_fifo_or_rr(p) &&
	       irqpath_preempts_thread(p, action) &&
	       READ_ONCE(p->__state) & TASK_NORMAL &&
	       !irqpath_is_traced(p) && !(p->flags & PF_EXITING) &&
	       irqpath_may_run_here(p);
}

static struct irqpath_slot *find_slot(struct irqpath_task *t,
				      struct irqpath_origin *o)
{
	int i;

	for (i = 0; i < IRQPATH_NR_SLOTS; i++) {
		if (READ_ONCE(t->slot[i].origin) == o)
			return &t->slot[i];
	}
	return NULL;
}

/*
 * The handler should wake @t. @flow is that of the packet behind the interrupt,
 * or NULL. A task that waits for another flow is passed over. One that waits
 * for this flow needs no trust.
 */
static bool is_expected(const struct irqpath_task *t,
			const struct irqpath_slot *slot,
			const struct irqpath_flow *flow)
{
	if (!flow || !t->flow.protocol)
		return slot->credit;
	return irqpath_waits_for(&t->flow, flow);
}

/*
 * @t would run the handler now, and the thread would not. Meanwhile the line is
 * masked, and what @t waits for might come.
 */
static bool may_stand_in(const struct irqpath_task *t,
			 const struct irqpath_slot *slot,
			 const struct irqaction *action)
{
	return irqpath_thread_waits(action) && t->task->prio < current->prio &&
	       slot->stand_ins < IRQPATH_STAND_INS_MAX;
}

/*
 * Find the most urgent parked task that the interrupt should wake. If that one
 * has to wait as well as the thread, or there is none, find the most urgent one
 * that can stand in.
 */
static struct irqpath_task *choose_task(struct irqpath_cpu *c,
					struct irqpath_origin *o,
					struct irqaction *action,
					const struct irqpath_flow *flow)
{
	struct irqpath_task *t, *stand_in = NULL;
	int looked_at = 0;

	lockdep_assert_held(&c->lock);

	list_for_each_entry(t, &c->parked, node) {
		struct irqpath_slot *slot = find_slot(t, o);

		/* More urgent ones may have parked before it since. */
		if (unlikely(looked_at++ == IRQPATH_PARKED_MAX))
			break;
		if (!slot || !irqpath_handler_wakes(slot) ||
		    !is_eligible(t, action))
			continue;
		if (is_expected(t, slot, flow)) {
			if (stand_in && t->task->prio >= current->prio)
				break;
			if (flow && t->flow.protocol)
				irqpath_count(demuxed);
			t->offered = slot;
			t->predicted = true;
			return t;
		}
		if (!stand_in && may_stand_in(t, slot, action)) {
			stand_in = t;
			t->offered = slot;
			t->predicted = false;
		}
	}
	if (stand_in)
		stand_in->offered->stand_ins++;
	return stand_in;
}

bool __irqpath_offer(struct irq_desc *desc, struct irqaction *action)
{
	struct irqpath_origin *o = READ_ONCE(action->irqpath);
	struct irqpath_cpu *c = this_cpu_ptr(&irqpath_cpus);
	struct irqpath_flow flow;
	struct irqpath_task *t;
	bool known, others;

	if (!o || !irqpath_may_migrate(o) || !in_hardirq() ||
	    list_empty(&c->parked) || irqpath_handler_is_running(o, desc))
		return false;

	known = READ_ONCE(o->peek) && irqpath_peek_flow(o, action, &flow);
	raw_spin_lock(&c->lock);
	t = choose_task(c, o, action, known ? &flow : NULL);
	others = !list_empty(&c->offered);
	if (t) {
		list_move_tail(&t->node, &c->offered);
		t->state = IRQPATH_OFFERED;
		t->action = action;
		t->from = o;
		irqpath_update_expected(c);
	}
	raw_spin_unlock(&c->lock);
	if (!t)
		return false;

	/*
	 * Any other wakeup of the task lets it find the offer, too. The task
	 * cannot be freed: this is an RCU read side.
	 */
	trace_irqpath_offer(o, t->task);
	irqpath_count(offered);
	c->predicting = true;
	irqpath_wake_runner(t->task);
	c->predicting = false;

	/* A task that runs next needs no watchdog: irqpath_sched_switch(). */
	if (others || (!need_resched() && t->task != current))
		irqpath_start_watchdog(c);
	return true;
}
