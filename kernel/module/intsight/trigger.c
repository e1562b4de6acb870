// SPDX-License-Identifier: GPL-2.0-only
/*
 * The triggers that need no device: one of our own lines, raised
 *
 * irq_work  at once, while the writer of do_trigger runs. The interrupt comes
 *           when the writer takes interrupts again.
 * hrtimer   from a hard timer half a delay later, while the writer waits: with
 *           a passive wait on an idle machine, the CPU is woken by it.
 */
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>

#include "bench.h"
#include "compat.h"
#include "intsight.h"
#include "line.h"

static struct intsight_line *line;

static int line_irq(void)
{
	return intsight_line_irq(line);
}

static void irq_work_fire(u64 delay_ns)
{
	local_irq_disable();
	intsight_open();
	intsight_line_raise(line);
	local_irq_enable();
}

const struct intsight_trigger intsight_trigger_irq_work = {
	.name	= "irq_work",
	.irq	= line_irq,
	.fire	= irq_work_fire,
};

static struct hrtimer timer;

static enum hrtimer_restart timer_fn(struct hrtimer *timer)
{
	intsight_open();
	intsight_line_raise_hardirq(line);
	return HRTIMER_NORESTART;
}

static void timer_fire(u64 delay_ns)
{
	hrtimer_start(&timer, ns_to_ktime(delay_ns / 2),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

static void timer_stop(void)
{
	hrtimer_cancel(&timer);
}

const struct intsight_trigger intsight_trigger_hrtimer = {
	.name	= "hrtimer",
	.irq	= line_irq,
	.fire	= timer_fire,
	.stop	= timer_stop,
};

int intsight_trigger_init(void)
{
	intsight_hrtimer_setup(&timer, timer_fn, CLOCK_MONOTONIC,
			       HRTIMER_MODE_REL_PINNED_HARD);
	line = intsight_line_create("benchmark", 0);
	return PTR_ERR_OR_ZERO(line);
}

void intsight_trigger_exit(void)
{
	intsight_line_destroy(line);
}
