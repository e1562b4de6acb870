// SPDX-License-Identifier: GPL-2.0-only
/*
 * High resolution timers that have expired when they are started. The hard
 * one is served by the timer interrupt, the soft one by the softirq that the
 * timer interrupt raises.
 *
 * When the handler itself runs inside the timer interrupt (trigger hrtimer),
 * the hard timer is served by the same interrupt.
 */
#include <linux/hrtimer.h>

#include "bench.h"
#include "compat.h"
#include "intsight.h"

static struct hrtimer soft_timer, hard_timer;

static enum hrtimer_restart timer_fn(struct hrtimer *timer)
{
	intsight_bottom_half();
	return HRTIMER_NORESTART;
}

static irqreturn_t soft_top_half(int irq, void *data)
{
	intsight_top_half();
	hrtimer_start(&soft_timer, 0, HRTIMER_MODE_REL_PINNED_SOFT);
	return IRQ_HANDLED;
}

static void soft_quiesce(void)
{
	hrtimer_cancel(&soft_timer);
}

const struct intsight_mechanism intsight_hrtimer_soft = {
	.name		= "hrtimer_soft",
	.top_half	= soft_top_half,
	.quiesce	= soft_quiesce,
};

static irqreturn_t hard_top_half(int irq, void *data)
{
	intsight_top_half();
	hrtimer_start(&hard_timer, 0, HRTIMER_MODE_REL_PINNED_HARD);
	return IRQ_HANDLED;
}

static void hard_quiesce(void)
{
	hrtimer_cancel(&hard_timer);
}

const struct intsight_mechanism intsight_hrtimer_hard = {
	.name		= "hrtimer_hard",
	.top_half	= hard_top_half,
	.quiesce	= hard_quiesce,
};

int intsight_hrtimer_init(void)
{
	intsight_hrtimer_setup(&soft_timer, timer_fn, CLOCK_MONOTONIC,
			       HRTIMER_MODE_REL_PINNED_SOFT);
	intsight_hrtimer_setup(&hard_timer, timer_fn, CLOCK_MONOTONIC,
			       HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}
