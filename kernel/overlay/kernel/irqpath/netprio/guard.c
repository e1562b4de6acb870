// SPDX-License-Identifier: GPL-2.0-only
/*
 * netprio: the guard, a thread that serves packets that have waited for
 * irqpath_max_hold_us.
 *
 * It runs above the interrupts' threads and serves the oldest packets of a
 * level, as many as one poll of a NAPI may bring. It serves the next ones when
 * the limit has passed again. So no receiver is cut off, and no flood gets past
 * more urgent work.
 */
#include <linux/kthread.h>
#include <linux/netdevice.h>
#include <uapi/linux/sched/types.h>

#include "netprio.h"

/* Microseconds that a packet may be held; 0: no limit. */
unsigned int irqpath_max_hold_us = 100000;

static struct task_struct *guard;

/**
 * irqpath_get_rest_ns() - compute how much longer a packet may wait
 * @since_ns: when it came
 * @now_ns: the time
 * @limit_ns: how long it may wait
 *
 * Return: the rest, or 0 if there is none.
 */
u64 irqpath_get_rest_ns(u64 since_ns, u64 now_ns, u64 limit_ns)
{
	u64 waited_ns = now_ns - since_ns;

	return waited_ns < limit_ns ? limit_ns - waited_ns : 0;
}

static u64 get_limit_ns(void)
{
	return READ_ONCE(irqpath_max_hold_us) * (u64)NSEC_PER_USEC;
}

/**
 * irqpath_restart_limit() - start the timer of a level's oldest packet
 * @level: the level
 *
 * Context: any but with a lock of netprio held.
 */
void irqpath_restart_limit(struct irqpath_level *level)
{
	struct irqpath_receiver *r;
	ktime_t since;
	u64 rest;

	if (!get_limit_ns())
		return;
	r = irqpath_oldest_receiver(level, &since);
	if (!r)
		return;
	irqpath_receiver_put(r);
	rest = irqpath_get_rest_ns(since, ktime_get_ns(), get_limit_ns());
	irqpath_start_timer(&level->limit, max(rest, 1ULL));
}

/* The function of the timer irqpath_level.limit. */
enum hrtimer_restart irqpath_expire_limit(struct hrtimer *timer)
{
	struct irqpath_level *level = container_of(timer, struct irqpath_level,
						   limit);

	/* Pairs with irqpath_kick_level(). */
	smp_mb();
	if (!list_empty(&level->receivers)) {
		WRITE_ONCE(level->due, true);
		irqpath_wake_guard();
	}
	return HRTIMER_NORESTART;
}

/*
 * Serve the packets of a level that have waited for too long. A thread that
 * serves one and may not run is lent the guard's priority.
 */
static void serve_expired(struct irqpath_level *level)
{
	struct irqpath_receiver *r;
	unsigned int nr = 0;
	ktime_t since;
	u64 rest = 0;

	while (nr < NAPI_POLL_WEIGHT && !rest) {
		r = irqpath_oldest_receiver(level, &since);
		if (!r)
			return;
		if (!nr)
			rest = irqpath_get_rest_ns(since, ktime_get_ns(),
						   get_limit_ns());
		if (!rest)
			irqpath_serve_receiver(r, 1, true);
		irqpath_receiver_put(r);
		nr++;
	}
	irqpath_start_timer(&level->limit, rest ?: get_limit_ns());
}

/* Return: whether there was work; then the guard is running. */
static bool relieve_level(struct irqpath_level *level)
{
	bool any = false;

	if (READ_ONCE(level->due)) {
		__set_current_state(TASK_RUNNING);
		WRITE_ONCE(level->due, false);
		if (get_limit_ns())
			serve_expired(level);
		any = true;
	}
	if (READ_ONCE(level->napi_due)) {
		__set_current_state(TASK_RUNNING);
		WRITE_ONCE(level->napi_due, false);
		irqpath_poll_napis(level);
		any = true;
	}
	return any;
}

static int run_guard(void *data)
{
	unsigned int nr;

	for (;;) {
		bool any = false;

		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		for (nr = 0; nr < IRQPATH_NR_LEVELS; nr++) {
			struct irqpath_level *level =
				READ_ONCE(irqpath_levels[nr]);

			if (level)
				any |= relieve_level(level);
		}
		if (!any)
			schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/**
 * irqpath_start_guard() - start the guard
 *
 * Return: 0, or why there is no thread.
 */
int irqpath_start_guard(void)
{
	/* The threads of interrupts might leave it no time: run above them. */
	struct sched_param param = { .sched_priority = MAX_RT_PRIO / 2 + 1 };
	struct task_struct *p;

	p = kthread_create(run_guard, NULL, "netprio_guard");
	if (IS_ERR(p))
		return PTR_ERR(p);
	sched_setscheduler_nocheck(p, SCHED_FIFO, &param);
	guard = p;
	wake_up_process(p);
	return 0;
}

/**
 * irqpath_wake_guard() - wake the guard for a level that is due
 *
 * Context: any.
 */
void irqpath_wake_guard(void)
{
	wake_up_process(guard);
}

void irqpath_stop_guard(void)
{
	kthread_stop(guard);
}
