// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mechanisms in softirq context.
 *
 * A softirq vector of its own can only be had by code that is built in
 * (CONFIG_INTSIGHT_SOFTIRQ, see Kconfig). A module has to go through a vector
 * that is open to it, and then pays for that vector's own dispatch. IRQ_POLL
 * has the least of it: raising puts an entry on a per-CPU list, and the
 * softirq takes it from there and calls it, with no lock, no state machine to
 * win and, on nearly all machines, no other user. A tasklet has the state bits
 * and, on PREEMPT_RT, the synchronisation of tasklets in between; a soft
 * hrtimer has the timer wheel and the timer interrupt; the vectors for block,
 * network, RCU and scheduler cannot be entered without being one of them.
 */
#include <linux/interrupt.h>
#include <linux/irq_poll.h>

#include "bench.h"
#include "compat.h"
#include "intsight.h"

#ifdef CONFIG_INTSIGHT_SOFTIRQ

const char *const intsight_softirq_vector = "intsight";

static void vector_fn(INTSIGHT_SOFTIRQ_ARGS)
{
	intsight_bottom_half();
}

static irqreturn_t vector_top_half(int irq, void *data)
{
	intsight_top_half();
	raise_softirq_irqoff(INTSIGHT_SOFTIRQ);
	return IRQ_HANDLED;
}

int intsight_softirq_init(void)
{
	open_softirq(INTSIGHT_SOFTIRQ, vector_fn);
	return 0;
}

const struct intsight_mechanism intsight_softirq = {
	.name		= "softirq",
	.top_half	= vector_top_half,
};

#elif defined(CONFIG_IRQ_POLL)

const char *const intsight_softirq_vector = "irq_poll";

static struct irq_poll poll;

static int vector_poll(struct irq_poll *iop, int budget)
{
	intsight_bottom_half();
	irq_poll_complete(iop);
	return 0;
}

static irqreturn_t vector_top_half(int irq, void *data)
{
	intsight_top_half();
	irq_poll_sched(&poll);
	return IRQ_HANDLED;
}

int intsight_softirq_init(void)
{
	irq_poll_init(&poll, 1, vector_poll);
	return 0;
}

static void vector_quiesce(void)
{
	irq_poll_disable(&poll);
	irq_poll_enable(&poll);
}

const struct intsight_mechanism intsight_softirq = {
	.name		= "softirq",
	.top_half	= vector_top_half,
	.quiesce	= vector_quiesce,
};

#else

const char *const intsight_softirq_vector = "";

int intsight_softirq_init(void)
{
	return 0;
}

#endif

static void tasklet_fn(struct tasklet_struct *tasklet)
{
	intsight_bottom_half();
}

static DECLARE_TASKLET(tasklet, tasklet_fn);

static irqreturn_t tasklet_top_half(int irq, void *data)
{
	intsight_top_half();
	tasklet_schedule(&tasklet);
	return IRQ_HANDLED;
}

static irqreturn_t tasklet_hi_top_half(int irq, void *data)
{
	intsight_top_half();
	tasklet_hi_schedule(&tasklet);
	return IRQ_HANDLED;
}

static void tasklet_quiesce(void)
{
	tasklet_kill(&tasklet);
}

const struct intsight_mechanism intsight_tasklet = {
	.name		= "tasklet",
	.top_half	= tasklet_top_half,
	.quiesce	= tasklet_quiesce,
};

const struct intsight_mechanism intsight_tasklet_hi = {
	.name		= "tasklet_hi",
	.top_half	= tasklet_hi_top_half,
	.quiesce	= tasklet_quiesce,
};
