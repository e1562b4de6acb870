// SPDX-License-Identifier: GPL-2.0-only
/*
 * irqpath: the origin of work.
 *
 * Every irqaction has an origin. The context says which one the CPU works for:
 *
 * - a hardirq handler and an irq thread work for their action;
 * - a softirq vector works for whoever raised it, wherever it runs: in an irq
 *   thread, in ksoftirqd, or in a task that enabled bottom halves;
 * - any other kernel thread works for the origin that woke it, even if it is
 *   given more work while it runs.
 *
 * Work that no interrupt line caused has no origin, such as the vectors that
 * the tick raises. A vector that two origins raised before it ran has none
 * either.
 */
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/slab.h>

#include "../genirq.h"
#include "../irqpath.h"
#include "../migrate/learning.h"
#include "../selective/learning.h"
#include "show.h"

/*
 * All origins. None ever leaves the list. The mutex protects which action has
 * which origin.
 */
static LIST_HEAD(irqpath_origins);
static DEFINE_MUTEX(irqpath_origins_mutex);

/* A handler nests in another only through an interrupt: a stack of two. */
irqreturn_t __irqpath_run_hardirq(struct irqaction *action, unsigned int irq)
{
	struct irqpath_origin *outer = this_cpu_read(irqpath_cpus.hardirq);
	struct irqpath_origin *o = READ_ONCE(action->irqpath);
	irqreturn_t res;

	this_cpu_write(irqpath_cpus.hardirq, o);
	irqpath_note_activation(o);
	res = action->handler(irq, action->dev_id);
	this_cpu_write(irqpath_cpus.hardirq, outer);
	return res;
}

void __irqpath_note_raise(unsigned int nr)
{
	struct irqpath_cpu *c = this_cpu_ptr(&irqpath_cpus);
	struct irqpath_origin *o = irqpath_current_origin();

	/* Another origin raised the vector, and it has not begun to run. */
	if ((local_softirq_pending() & BIT(nr) || c->vector[nr]) &&
	    c->vector[nr] != o)
		o = NULL;
	c->vector[nr] = o;
	irqpath_note_own_softirq(nr);
}

/*
 * Softirqs without a lock of bottom halves: a task that serves one may be
 * preempted by a task that serves another. As a rule that one ends first. If it
 * does not, because it waits for the first one, the first one has no origin
 * until then.
 */
static void run_nested(struct softirq_action *h, struct irqpath_origin *o)
{
	struct irqpath_cpu *c = this_cpu_ptr(&irqpath_cpus);
	struct task_struct *outer_task;
	struct irqpath_origin *outer;

	preempt_disable();
	outer = c->softirq;
	outer_task = c->softirq_task;
	c->softirq = o;
	c->softirq_task = current;
	preempt_enable();
	h->action();
	preempt_disable();
	if (c->softirq_task == current) {
		c->softirq = outer;
		c->softirq_task = outer_task;
	}
	preempt_enable();
}

/*
 * On PREEMPT_RT softirqs are preemptible. With a lock of bottom halves a CPU
 * serves one at a time, and a task that preempts it is not
 * in_serving_softirq().
 */
void __irqpath_run_softirq(struct softirq_action *h, unsigned int nr)
{
	struct irqpath_cpu *c = this_cpu_ptr(&irqpath_cpus);

	/* A hardirq may raise the vector again. */
	if (!IRQPATH_BH_LOCK) {
		run_nested(h, xchg(&c->vector[nr], NULL));
		return;
	}
	c->softirq = xchg(&c->vector[nr], NULL);
	h->action();
	this_cpu_write(irqpath_cpus.softirq, NULL);
}

/**
 * irqpath_forget_raised() - forget the origins of all softirq vectors
 *
 * Called before learning begins. Vectors that were pending when it was switched
 * off have run without it.
 */
void irqpath_forget_raised(void)
{
	int cpu, nr;

	for_each_possible_cpu(cpu) {
		struct irqpath_cpu *c = per_cpu_ptr(&irqpath_cpus, cpu);

		for (nr = 0; nr < NR_SOFTIRQS; nr++)
			WRITE_ONCE(c->vector[nr], NULL);
	}
}

/* An origin whose action goes may get another one. */
static void forget_raised_by(struct irqpath_origin *o)
{
	int cpu, nr;

	for_each_possible_cpu(cpu) {
		struct irqpath_cpu *c = per_cpu_ptr(&irqpath_cpus, cpu);

		for (nr = 0; nr < NR_SOFTIRQS; nr++) {
			if (READ_ONCE(c->vector[nr]) == o)
				WRITE_ONCE(c->vector[nr], NULL);
		}
	}
}

static struct irqpath_origin *get_free_origin(void)
{
	struct irqpath_origin *o;

	lockdep_assert_held(&irqpath_origins_mutex);

	list_for_each_entry(o, &irqpath_origins, node) {
		if (irqpath_origin_is_free(o))
			return o;
	}
	o = kzalloc_obj(*o, GFP_KERNEL);
	if (!o)
		return NULL;
	irqpath_init_run(o);
	list_add_tail_rcu(&o->node, &irqpath_origins);
	return o;
}

static void set_thread_origin(struct irqpath_origin *o,
			      struct irqaction *action)
{
	struct irqpath_task *t;

	if (!action || !action->thread)
		return;
	t = irqpath_get_task(action->thread, GFP_KERNEL);
	if (t)
		WRITE_ONCE(t->origin, o);
}

