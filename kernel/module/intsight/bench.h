/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The benchmark: what is measured (mechanism), what starts a run (trigger),
 * with which parameters (config), and what came out (matrix).
 *
 * mech_*.c have the mechanisms, trigger.c, edu.c and gpio.c the triggers,
 * tracepoints.c the checkpoints in between. bench.c runs them and matrix.c has
 * the memory; debugfs.c is the user's side with params.c for the config and
 * csv.c for the results.
 */
#ifndef INTSIGHT_BENCH_H
#define INTSIGHT_BENCH_H

#include <linux/bitmap.h>
#include <linux/interrupt.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/types.h>

#include "checkpoint.h"

/**
 * struct intsight_mechanism - a way to have something done after the handler
 * @name: as in bottom_handler
 * @top_half: hardirq handler: intsight_top_half(), then start the bottom half
 * @thread_fn: threaded handler, or NULL
 * @quiesce: no bottom half is pending or running any more on return; the
 *	interrupt was freed before. May sleep. Or NULL
 * @roams: the bottom half may run on another CPU
 *
 * @top_half is the mechanism's own, not a callback out of a common handler:
 * an indirect call would be part of every latency.
 */
struct intsight_mechanism {
	const char *name;
	irq_handler_t top_half;
	irq_handler_t thread_fn;
	void (*quiesce)(void);
	bool roams;
};

/* All that this kernel has, NULL at the end. */
extern const struct intsight_mechanism *const intsight_mechanisms[];

extern const struct intsight_mechanism intsight_none;
extern const struct intsight_mechanism intsight_threaded_irq;
extern const struct intsight_mechanism intsight_irq_work;
extern const struct intsight_mechanism intsight_softirq;
extern const struct intsight_mechanism intsight_tasklet;
extern const struct intsight_mechanism intsight_tasklet_hi;
extern const struct intsight_mechanism intsight_workqueue;
extern const struct intsight_mechanism intsight_workqueue_highpri;
extern const struct intsight_mechanism intsight_workqueue_unbound;
extern const struct intsight_mechanism intsight_workqueue_bh;
extern const struct intsight_mechanism intsight_hrtimer_soft;
extern const struct intsight_mechanism intsight_hrtimer_hard;

/* The softirq vector behind the mechanism softirq. */
extern const char *const intsight_softirq_vector;

/**
 * struct intsight_trigger - a source of interrupts
 * @name: as in trigger
 * @irq: the interrupt to request, or -ENODEV while the device is absent
 * @irqflags: for request_irq(), beside those of the benchmark
 * @fire: make one interrupt, intsight_open() right before it; process context,
 *	delay_ns is what the benchmark waits afterwards
 * @stop: no interrupt comes any more that was not there on return, or NULL
 * @ack: called by the handler before its checkpoint, or NULL
 */
struct intsight_trigger {
	const char *name;
	int (*irq)(void);
	unsigned long irqflags;
	void (*fire)(u64 delay_ns);
	void (*stop)(void);
	void (*ack)(void);
};

/* All that this kernel has, present or not, NULL at the end. */
extern const struct intsight_trigger *const intsight_triggers[];

extern const struct intsight_trigger intsight_trigger_irq_work;
extern const struct intsight_trigger intsight_trigger_hrtimer;
extern const struct intsight_trigger intsight_trigger_edu;
extern const struct intsight_trigger intsight_trigger_gpio;

/* tracepoints.c: names by number; NULL for those that this kernel has not. */
#define INTSIGHT_MAX_TRACEPOINTS 64
void intsight_tracepoints_find(void);
const char *intsight_tracepoint_name(unsigned int nr);
int intsight_tracepoints_hook(const unsigned long *selected);
void intsight_tracepoints_unhook(const unsigned long *selected);

struct intsight_config {
	const struct intsight_mechanism *mechanism;
	const struct intsight_trigger *trigger;
	unsigned int reps;
	unsigned int delay_us;
	unsigned int capacity;
	bool active;
	DECLARE_BITMAP(tracepoints, INTSIGHT_MAX_TRACEPOINTS);
};

#define INTSIGHT_MAX_REPS	10000000U
#define INTSIGHT_MAX_CAPACITY	4096U
#define INTSIGHT_MAX_DELAY_US	60000000U

/* params.c: the parameters as they are now. Under intsight_config_lock. */
extern struct intsight_config intsight_config;
extern struct mutex intsight_config_lock;

/**
 * struct intsight_matrix - room for a benchmark's checkpoints
 * @ref: one for the benchmark, one for each open csv file
 * @config: as it was when the matrix was prepared
 * @base: by clock; printed stamps begin here. 0 unless the start of the clock
 *	means nothing, as that of pmccntr, which is half of 2^64
 * @cells: config.reps rows of config.capacity cells
 * @lengths: cells used in each row
 * @overflowed_runs: runs that had more checkpoints than cells
 * @not_stored: checkpoints of those runs that have no cell
 */
struct intsight_matrix {
	struct kref ref;
	struct intsight_config config;
	u64 base[INTSIGHT_NR_CLOCKS];
	struct intsight_cell *cells;
	unsigned int *lengths;
	u64 overflowed_runs;
	u64 not_stored;
};

static inline struct intsight_cell *
intsight_row(const struct intsight_matrix *matrix, unsigned int run)
{
	return matrix->cells + (size_t)run * matrix->config.capacity;
}

struct intsight_matrix *
intsight_matrix_alloc(const struct intsight_config *config);
void intsight_matrix_put(struct intsight_matrix *matrix);

int intsight_bench_run(struct intsight_matrix *matrix);
int intsight_bench_cost(u64 *cost);

/* debugfs.c: returns when no benchmark runs that began before. */
void intsight_bench_wait(void);

/**
 * struct intsight_file - what a file in debugfs does
 * @name: of the file
 * @show: prints it, or NULL: reads as empty
 * @set: takes a parameter, without white space around it, or NULL
 * @step: is done whatever is written, or NULL
 *
 * Context: all may sleep; @show and @set hold intsight_config_lock.
 */
struct intsight_file {
	const char *name;
	void (*show)(struct seq_file *seq);
	int (*set)(char *text);
	int (*step)(void);
};

/* params.c: one without a name at the end. */
extern const struct intsight_file intsight_params[];

/* csv.c: i_private of the files is what to print: a clock, or -1 for names. */
extern const struct file_operations intsight_csv_fops;
/* debugfs.c: the matrix that csv_results shows, with a reference, or NULL. */
struct intsight_matrix *intsight_results_get(void);

#endif /* INTSIGHT_BENCH_H */
