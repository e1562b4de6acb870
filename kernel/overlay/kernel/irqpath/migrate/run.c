// SPDX-License-Identifier: GPL-2.0-only
/*
 * migrate: the handler of an interrupt runs in the task that waits for it.
 *
 * A real-time task that is about to sleep parks on its CPU. A hardirq that
 * would wake the thread of a forced-threaded handler looks for a parked task
 * that this origin usually wakes, and wakes it instead. The task takes the
 * token (IRQTF_RUNTHREAD), which the thread would have taken, and does all that
 * the thread would have done, with its own state set for sleeping again: the
 * handler's wakeup of the task only flips that state. A handler that does not
 * wake it was mispredicted, and the task returns to its wait loop, which looks
 * at its condition and sleeps again.
 *
 * Only forced-threaded handlers: they were written for hard interrupt context
 * and take spinlocks only. A task that sleeps of its own will holds none, so
 * it cannot hold what the handler needs.
 *
 * Exactly one runs a handler: the token goes to one, and a thread that takes
 * the next token waits for irqpath_origin.run. That is a mutex that inherits
 * priority. A task that falls below the thread while it runs the handler finds
 * the thread waiting for it: see irqpath_prio_changed().
 */
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/sched/task_stack.h>
#include <linux/wait.h>
#include <trace/events/irqpath.h>

#include "rules.h"

/*
 * On with the first use of migrate, and for good: a task may still run a
 * handler when migrate is off again.
 */
DEFINE_STATIC_KEY_FALSE(irqpath_claim_key);
DEFINE_STATIC_KEY_FALSE(irqpath_migrate_key);
EXPORT_SYMBOL_GPL(irqpath_migrate_key);

DEFINE_PER_CPU(struct irqpath_cpu, irqpath_cpus) = {
	.lock = __RAW_SPIN_LOCK_UNLOCKED(irqpath_cpus.lock),
};

/* What a handler and the softirqs that it raises may need. */
#define STACK_NEEDED	(THREAD_SIZE / 2)

/* Context: the task that would run a handler, where it would. */
bool irqpath_stack_is_deep_enough(void)
{
	unsigned long used = (unsigned long)end_of_stack(current);

	return current_stack_pointer - used > STACK_NEEDED;
}

/*
 * Touches the locks that a handler would hold, and says if there is one that
 * may be offered. To a packet's task it is offered without trust.
 */
static bool has_trusted_slot(struct irqpath_task *t)
{
	bool trusted = false;
	int i;

	for (i = 0; i < IRQPATH_NR_SLOTS; i++) {
		struct irqpath_slot *slot = &t->slot[i];
		struct irqpath_origin *o = READ_ONCE(slot->origin);

		if (!o)
			continue;
		irqpath_touch_handler_lock(o);
		trusted |= irqpath_may_migrate(o) &&
			   (READ_ONCE(slot->credit) || t->flow.protocol);
	}
	return trusted;
}

static void park_by_priority(struct irqpath_cpu *c, struct irqpath_task *t)
{
	struct irqpath_task *other;

	lockdep_assert_held(&c->lock);

	list_for_each_entry(other, &c->parked, node) {
		if (irqpath_parks_before(t, other))
			break;
	}
	list_add_tail(&t->node, &other->node);
	/* With t->cpu: pairs with irqpath_disarm() by another task. */
	smp_store_release(&t->state, IRQPATH_PARKED);
}

static bool may_park(struct irqpath_task *t)
{
	return irqpath_is_fifo_or_rr(current) && !(current->flags & PF_KTHREAD) &&
	       has_trusted_slot(t) && irqpath_stack_is_deep_enough();
}

static void park(struct irqpath_task *t)
{
	struct irqpath_cpu *c;
	unsigned long flags;

	local_irq_save(flags);
	t->sleep_state = READ_ONCE(current->__state);
	c = this_cpu_ptr(&irqpath_cpus);
	WRITE_ONCE(t->cpu, smp_processor_id());
	raw_spin_lock(&c->lock);
	park_by_priority(c, t);
	raw_spin_unlock(&c->lock);
	local_irq_restore(flags);
}

