// SPDX-License-Identifier: GPL-2.0-only
/*
 * migrate: a task parks, and runs the handlers that it is offered.
 *
 * A parked task that a hardirq wakes takes the thread's token (IRQTF_RUNTHREAD)
 * and does the work of the thread. Meanwhile its state says that it sleeps, and
 * the handler's wakeup of the task only changes that state. If the handler does
 * not wake it, the prediction was wrong: the task returns to its wait loop,
 * which checks its condition and sleeps again.
 *
 * Only forced-threaded handlers run in tasks: they were written for hard
 * interrupt context and take only spinlocks. A task that goes to sleep holds no
 * spinlock, and so none that the handler needs.
 *
 * A handler has one runner. The token goes to one, and a thread that takes the
 * next token waits for irqpath_origin.run, a mutex with priority inheritance.
 * If the runner falls below the thread, see irqpath_prio_changed().
 */
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/sched/task_stack.h>
#include <linux/wait.h>
#include <trace/events/irqpath.h>

#include "rules.h"

/*
 * On from the first use of migrate, and for good: a task may still run a
 * handler when migrate is off again.
 */
DEFINE_STATIC_KEY_FALSE(irqpath_claim_key);
DEFINE_STATIC_KEY_FALSE(irqpath_migrate_key);
EXPORT_SYMBOL_GPL(irqpath_migrate_key);

/* Room on the stack for a handler and the softirqs that it raises. */
#define STACK_NEEDED	(THREAD_SIZE / 2)

/* Context: the task that would run a handler, where it would run it. */
bool irqpath_stack_is_deep_enough(void)
{
	unsigned long used = (unsigned long)end_of_stack(current);

	return current_stack_pointer - used > STACK_NEEDED;
}

/*
 * Touch the locks of all handlers that the task may be offered. Return whether
 * there is one. The task of a packet needs no trust.
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

/**
 * irqpath_insert_parked() - give a task its place among those that park
 * @c: the CPU
 * @t: the task
 *
 * Anybody with an rtprio limit can park tasks, and this runs with interrupts
 * disabled. So a task that has IRQPATH_PARKED_MAX of at least its urgency
 * before it does not park, and sleeps as without migrate.
 *
 * Return: whether it parks.
 */
bool irqpath_insert_parked(struct irqpath_cpu *c, struct irqpath_task *t)
{
	struct irqpath_task *other;
	int before = 0;

	lockdep_assert_held(&c->lock);

	list_for_each_entry(other, &c->parked, node) {
		if (irqpath_parks_before(t, other))
			break;
		if (unlikely(++before == IRQPATH_PARKED_MAX))
			return false;
	}
	list_add_tail(&t->node, &other->node);
	/* With t->cpu: pairs with irqpath_disarm_task() by another task. */
	smp_store_release(&t->state, IRQPATH_PARKED);
	return true;
}

static bool may_park(struct irqpath_task *t)
{
	return irqpath_is_fifo_or_rr(current) &&
	       !(current->flags & PF_KTHREAD) && has_trusted_slot(t) &&
	       irqpath_stack_is_deep_enough();
}

/* The thread has a token and could not come yet. */
static bool is_overdue(struct irqaction *action)
{
	return test_bit(IRQTF_RUNTHREAD, &action->thread_flags);
}

/* The current task may run the overdue handler. */
static bool may_catch_up(const struct irqpath_slot *slot,
			 struct irqpath_origin *o,
			 const struct irqaction *action)
{
	return irqpath_may_migrate(o) && irqpath_handler_wakes(slot) &&
	       !irqpath_handler_is_running(o, o->desc) &&
	       irqpath_outranks(current, action) &&
	       !irqpath_is_traced(current) &&
	       slot->stand_ins < IRQPATH_STAND_INS_MAX;
}

/*
 * The task would sleep while a line that wakes it is masked. It offers itself
 * the handler that a thread below it should have run.
 */
