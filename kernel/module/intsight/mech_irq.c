// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mechanisms that need no more than the interrupt itself:
 *
 * none          nothing: two checkpoints back to back, which measure the cost
 *               of a checkpoint.
 * threaded_irq  the handler's thread, FIFO 50 unless somebody changed it.
 * irq_work      as init_irq_work() makes it: hard interrupt context
 *               after the handler; on PREEMPT_RT the thread irq_work/N.
 */
#include <linux/irq_work.h>

#include "bench.h"

static irqreturn_t none_top_half(int irq, void *data)
{
	intsight_top_half();
	intsight_bottom_half();
	return IRQ_HANDLED;
}

const struct intsight_mechanism intsight_none = {
	.name		= "none",
	.top_half	= none_top_half,
};

static irqreturn_t threaded_irq_top_half(int irq, void *data)
{
	intsight_top_half();
	return IRQ_WAKE_THREAD;
}

static irqreturn_t threaded_irq_thread(int irq, void *data)
{
	intsight_bottom_half();
	return IRQ_HANDLED;
}

const struct intsight_mechanism intsight_threaded_irq = {
	.name		= "threaded_irq",
	.top_half	= threaded_irq_top_half,
	.thread_fn	= threaded_irq_thread,
};

static void irq_work_fn(struct irq_work *work)
{
	intsight_bottom_half();
}

static struct irq_work irq_work_item = IRQ_WORK_INIT(irq_work_fn);

static irqreturn_t irq_work_top_half(int irq, void *data)
{
	intsight_top_half();
	irq_work_queue(&irq_work_item);
	return IRQ_HANDLED;
}

static void irq_work_quiesce(void)
{
	irq_work_sync(&irq_work_item);
}

const struct intsight_mechanism intsight_irq_work = {
	.name		= "irq_work",
	.top_half	= irq_work_top_half,
	.quiesce	= irq_work_quiesce,
};
