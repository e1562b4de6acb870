// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs a benchmark: fire, wait, take the row, again. Only the two tables below
 * name mechanisms and triggers. debugfs.c calls it with one benchmark at a
 * time.
 *
 * Everything is on the CPU of the task that writes do_trigger. The task does
 * not migrate until the benchmark has ended. The interrupt, timers, softirqs,
 * bound work items and the interrupt's thread stay with it. Only an unbound
 * work item may run elsewhere.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/preempt.h>
#include <linux/sched/signal.h>

#include "bench.h"
#include "compat.h"

/* How long a run waits for its bottom half after its delay has passed. */
#define BOTTOM_HALF_TIMEOUT_MS	10000
/* An active wait yields, and checks for fatal signals, this often. */
#define ACTIVE_SLICE_US		100000U

struct intsight_recorder intsight_recorder = {
	.next = ATOMIC_INIT(INTSIGHT_CLOSED),
};

const struct intsight_mechanism *const intsight_mechanisms[] = {
	&intsight_none,
#if defined(CONFIG_INTSIGHT_SOFTIRQ) || defined(CONFIG_IRQ_POLL)
	&intsight_softirq,
#endif
	&intsight_tasklet,
	&intsight_tasklet_hi,
	&intsight_workqueue,
	&intsight_workqueue_highpri,
	&intsight_workqueue_unbound,
#ifdef INTSIGHT_HAVE_WQ_BH
	&intsight_workqueue_bh,
#endif
	&intsight_threaded_irq,
	&intsight_irq_work,
	&intsight_hrtimer_soft,
	&intsight_hrtimer_hard,
	NULL
};

const struct intsight_trigger *const intsight_triggers[] = {
	&intsight_trigger_irq_work,
	&intsight_trigger_hrtimer,
#ifdef CONFIG_PCI
	&intsight_trigger_edu,
#endif
#ifdef CONFIG_GPIOLIB
	&intsight_trigger_gpio,
#endif
	NULL
};

/* Sleep as usleep_range() does, but let a signal end it. */
static int wait_passive(unsigned int delay_us)
{
	ktime_t end = ktime_add_us(ktime_get(), delay_us);

	for (;;) {
		if (signal_pending(current))
			return -EINTR;
		set_current_state(TASK_INTERRUPTIBLE);
		if (!schedule_hrtimeout_range(&end, 0, HRTIMER_MODE_ABS))
			return 0;
		/* The wakeup need not be a signal's. */
	}
}

/*
 * Keep the CPU busy, so that others do not get it. The wait yields only after
 * each slice. A slice is much longer than the intervals of interest, and much
 * shorter than the watchdogs and RCU tolerate.
 */