static bool offer_overdue(struct irqpath_cpu *c, struct irqpath_task *t)
{
	struct irqpath_slot *slot;

	lockdep_assert_held(&c->lock);

	for (slot = t->slot; slot < t->slot + IRQPATH_NR_SLOTS; slot++) {
		struct irqpath_origin *o = READ_ONCE(slot->origin);
		/* It stays: irqpath_withdraw_offers() takes the lock. */
		struct irqaction *action = o ? READ_ONCE(o->action) : NULL;

		if (likely(!action || !is_overdue(action)) ||
		    !may_catch_up(slot, o, action))
			continue;
		/* Now, so that offers it cannot take come to an end, too. */
		slot->stand_ins++;
		t->offered = slot;
		t->predicted = false;
		t->from = o;
		t->action = action;
		list_add_tail(&t->node, &c->offered);
		irqpath_update_expected(c);
		smp_store_release(&t->state, IRQPATH_OFFERED); /* as above */
		irqpath_count(offered);
		trace_irqpath_offer(t->from, current);
		return true;
	}
	return false;
}

/* Return: false if too many others have parked here. */
static bool park_task(struct irqpath_task *t)
{
	struct irqpath_cpu *c;
	unsigned long flags;
	bool parks;

	local_irq_save(flags);
	t->sleep_state = READ_ONCE(current->__state);
	c = this_cpu_ptr(&irqpath_cpus);
	WRITE_ONCE(t->cpu, smp_processor_id());
	raw_spin_lock(&c->lock);
	parks = offer_overdue(c, t) || irqpath_insert_parked(c, t);
	raw_spin_unlock(&c->lock);
	local_irq_restore(flags);
	return parks;
}

bool irqpath_park(void)
{
	struct irqpath_task *t = current->irqpath;

	/* It inherited its priority by fork(), which found no memory. */
	if (unlikely(!t)) {
		if (rt_task(current))
			irqpath_get_task(current, GFP_NOWAIT);
		return false;
	}
	if (may_park(t) && likely(park_task(t)))
		return true;
	t->flow.protocol = 0;
	return false;
}

/*
 * Run no handler after all. A thread that waits meanwhile has left its token.
 */
static void give_up_run(struct irqpath_task *t)
{
	WRITE_ONCE(t->origin, NULL);
	rt_mutex_unlock(&t->from->run);
	/*
	 * The thread with the next token finds no runner, or this finds the
	 * token.
	 */
	smp_mb();
	if (test_bit(IRQTF_RUNTHREAD, &t->action->thread_flags))
		wake_up_process(t->action->thread);
}

/* Return: whether the task takes the offer; if not, the thread does. */
static bool accept_offer(struct irqpath_task *t)
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

/* Take the token of the offer, or leave it to the thread. */
static struct irqaction *claim_handler(struct irqpath_task *t)
{
	struct irqpath_cpu *c = per_cpu_ptr(&irqpath_cpus, t->cpu);
	struct irqaction *action = NULL;

	raw_spin_lock_irq(&c->lock);
	if (t->state == IRQPATH_OFFERED) {
		list_del_init(&t->node);
		irqpath_update_expected(c);
		if (accept_offer(t))
			action = t->action;
	}
	t->state = IRQPATH_IDLE;
	raw_spin_unlock_irq(&c->lock);
	return action;
}

/*
 * Enable bottom halves. Softirqs that the handler raised run here, at the
 * task's priority. Softirqs that others raised are left to ksoftirqd.
 */
static void enable_bh(struct irqpath_task *t)
{
	u32 foreign = 0;

	if (local_softirq_pending()) {
		local_irq_disable();
		foreign = local_softirq_pending() & ~irqpath_own_softirqs(t);
		set_softirq_pending(local_softirq_pending() & ~foreign);
		local_irq_enable();
	}
	/*
	 * With a lock of bottom halves nobody else could serve them now. Without
	 * one, a task that preempts this one does not see them as pending.
	 * The task must stay here until it has raised them again.
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
		/* The vector still belongs to its first origin. */
		*vector = o;
	}
	local_irq_enable();
	migrate_enable();
}

static void judge_prediction(const struct irqpath_task *t, bool woke)
{
	struct irqpath_slot *slot = t->offered;

	if (!t->predicted) {
		irqpath_count(stood_in);
		return;
	}
	if (!woke) {
		slot->misses++;
		if (!slot->pinned)
			slot->credit = irqpath_update_credit(slot->credit,
							     false);
		irqpath_count(mispredicted);
	}
	slot->runs++;
}

/*
 * The running task runs a handler, and its softirq has woken a more urgent task
 * that waits for a socket. That one would want bottom halves disabled at once,
 * wait for the running task and lend it its priority, and do so again for each
 * lock. A task that may run elsewhere is not kept waiting.
 */
