// SPDX-License-Identifier: GPL-2.0-only
/*
 * migrate: offers that no task takes go back to the irq thread, so that no
 * interrupt is lost and no line stays masked.
 *
 * The task that was woken should run next on this CPU. If the scheduler finds
 * that it does not, it starts the watchdog. So does a hardirq whose wakeup asks
 * for no switch. The common path starts no timer.
 */
#include <linux/cpu.h>
#include <linux/init.h>
#include <trace/events/irqpath.h>

#include "migrate.h"

/* How long an offer may stay untaken, in microseconds; 0: for ever. */
unsigned int irqpath_watchdog_us = 200;

/**
 * irqpath_start_watchdog() - start the watchdog of this CPU's offers
 * @c: this CPU
 *
 * Context: interrupts disabled, perhaps rq->lock held.
 */
void irqpath_start_watchdog(struct irqpath_cpu *c)
{
	u64 limit_ns = READ_ONCE(irqpath_watchdog_us) * (u64)NSEC_PER_USEC;

	if (limit_ns && !hrtimer_is_queued(&c->watchdog))
		hrtimer_start(&c->watchdog, ns_to_ktime(limit_ns),
			      HRTIMER_MODE_REL_PINNED_HARD);
}

void __irqpath_sched_switch(struct task_struct *next)
{
	struct irqpath_cpu *c = this_cpu_ptr(&irqpath_cpus);
	struct task_struct *expected = READ_ONCE(c->expected);

	if (!expected)
		return;
	if (unlikely(expected != next))
		irqpath_start_watchdog(c);
	else if (!irqpath_is_lazy(next->irqpath) && next->mm != current->active_mm)
		irqpath_count_mm(next->irqpath);
}

/* The token is still there for the thread, or the thread has it already. */
static void revoke_offer(struct irqpath_cpu *c, struct irqpath_task *t)
{
	lockdep_assert_held(&c->lock);

	list_del_init(&t->node);
	t->state = IRQPATH_REVOKED;
	trace_irqpath_handback(t->from, t->task);
	wake_up_process(t->action->thread);
}

/* Context: interrupts disabled. */
static void revoke_cpu_offers(struct irqpath_cpu *c)
{
	struct irqpath_task *t, *next;

	raw_spin_lock(&c->lock);
	list_for_each_entry_safe(t, next, &c->offered, node) {
		revoke_offer(c, t);
		irqpath_count(rescued);
	}
	irqpath_update_expected(c);
	raw_spin_unlock(&c->lock);
}

static enum hrtimer_restart run_watchdog(struct hrtimer *timer)
{
	revoke_cpu_offers(container_of(timer, struct irqpath_cpu, watchdog));
	return HRTIMER_NORESTART;
}

/**
 * irqpath_revoke_offers() - give all offers back to the threads
 *
 * Called when no more offers are made and the scheduler stops checking, or when
 * offers lose their time limit.
 */
void irqpath_revoke_offers(void)
{
	int cpu;

	/* Offers are only made in hardirqs. */
	synchronize_rcu();
	for_each_possible_cpu(cpu) {
		local_irq_disable();
		revoke_cpu_offers(per_cpu_ptr(&irqpath_cpus, cpu));
		local_irq_enable();
	}
}

/**
 * irqpath_disarm_task() - take a task off the list of parked tasks
 * @t: the task
 *
 * Return: false if it has an offer, which only the task itself can take.
 */
bool irqpath_disarm_task(struct irqpath_task *t)
{
	enum irqpath_state state;
	struct irqpath_cpu *c;
	unsigned long flags;
	int cpu;

	for (;;) {
		cpu = READ_ONCE(t->cpu);
		c = per_cpu_ptr(&irqpath_cpus, cpu);
		raw_spin_lock_irqsave(&c->lock, flags);
		/*
		 * A task that is seen parked is seen with its CPU, and stays.
		 */
		state = smp_load_acquire(&t->state);
		if (READ_ONCE(t->cpu) == cpu)
			break;
		raw_spin_unlock_irqrestore(&c->lock, flags);
	}
	if (state == IRQPATH_PARKED) {
		list_del_init(&t->node);
		t->state = IRQPATH_IDLE;
	} else if (state == IRQPATH_REVOKED && t->task == current) {
		t->state = IRQPATH_IDLE;
	}
	raw_spin_unlock_irqrestore(&c->lock, flags);
	return state != IRQPATH_OFFERED;
}

/**
 * irqpath_withdraw_offers() - remove the offers of an origin's action
 * @o: the origin; its line is quiet and nobody has a token of it
 *
 * The thread took all offers that are left. Their tasks have not run since, and
 * must not find them.
 */
void irqpath_withdraw_offers(struct irqpath_origin *o)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct irqpath_cpu *c = per_cpu_ptr(&irqpath_cpus, cpu);
		struct irqpath_task *t, *next;

		raw_spin_lock_irq(&c->lock);
		list_for_each_entry_safe(t, next, &c->offered, node) {
			if (t->from != o)
				continue;
			list_del_init(&t->node);
			t->state = IRQPATH_REVOKED;
			irqpath_count(lost);
		}
		irqpath_update_expected(c);
		raw_spin_unlock_irq(&c->lock);
	}
}

/* Before the first line is freed. */
static int __init irqpath_cpus_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct irqpath_cpu *c = per_cpu_ptr(&irqpath_cpus, cpu);

		raw_spin_lock_init(&c->lock);
		INIT_LIST_HEAD(&c->parked);
		INIT_LIST_HEAD(&c->offered);
		hrtimer_setup(&c->watchdog, run_watchdog, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
	}
	return 0;
}
early_initcall(irqpath_cpus_init);
