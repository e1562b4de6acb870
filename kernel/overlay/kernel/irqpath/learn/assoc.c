// SPDX-License-Identifier: GPL-2.0-only
/*
 * irqpath: associations of origins with the real-time tasks that they wake.
 *
 * try_to_wake_up() reports every wakeup of a task whose own priority is
 * real-time. A wakeup by an origin becomes an association, in one of a few
 * slots of the task. If all slots are taken, the one with the oldest wakeup
 * goes. Associations end with the task, with its real-time class and with the
 * action. Kernel threads have none, but pass on the origin that woke them.
 */
#include <linux/jiffies.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <trace/events/irqpath.h>

#include "../irqpath.h"
#include "../migrate/learning.h"
#include "../selective/learning.h"

DEFINE_STATIC_KEY_FALSE(irqpath_learn_key);

/**
 * irqpath_pick_slot() - pick the slot for one more association
 * @slots: an array of IRQPATH_NR_SLOTS
 * @now: jiffies
 *
 * Return: a free slot, else the one with the oldest hit; NULL if all are
 * pinned.
 */
struct irqpath_slot *irqpath_pick_slot(struct irqpath_slot *slots,
				       unsigned long now)
{
	struct irqpath_slot *oldest = NULL;
	int i;

	for (i = 0; i < IRQPATH_NR_SLOTS; i++) {
		if (!slots[i].origin)
			return &slots[i];
		if (slots[i].pinned)
			continue;
		if (!oldest || now - slots[i].last > now - oldest->last)
			oldest = &slots[i];
	}
	return oldest;
}

/**
 * irqpath_update_credit() - compute the trust in an association after an event
 * @credit: the trust so far
 * @woke: the origin woke the task; if not, it ran there without doing so
 *
 * Return: the new trust; at 0 the task is offered nothing.
 */
unsigned int irqpath_update_credit(unsigned int credit, bool woke)
{
	if (woke)
		return min(credit + IRQPATH_CREDIT_GAIN, IRQPATH_CREDIT_MAX);
	return credit ? credit - 1 : 0;
}

static void clear_slot(struct irqpath_slot *slot)
{
	if (!slot->origin)
		return;
	irqpath_remove_target(slot->origin);
	WRITE_ONCE(slot->origin, NULL);
}

static bool task_may_learn(struct task_struct *p)
{
	return !(p->flags & (PF_KTHREAD | PF_EXITING)) &&
	       rt_or_dl_prio(p->normal_prio);
}

static struct irqpath_slot *find_slot(struct irqpath_task *t,
				      struct irqpath_origin *o)
{
	int i;

	for (i = 0; i < IRQPATH_NR_SLOTS; i++) {
		if (t->slot[i].origin == o)
			return &t->slot[i];
	}
	return NULL;
}

/* Return: the new association, or NULL without room or when it is too late. */
static struct irqpath_slot *make_slot(struct irqpath_task *t,
				      struct irqpath_origin *o)
{
	struct irqpath_slot *slot;

	lockdep_assert_held(&t->lock);

	/* irqpath_exit() and irqpath_learn_setscheduler() clear under the lock. */
	if (!task_may_learn(t->task) || !READ_ONCE(o->action))
		return NULL;
	slot = irqpath_pick_slot(t->slot, jiffies);
	if (!slot)
		return NULL;
	clear_slot(slot);
	slot->hits = 0;
	slot->runs = 0;
	slot->misses = 0;
	slot->mm_switched = 0;
	slot->last = jiffies;
	slot->credit = IRQPATH_CREDIT_START;
	slot->stand_ins = 0;
	slot->indirect = false;
	slot->pinned = false;
	WRITE_ONCE(slot->origin, o);
	irqpath_add_target(o);
	irqpath_count(learned);
	trace_irqpath_learn(o, t->task);
	return slot;
}

/* The rare case: an origin that @t does not know woke it. */
static void learn_origin(struct irqpath_task *t, struct irqpath_origin *o)
{
	struct irqpath_slot *slot;
	unsigned long flags;

	raw_spin_lock_irqsave(&t->lock, flags);
	slot = find_slot(t, o) ? NULL : make_slot(t, o);
	if (slot) {
		slot->hits = 1;
		slot->indirect = irqpath_is_indirect();
	}
	raw_spin_unlock_irqrestore(&t->lock, flags);
}

/**
 * irqpath_pin() - make an association by hand, or return it to learning
 * @p: a real-time task of user space
 * @o: the origin, or NULL
 * @pinned: make it by hand
 *
 * Return: 0, -ENXIO without an origin, -EINVAL if the task cannot have
 * associations, -ENOSPC if all its associations are pinned, -ENOMEM, or
 * -ENOENT if there is no association to return.
 */