bool __irqpath_defers_preemption(struct task_struct *p)
{
	struct task_struct *curr = current;
	struct irqpath_task *t = curr->irqpath;
	struct irqpath_task *woken = p->irqpath;

	if (!IRQPATH_BH_LOCK || !t || curr->flags & PF_KTHREAD || !t->origin ||
	    !woken || !READ_ONCE(woken->flow.protocol) || in_hardirq() ||
	    (p->nr_cpus_allowed > 1 && num_online_cpus() > 1) ||
	    p->sched_class != curr->sched_class || p->prio >= curr->prio)
		return false;
	t->deferred = true;
	irqpath_count(deferred);
	return true;
}

/* Let the more urgent task run that waited for the end of the handler. */
static void end_deferral(struct irqpath_task *t)
{
	if (likely(!t->deferred))
		return;
	t->deferred = false;
	preempt_disable();
	set_tsk_need_resched(current);
	set_preempt_need_resched();
	preempt_enable();
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
#ifdef CONFIG_IRQPATH_LAS
	/* A lazy task still has its state, and may have been woken since. */
	if (t->lazy)
		irqpath_count(lazy);
	else
		__set_current_state(t->sleep_state);
#else
	__set_current_state(t->sleep_state);
#endif

	ret = irqpath_call_handler(desc, action);
	if (ret == IRQ_HANDLED)
		atomic_inc(&desc->threads_handled);
	irqpath_unmask_line(desc, action);
	enable_bh(t);

	woke = READ_ONCE(current->__state) == TASK_RUNNING;
	judge_prediction(t, woke);
	irqpath_count(migrated);
	trace_irqpath_run_exit(o->irq, woke);
	if (ret == IRQ_WAKE_THREAD)
		irqpath_wake_secondary(desc, action);

	irqpath_end_handler(desc);
	/*
	 * Last, as this ends what the thread has lent. The line may be gone,
	 * the origin is not.
	 */
	rt_mutex_unlock(&o->run);
	return woke;
}

/* Return: as run_handler(); true if there was no handler to run. */
static bool take_offer(struct irqpath_task *t)
{
	/* Nobody else writes it while there is an offer. */
	struct irqpath_origin *o = t->from;
	struct irqaction *action;
	bool woke = true;

	irqpath_map_acquire(o);
	/* This keeps the task on its CPU, and the handler expects it. */
	local_bh_disable();
	action = claim_handler(t);
	if (action)
		woke = run_handler(t, o, action);
	else
		local_bh_enable();
	irqpath_map_release(o);
	end_deferral(t);
	return woke;
}

/*
 * Return: true if the task has parked again and sleeps on. It may only do so if
 * its state has said all the time that it sleeps.
 */
bool irqpath_unpark(bool may_sleep_on)
{
	struct irqpath_task *t = current->irqpath;
	bool offered, woke = true;

	offered = READ_ONCE(t->state) == IRQPATH_OFFERED ||
		  !irqpath_disarm_task(t);
	if (offered)
		woke = take_offer(t);
	if (!woke && may_sleep_on && irqpath_is_lazy(t) && may_park(t) &&
	    park_task(t))
		return true;
	/* The task is in no list that is searched. */
	t->flow.protocol = 0;
	if (irqpath_is_lazy(t))
		irqpath_load_mm(t);
	__set_current_state(TASK_RUNNING);
	return false;
}

#ifdef CONFIG_LOCKDEP
/*
 * The irq thread holds the map around the handler, as a task does. A handler
 * that began before the line had an origin ends without it.
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
 * Context: the irq thread. A task that took an earlier token became the runner
 * before it took it, and so is seen here.
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
 * A task that runs a handler may now be below the handler's thread, or @p may
 * be that thread and now above the task. Wake the thread: without a token it
 * waits for the task, and lends its priority until the handler ends. A task
 * that is about to begin sees its new priority.
 *
 * Context: preemption disabled, because the caller may have made itself less
 * urgent.
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
	/*
	 * The action stays until irqpath_withdraw_offers() has had the lock of
	 * every CPU.
	 */
	c = this_cpu_ptr(&irqpath_cpus);
	raw_spin_lock_irqsave(&c->lock, flags);
	action = READ_ONCE(o->action);
	if (action && action->thread)
		wake_up_process(action->thread);
	raw_spin_unlock_irqrestore(&c->lock, flags);
}