static int wait_active(unsigned int delay_us)
{
	unsigned int left_us = delay_us % ACTIVE_SLICE_US;
	unsigned int slices = delay_us / ACTIVE_SLICE_US;

	while (slices--) {
		mdelay(ACTIVE_SLICE_US / USEC_PER_MSEC);
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	mdelay(left_us / USEC_PER_MSEC);
	udelay(left_us % USEC_PER_MSEC);
	return signal_pending(current) ? -EINTR : 0;
}

/* The run's bottom half may be later than the delay, however long that is. */
static int wait_done(void)
{
	unsigned int waited_ms = 0;
	int ret;

	/* Pairs with the release in intsight_bottom_half(). */
	while (!smp_load_acquire(&intsight_recorder.done)) {
		if (waited_ms++ > BOTTOM_HALF_TIMEOUT_MS)
			return -ETIMEDOUT;
		ret = wait_passive(USEC_PER_MSEC);
		if (ret)
			return ret;
	}
	return 0;
}

static void take_row(struct intsight_matrix *matrix, unsigned int run)
{
	unsigned int used = intsight_recorder.used;
	unsigned int capacity = matrix->config.capacity;

	matrix->lengths[run] = min(used, capacity);
	if (used > capacity) {
		matrix->overflowed_runs++;
		matrix->not_stored += used - capacity;
	}
}

static int run_once(struct intsight_matrix *matrix, unsigned int run)
{
	const struct intsight_config *config = &matrix->config;
	int ret;

	/* The device may have been unplugged. */
	if (config->trigger->irq() < 0)
		return -ENODEV;

	intsight_recorder.row = intsight_row(matrix, run);
	WRITE_ONCE(intsight_recorder.done, false);
	config->trigger->fire((u64)config->delay_us * NSEC_PER_USEC);

	ret = config->active ? wait_active(config->delay_us) :
			       wait_passive(config->delay_us);
	if (!ret)
		ret = wait_done();
	if (!ret)
		take_row(matrix, run);
	return ret;
}

static int run_all(struct intsight_matrix *matrix)
{
	unsigned int run;
	int ret;

	for (run = 0; run < matrix->config.reps; run++) {
		if (signal_pending(current))
			return -EINTR;
		ret = run_once(matrix, run);
		if (ret)
			return ret;
		cond_resched();
	}
	return 0;
}

static int request_trigger_irq(const struct intsight_config *config)
{
	const struct intsight_mechanism *mechanism = config->mechanism;
	/* The top half is in hardirq context on PREEMPT_RT, too. */
	unsigned long flags = IRQF_NO_THREAD | config->trigger->irqflags;
	int irq = config->trigger->irq();
	int ret;

	if (irq < 0)
		return irq;
	if (mechanism->thread_fn)
		flags |= IRQF_ONESHOT;

	/* A line that cannot be moved is left where it is. */
	irq_set_affinity(irq, cpumask_of(intsight_recorder.cpu));
	ret = request_threaded_irq(irq, mechanism->top_half,
				   mechanism->thread_fn, flags, "intsight",
				   &intsight_recorder);
	return ret ?: irq;
}

/* With the interrupt, and without migration. */
static int run_with_irq(struct intsight_matrix *matrix)
{
	const struct intsight_config *config = &matrix->config;
	int irq, ret;

	irq = request_trigger_irq(config);
	if (irq < 0)
		return irq;

	ret = run_all(matrix);

	if (config->trigger->stop)
		config->trigger->stop();
	/* A run that was given up may still come: close the row behind it. */
	atomic_set(&intsight_recorder.next, INTSIGHT_CLOSED);
	free_irq(irq, &intsight_recorder);
	if (config->mechanism->quiesce)
		config->mechanism->quiesce();
	return ret;
}

static int run_pinned(struct intsight_matrix *matrix)
{
	const struct intsight_config *config = &matrix->config;
	int ret;

	intsight_recorder.cpu = smp_processor_id();
	intsight_recorder.capacity = config->capacity;
	intsight_recorder.ack = config->trigger->ack;

	ret = intsight_clock_get(matrix->base);
	if (ret)
		return ret;
	ret = intsight_tracepoints_hook(config->tracepoints);
	if (!ret) {
		ret = run_with_irq(matrix);
		intsight_tracepoints_unhook(config->tracepoints);
	}
	intsight_clock_put();
	return ret;
}

/**
 * intsight_bench_run() - execute a benchmark
 * @matrix: filled in
 *
 * Context: may sleep; one at a time.
 * Return: 0, or an error after which the matrix is incomplete and useless:
 * -EINTR after a signal, -ETIMEDOUT without a bottom half, -ENODEV if the
 * trigger's device is gone, -EOPNOTSUPP if stamps of two CPUs would be compared
 * whose clocks differ, -EBUSY if perf has the counter.
 */
int intsight_bench_run(struct intsight_matrix *matrix)
{
	int ret;

	if (INTSIGHT_CLOCK_PER_CPU && matrix->config.mechanism->roams &&
	    num_online_cpus() > 1) {
		pr_err("%s may run on another CPU, where pmccntr counts something else: build with INTSIGHT_CLOCKS=cntvct\n",
		       matrix->config.mechanism->name);
		return -EOPNOTSUPP;
	}

	migrate_disable();
	ret = run_pinned(matrix);
	migrate_enable();
	return ret;
}

static u64 cost_once(void)
{
	struct intsight_cell row[INTSIGHT_MIN_CAPACITY] = { };

	intsight_recorder.row = row;
	local_irq_disable();
	atomic_set(&intsight_recorder.next, 0);
	intsight_checkpoint("", 0);
	intsight_checkpoint("", 0);
	atomic_set(&intsight_recorder.next, INTSIGHT_CLOSED);
	local_irq_enable();
	return row[1].stamp[0] - row[0].stamp[0];
}

/**
 * intsight_bench_cost() - measure what one checkpoint costs
 * @cost: ticks of the first clock between two checkpoints that follow each
 *	other, the least of many
 *
 * Context: may sleep; not while a benchmark runs.
 * Return: 0, or what intsight_clock_get() said.
 */
int intsight_bench_cost(u64 *cost)
{
	u64 base[INTSIGHT_NR_CLOCKS];
	unsigned int i;
	int ret;

	migrate_disable();
	ret = intsight_clock_get(base);
	if (!ret) {
		*cost = U64_MAX;
		intsight_recorder.capacity = INTSIGHT_MIN_CAPACITY;
		for (i = 0; i < 1000; i++)
			*cost = min(*cost, cost_once());
		intsight_recorder.row = NULL;
		intsight_clock_put();
	}
	migrate_enable();
	return ret;
}
