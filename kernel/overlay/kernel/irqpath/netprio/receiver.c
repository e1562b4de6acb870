// SPDX-License-Identifier: GPL-2.0-only
/*
 * netprio: the tasks that receive from a socket.
 *
 * A task becomes a receiver when it reads, polls or writes, because a sender
 * waits for acknowledgements. The socket keeps the tasks and not their
 * priorities. These are looked up for each packet, so that a change counts at
 * once and needs no hook. A task that has ended does not count.
 *
 * A socket that nobody has used, or only the kernel, has no receiver: its
 * packets are never held.
 *
 * A task that has given its socket away counts until it ends. Packets may then
 * wait less than they could, which harms no receiver. If it has given the
 * socket to the kernel, as for a network block device, packets wait as if for
 * the task.
 */
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/sock.h>

#include "netprio.h"

static struct task_struct *find_task(struct pid *pid)
{
	struct task_struct *p = pid ? pid_task(pid, PIDTYPE_PID) : NULL;

	return p && !(p->flags & PF_EXITING) ? p : NULL;
}

static unsigned int get_task_level(struct pid *pid)
{
	struct task_struct *p = find_task(pid);

	return p ? irqpath_prio_to_level(READ_ONCE(p->prio)) :
		   IRQPATH_LEVEL_NONE;
}

/**
 * irqpath_get_receiver_level() - find the highest level of a socket's receivers
 * @r: the receivers, locked
 *
 * Context: RCU read side.
 * Return: the level, or IRQPATH_LEVEL_NONE.
 */
unsigned int irqpath_get_receiver_level(struct irqpath_receiver *r)
{
	unsigned int level = IRQPATH_LEVEL_NONE;
	int i;

	lockdep_assert_held(&r->lock);

	for (i = 0; i < IRQPATH_NR_RECEIVERS; i++)
		level = min(level, get_task_level(r->pid[i]));
	return level;
}

/* Take a free place, or that of the lowest if it is lower than this task. */
static struct pid *add_receiver(struct irqpath_receiver *r, struct pid *pid)
{
	unsigned int lowest = get_task_level(pid), level;
	struct pid **place = NULL, *old;
	int i;

	lockdep_assert_held(&r->lock);

	for (i = 0; i < IRQPATH_NR_RECEIVERS; i++) {
		if (r->pid[i] == pid)
			return NULL;
		level = get_task_level(r->pid[i]);
		if (level > lowest) {
			lowest = level;
			place = &r->pid[i];
		}
	}
	if (!place)
		return NULL;
	old = *place;
	*place = get_pid(pid);
	return old;
}

static struct irqpath_receiver *make_receiver(struct sock *sk)
{
	struct irqpath_receiver *r = kzalloc_obj(*r,
					     GFP_NOWAIT | __GFP_NOWARN);

	if (!r)
		return NULL;
	refcount_set(&r->refs, 1);
	raw_spin_lock_init(&r->lock);
	__skb_queue_head_init(&r->queue);
	timerqueue_init(&r->age);
	mutex_init(&r->serving);
	/* A full barrier: a reader that finds it finds it initialised. */
	if (cmpxchg(&sk->sk_irqpath, NULL, r)) {
		kfree(r);
		r = READ_ONCE(sk->sk_irqpath);
	}
	return r;
}

static bool is_known(struct irqpath_receiver *r, struct pid *pid)
{
	int i;

	for (i = 0; i < IRQPATH_NR_RECEIVERS; i++) {
		if (READ_ONCE(r->pid[i]) == pid)
			return true;
	}
	return false;
}

/* The current task uses a socket. Without memory, the next use counts. */
void __irqpath_add_receiver(struct sock *sk)
{
	struct irqpath_receiver *r;
	struct pid *old;

	/* Nobody knows for whom a kernel thread receives. */
	if (current->flags & PF_KTHREAD ||
	    (sk->sk_family != AF_INET && sk->sk_family != AF_INET6))
		return;
	r = READ_ONCE(sk->sk_irqpath) ?: make_receiver(sk);
	/* Only the current task adds its own entry. */
	if (!r || is_known(r, task_pid(current)))
		return;

	rcu_read_lock();
	raw_spin_lock(&r->lock);
	old = add_receiver(r, task_pid(current));
	raw_spin_unlock(&r->lock);
	/* Have the thread of its level made before it is needed. */
	irqpath_get_level(irqpath_prio_to_level(current->prio));
	rcu_read_unlock();
	put_pid(old);
}

/* put_pid() frees at once, and a reader may still look at the receivers. */
static void free_receiver(struct rcu_head *head)
{
	struct irqpath_receiver *r = container_of(head, struct irqpath_receiver,
						  rcu);
	int i;

	for (i = 0; i < IRQPATH_NR_RECEIVERS; i++)
		put_pid(r->pid[i]);
	kfree(r);
}

/**
 * irqpath_receiver_put() - give up a reference to receivers
 * @r: the receivers
 */
void irqpath_receiver_put(struct irqpath_receiver *r)
{
	if (refcount_dec_and_test(&r->refs))
		call_rcu(&r->rcu, free_receiver);
}

/* The socket goes. Packets that are held for it may stay. */
void irqpath_socket_free(struct sock *sk)
{
	if (sk->sk_irqpath)
		irqpath_receiver_put(sk->sk_irqpath);
}