bool irqpath_park(void)
{
	struct irqpath_task *t = current->irqpath;

	/* A task that got its priority by fork() and had no memory then. */
	if (unlikely(!t)) {
		if (rt_task(current))
			irqpath_task_get(current, GFP_NOWAIT);
		return false;
	}
	if (!may_park(t)) {
		t->flow.protocol = 0;
		return false;
	}
	park(t);
	return true;
}

/* It does not after all. Whoever found it here has left a token to the thread. */
static void give_up_run(struct irqpath_task *t)
{
	WRITE_ONCE(t->origin, NULL);
	rt_mutex_unlock(&t->from->run);
	/* Either who has the next token finds no runner, or this finds it. */
	smp_mb();
	if (test_bit(IRQTF_RUNTHREAD, &t->action->thread_flags))
		wake_up_process(t->action->thread);
}

/* Return: whether the offer is taken; if not, the thread gets the token. */
static bool accept(struct irqpath_task *t)
{
	if (irqpath_begin_run(t)) {
		bool fit = irqpath_is_fit(t);

		if (fit && irqpath_take_token(t->from, t->action))
			return true;
		give_up_run(t);
		if (!fit) {
			irqpath_count(elsewhere);
			trace_irqpath_handback(t->from, current);
			return false;
		}
	}
	irqpath_count(lost);
	return false;
}

/* Take the token of the offer, or see to it that the thread gets it. */
static struct irqaction *claim(struct irqpath_task *t)
{
	struct irqpath_cpu *c = per_cpu_ptr(&irqpath_cpus, t->cpu);
	struct irqaction *action = NULL;

	raw_spin_lock_irq(&c->lock);
	if (t->state == IRQPATH_OFFERED) {
		list_del_init(&t->node);
		irqpath_update_expected(c);
		if (accept(t))
			action = t->action;
	}
	t->state = IRQPATH_IDLE;
	raw_spin_unlock_irq(&c->lock);
	return action;
}

/*
 * End bottom half processing: what the handler raised runs here, at the task's
 * priority; what others raised is none of the task's business.
 */
static void bh_enable_own(struct irqpath_task *t)
{
	u32 foreign = 0;

	if (local_softirq_pending()) {
		local_irq_disable();
		foreign = local_softirq_pending() & ~irqpath_own_softirqs(t);
		set_softirq_pending(local_softirq_pending() & ~foreign);
		local_irq_enable();
	}
	/*
	 * Nobody else could serve them now: the CPU's softirqs are this task's.
	 * They are this CPU's: on another one they would be lost.
	 */
	if (unlikely(foreign))
		migrate_disable();
	local_bh_enable();
	WRITE_ONCE(t->origin, NULL);
	if (likely(!foreign))
		return;
	local_irq_disable();
	while (foreign) {
		unsigned int nr = __ffs(foreign);
		struct irqpath_origin **vector =
			this_cpu_ptr(&irqpath_cpus.vector[nr]);
		struct irqpath_origin *o = *vector;

		foreign &= foreign - 1;
		raise_softirq_irqoff(nr);
		/* It is still what whoever raised it first works for. */
		*vector = o;
	}
	local_irq_enable();
	migrate_enable();
}

/* Return: whether the handler, or anyone else meanwhile, woke the task. */
static bool run_handler(struct irqpath_task *t, struct irqpath_origin *o,
			struct irqaction *action)
{
	struct irq_desc *desc = o->desc;
	irqreturn_t ret;
	bool woke;

	trace_irqpath_run_entry(o, current);
	t->own_softirqs = 0;
	/* A lazy task never left it, and may have been woken since. */
	if (t->lazy)
		irqpath_count(lazy);
	else
		__set_current_state(t->sleep_state);

	ret = irqpath_call_handler(desc, action);
	if (ret == IRQ_HANDLED)
		atomic_inc(&desc->threads_handled);
	irqpath_unmask_line(desc, action);
	bh_enable_own(t);