static struct irqpath_origin *find_other_origin(struct irqpath_origin *o,
						bool file)
{
	struct irqpath_origin *other;

	lockdep_assert_held(&irqpath_origins_mutex);

	list_for_each_entry(other, &irqpath_origins, node) {
		if (other != o && other->action && other->desc == o->desc &&
		    (other->has_file || !file))
			return other;
	}
	return NULL;
}

/* A line has one file, which belongs to one of its origins. */
static void add_file(struct irqpath_origin *o)
{
	if (!o->has_file && o->desc->dir && !find_other_origin(o, true))
		o->has_file = irqpath_add_proc_file(o->desc, o->irq);
}

static void remove_file(struct irqpath_origin *o)
{
	struct irqpath_origin *other;

	if (!o->has_file)
		return;
	o->has_file = false;
	other = find_other_origin(o, false);
	if (other)
		other->has_file = true;
	else
		irqpath_remove_proc_file(o->desc);
}

/* Lines that were requested before there was /proc. */
static int __init irqpath_files_init(void)
{
	irqpath_visit_actions(add_file);
	return 0;
}
late_initcall(irqpath_files_init);

/*
 * request_nmi() made the action. free_nmi() frees it with the line's raw lock
 * held and does not report it. Its handler needs no origin, as it wakes no
 * task.
 */
static bool is_nmi(const struct irqaction *action)
{
	const unsigned long flags = IRQF_PERCPU | IRQF_NO_THREAD |
				    IRQF_NOBALANCING;

	return (action->flags & flags) == flags;
}

/**
 * irqpath_action_add() - an action has been registered
 * @desc: its line
 * @action: the action, which may fire already
 *
 * Without memory the action takes no part.
 *
 * Context: __setup_irq(), may sleep.
 */
void irqpath_action_add(struct irq_desc *desc, struct irqaction *action)
{
	struct irqpath_origin *o;

	if (irq_settings_is_per_cpu_devid(desc) || is_nmi(action))
		return;

	mutex_lock(&irqpath_origins_mutex);
	o = get_free_origin();
	if (o) {
		o->desc = desc;
		o->irq = action->irq;
		/* A handler with its own thread leaves the wakeup to that. */
		o->forced = force_irqthreads() && action->thread &&
			    !action->secondary &&
			    test_bit(IRQTF_FORCED_THREAD,
				     &action->thread_flags);
		strscpy(o->name, action->name ?: "", sizeof(o->name));
		WRITE_ONCE(o->action, action);
		irqpath_reset_service(o);
		irqpath_reset_peek(o);
		/* Pairs with the address dependency of its readers. */
		smp_store_release(&action->irqpath, o);
		set_thread_origin(o, action);
		set_thread_origin(o, action->secondary);
		add_file(o);
		irqpath_adjust_threads();
	}
	mutex_unlock(&irqpath_origins_mutex);
}

/**
 * irqpath_find_origin() - find the origin of a line
 * @irq: its number
 *
 * It does not take the mutex: the files call it, and irqpath_remove_proc_file()
 * waits for them with the mutex held.
 *
 * Return: the origin of a handler that can migrate, else another one, or NULL.
 */
struct irqpath_origin *irqpath_find_origin(unsigned int irq)
{
	struct irqpath_origin *o, *found = NULL;

	rcu_read_lock();
	list_for_each_entry_rcu(o, &irqpath_origins, node) {
		if (READ_ONCE(o->action) && o->irq == irq &&
		    (!found || (o->forced && !found->forced)))
			found = o;
	}
	rcu_read_unlock();
	return found;
}

#ifdef CONFIG_IRQPATH_MIGRATE
/**
 * irqpath_set_origin_peek() - see irqpath_set_peek()
 * @irq: the line
 * @dev_id: of its action
 * @peek: looks at its packets
 */
void irqpath_set_origin_peek(unsigned int irq, void *dev_id,
			     irqpath_peek_t peek)
{
	struct irqpath_origin *o;

	mutex_lock(&irqpath_origins_mutex);
	list_for_each_entry(o, &irqpath_origins, node) {
		if (o->action && o->irq == irq && o->action->dev_id == dev_id)
			WRITE_ONCE(o->peek, peek);
	}
	mutex_unlock(&irqpath_origins_mutex);
}
#endif

/**
 * irqpath_visit_actions() - visit the origins that have an action
 * @visit: called for each; the action and its threads stay meanwhile
 *
 * Context: may sleep.
 */
void irqpath_visit_actions(irqpath_visit_t visit)
{
	struct irqpath_origin *o;

	mutex_lock(&irqpath_origins_mutex);
	list_for_each_entry(o, &irqpath_origins, node) {
		if (o->action)
			visit(o);
	}
	mutex_unlock(&irqpath_origins_mutex);
}

/**
 * irqpath_action_del() - an action is being freed
 * @action: the action; its line is quiet, its thread has not been stopped
 *
 * Context: __free_irq(), may sleep.
 */
void irqpath_action_del(struct irqaction *action)
{
	struct irqpath_origin *o = action->irqpath;

	if (!o)
		return;
	mutex_lock(&irqpath_origins_mutex);
	WRITE_ONCE(action->irqpath, NULL);
	WRITE_ONCE(o->action, NULL);
	remove_file(o);
	irqpath_end_offers(o);
	forget_raised_by(o);
	irqpath_forget_origin(o);
	mutex_unlock(&irqpath_origins_mutex);
}