int irqpath_pin(struct task_struct *p, struct irqpath_origin *o, bool pinned)
{
	struct irqpath_slot *slot;
	struct irqpath_task *t;
	int ret = 0;

	if (!o)
		return -ENXIO;
	if (!task_may_learn(p))
		return -EINVAL;
	t = irqpath_get_task(p, GFP_KERNEL);
	if (!t)
		return -ENOMEM;
	raw_spin_lock_irq(&t->lock);
	slot = find_slot(t, o);
	if (!slot && pinned)
		slot = make_slot(t, o);
	if (!slot)
		ret = pinned ? -ENOSPC : -ENOENT;
	else if (pinned)
		slot->credit = IRQPATH_CREDIT_MAX;
	if (slot)
		slot->pinned = pinned;
	raw_spin_unlock_irq(&t->lock);
	return ret;
}

/* A kernel thread is being woken. There is no association. */
static void note_thread(struct irqpath_task *t)
{
	struct irqpath_origin *o = irqpath_current_origin();

	if (!t->origin)
		WRITE_ONCE(t->woken_for, o);
	irqpath_note_service(o, t);
}

void __irqpath_learn_wakeup(struct task_struct *p)
{
	struct irqpath_task *t = READ_ONCE(p->irqpath);
	struct irqpath_origin *o;
	int i;

	/* A wakeup that hands over a lock brings no work, nor does an offer. */
	if (!t || READ_ONCE(p->pi_blocked_on) || irqpath_is_offering())
		return;
	if (p->flags & PF_KTHREAD) {
		note_thread(t);
		return;
	}
	o = irqpath_current_origin();
	if (!o || !task_may_learn(p))
		return;

	for (i = 0; i < IRQPATH_NR_SLOTS; i++) {
		struct irqpath_slot *slot = &t->slot[i];

		if (READ_ONCE(slot->origin) == o) {
			slot->hits++;
			slot->last = jiffies;
			slot->stand_ins = 0;
			slot->indirect = irqpath_is_indirect();
			if (!slot->indirect)
				slot->credit =
					irqpath_update_credit(slot->credit,
							      true);
			irqpath_confirm_service(o);
			return;
		}
	}
	learn_origin(t, o);
}

/**
 * irqpath_get_task() - get the state of a task, made if there is none
 * @p: the task
 * @gfp: how to allocate
 *
 * Return: the state, or NULL without memory.
 */
struct irqpath_task *irqpath_get_task(struct task_struct *p, gfp_t gfp)
{
	struct irqpath_task *t = READ_ONCE(p->irqpath);

	if (t)
		return t;
	t = kzalloc_obj(*t, gfp | __GFP_NOWARN);
	if (!t)
		return NULL;
	t->task = p;
	raw_spin_lock_init(&t->lock);
	irqpath_init_place(t);
	/* A full barrier: a reader that finds it finds it initialised. */
	if (cmpxchg(&p->irqpath, NULL, t)) {
		kfree(t);
		t = READ_ONCE(p->irqpath);
	}
	return t;
}

/*
 * A new task is a copy of its parent, and may inherit its priority. The parent
 * of a kernel thread is one, too.
 */
void irqpath_fork(struct task_struct *p)
{
	p->irqpath = NULL;
	if (current->flags & PF_KTHREAD ||
	    (rt_task(current) && !current->sched_reset_on_fork))
		irqpath_get_task(p, GFP_KERNEL);
}

void irqpath_task_free(struct task_struct *p)
{
	kfree(p->irqpath);
}

static void forget_associations(struct irqpath_task *t,
				struct irqpath_origin *only)
{
	unsigned long flags;
	int i;

	raw_spin_lock_irqsave(&t->lock, flags);
	for (i = 0; i < IRQPATH_NR_SLOTS; i++) {
		if (!only || t->slot[i].origin == only)
			clear_slot(&t->slot[i]);
	}
	raw_spin_unlock_irqrestore(&t->lock, flags);
}

/* See irqpath_setscheduler(). */
void irqpath_learn_setscheduler(struct task_struct *p)
{
	struct irqpath_task *t = READ_ONCE(p->irqpath);

	if (!t && rt_or_dl_prio(p->normal_prio) && preemptible())
		t = irqpath_get_task(p, GFP_NOWAIT);
	if (!t)
		return;
	irqpath_leave_place(t);
	if (!rt_or_dl_prio(p->normal_prio))
		forget_associations(t, NULL);
	irqpath_note_own_priority(t);
}

/* PF_EXITING is set: nothing is learned after this. */
void irqpath_exit(struct task_struct *p)
{
	if (p->irqpath)
		forget_associations(p->irqpath, NULL);
}

/**
 * irqpath_forget_origin() - end the associations with an origin
 * @o: the origin, whose action is being freed
 */
void irqpath_forget_origin(struct irqpath_origin *o)
{
	struct task_struct *g, *p;

	rcu_read_lock();
	for_each_process_thread(g, p) {
		struct irqpath_task *t = READ_ONCE(p->irqpath);

		if (t)
			forget_associations(t, o);
	}
	rcu_read_unlock();
}