	woke = READ_ONCE(current->__state) == TASK_RUNNING;
	if (!woke) {
		t->offered->misses++;
		if (!t->offered->pinned)
			t->offered->credit = irqpath_credit(t->offered->credit,
							    false);
		irqpath_count(mispredicted);
	}
	t->offered->runs++;
	irqpath_count(migrated);
	trace_irqpath_run_exit(o->irq, woke);
	if (ret == IRQ_WAKE_THREAD)
		irqpath_wake_secondary(desc, action);

	irqpath_end_handler(desc);
	/*
	 * Last: what the thread has lent is gone after this. The line may be,
	 * too, the origin is not.
	 */
	rt_mutex_unlock(&o->run);
	return woke;
}

/* Takes the offer. Return: as run_handler(); true if there was no handler. */
static bool take_offer(struct irqpath_task *t)
{
	/* Nobody else writes it while there is an offer. */
	struct irqpath_origin *o = t->from;
	struct irqaction *action;
	bool woke = true;

	irqpath_map_acquire(o);
	/* Keeps the task on this CPU, and is what the handler expects. */
	local_bh_disable();
	action = claim(t);
	if (action)
		woke = run_handler(t, o, action);
	else
		local_bh_enable();
	irqpath_map_release(o);
	return woke;
}

/*
 * Return: true if the task has parked again and sleeps on, which it may only
 * if its state has been what it slept in all the time.
 */
bool irqpath_unpark(bool may_sleep_on)
{
	struct irqpath_task *t = current->irqpath;
	bool offered, woke = true;

	offered = READ_ONCE(t->state) == IRQPATH_OFFERED || !irqpath_disarm(t);
	if (offered)
		woke = take_offer(t);
	if (!woke && may_sleep_on && t->lazy && may_park(t)) {
		park(t);
		return true;
	}
	/* In no list that is searched any more. */
	t->flow.protocol = 0;
	if (t->lazy)
		irqpath_own_mm(t);
	__set_current_state(TASK_RUNNING);
	return false;
}

#ifdef CONFIG_LOCKDEP
/*
 * Around the handler in the irq thread: what a task does around it, too. One that
 * began before the line was known ends without.
 */
void irqpath_handler_begin(struct irqaction *action)
{
	if (action->irqpath)
		irqpath_map_acquire(action->irqpath);
}

void irqpath_handler_end(struct irqaction *action)
{
	if (action->irqpath && lock_is_held(&action->irqpath->map))
		irqpath_map_release(action->irqpath);
}
#endif

/*
 * The thread. Whoever took a token before its own is the runner, and was before
 * it took that token: it is seen here.
 */
void __irqpath_wait_for_runner(struct irqaction *action)
{
	struct irqpath_origin *o = READ_ONCE(action->irqpath);

	if (likely(!o || !irqpath_has_runner(o)))
		return;
	__set_current_state(TASK_RUNNING);
	irqpath_count(lent);
	rt_mutex_lock(&o->run);
	rt_mutex_unlock(&o->run);
}

/**
 * irqpath_prio_changed() - the priority of a task was set
 * @p: the task
 *
 * If it runs a handler it may be below the handler's thread now; or it is the
 * thread, and above the task. The thread has no token, and waits for the task
 * nevertheless, until which it lends its priority. By then a task that is
 * about to begin sees its new priority.
 *
 * Context: preemption disabled: whoever set it may be as low as it has set.
 */
void irqpath_prio_changed(struct task_struct *p)
{
	struct irqpath_task *t = READ_ONCE(p->irqpath);
	struct irqpath_origin *o;
	struct irqaction *action;
	struct irqpath_cpu *c;
	unsigned long flags;

	if (!static_branch_unlikely(&irqpath_claim_key) || !t)
		return;
	/* Pairs with irqpath_begin_run(). */
	smp_mb();
	o = READ_ONCE(t->origin);
	if (!o || !irqpath_must_lend(o))
		return;
	/* The action stays until irqpath_withdraw() has had every CPU's lock. */
	c = this_cpu_ptr(&irqpath_cpus);
	raw_spin_lock_irqsave(&c->lock, flags);
	action = READ_ONCE(o->action);
	if (action && action->thread)
		wake_up_process(action->thread);
	raw_spin_unlock_irqrestore(&c->lock, flags);
}
