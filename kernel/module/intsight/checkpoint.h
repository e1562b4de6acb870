/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checkpoints: the only code of intsight that runs inside what is measured.
 *
 * A benchmark has a matrix of cells, one row per run. The recorder is open
 * from the checkpoint `trigger` to the checkpoint `bottom_half`; a checkpoint
 * reserves the next cell of the row, stamps it and stores a literal. Nothing
 * is allocated, locked or compared beyond the room in the row, and the cells
 * were touched beforehand.
 *
 * Reserving is one atomic increment, so that a checkpoint may come from any
 * context and any CPU (an unbound worker) and nested into another. With the
 * lock prefix that is one instruction, as it would be without; see README.md
 * for what it costs in time.
 *
 * The same increment counts the checkpoints that a full row cannot take: the
 * position runs on past the capacity. The last cell is the bottom half's, so
 * that a run that overflowed still has both its ends.
 */
#ifndef INTSIGHT_CHECKPOINT_H
#define INTSIGHT_CHECKPOINT_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/minmax.h>

#include "clock.h"
#include "intsight_mark.h"

struct intsight_cell {
	u64 stamp[INTSIGHT_NR_CLOCKS];
	const char *name;
};

/**
 * struct intsight_recorder - where checkpoints go
 * @next: next free cell in @row; has INTSIGHT_CLOSED set between the runs
 * @capacity: cells in a row, at least INTSIGHT_MIN_CAPACITY
 * @row: the cells of this run
 * @cpu: where the benchmark runs; tracepoints of other CPUs are left out
 * @used: once @done, how many cells the run would have needed
 * @done: the run's bottom half has stored its checkpoint
 * @ack: what the trigger's device needs from its handler, or NULL
 */
struct intsight_recorder {
	atomic_t next;
	unsigned int capacity;
	struct intsight_cell *row;
	unsigned int cpu;
	unsigned int used;
	bool done;
	void (*ack)(void);
} ____cacheline_aligned;

#define INTSIGHT_CLOSED		0x80000000U
#define INTSIGHT_MIN_CAPACITY	3U

/* There is one benchmark at a time, so there is one recorder. */
extern struct intsight_recorder intsight_recorder;

static __always_inline void intsight_fill(struct intsight_cell *cell,
					  const char *name, const int mark)
{
	intsight_stamp(cell->stamp, mark);
	cell->name = name;
}

/**
 * intsight_checkpoint() - record that this point was reached
 * @name: string literal
 * @mark: constant identifier of a marker, 0 for none
 *
 * Context: any but NMI. Two checkpoints of one CPU are in the order of their
 * stamps if the outer one cannot be interrupted.
 */
static __always_inline void intsight_checkpoint(const char *name,
						const int mark)
{
	struct intsight_recorder *rec = &intsight_recorder;
	/* Acquire pairs with the release in intsight_open(): row is current. */
	unsigned int cell = atomic_fetch_inc_acquire(&rec->next);

	if (likely(cell < rec->capacity))
		intsight_fill(&rec->row[cell], name, mark);
}

/**
 * intsight_open() - begin a run: the checkpoint `trigger`
 *
 * To be followed by the raise, both within one section that cannot be
 * interrupted. The row was set before.
 */
static __always_inline void intsight_open(void)
{
	atomic_set_release(&intsight_recorder.next, 0);
	intsight_checkpoint("trigger", INTSIGHT_MARK_RAISE);
}

/* First in every interrupt handler that is measured. */
static __always_inline void intsight_top_half(void)
{
	if (intsight_recorder.ack)
		intsight_recorder.ack();
	intsight_checkpoint("top_half", INTSIGHT_MARK_HARDIRQ);
}

/**
 * intsight_bottom_half() - end a run: the checkpoint `bottom_half`
 *
 * Reserves its cell and closes the row in one step, so that nothing can be
 * recorded behind it.
 */
static __always_inline void intsight_bottom_half(void)
{
	struct intsight_recorder *rec = &intsight_recorder;
	unsigned int cell = atomic_xchg_acquire(&rec->next, INTSIGHT_CLOSED);

	/* Only a spurious interrupt brings a bottom half to a closed row. */
	if (unlikely(cell >= INTSIGHT_CLOSED))
		return;

	intsight_fill(&rec->row[min(cell, rec->capacity - 1)], "bottom_half",
		      INTSIGHT_MARK_BOTTOM_HALF);
	rec->used = cell + 1;
	/* Pairs with the acquire in bench.c: cell and used are there. */
	smp_store_release(&rec->done, true);
}

#endif /* INTSIGHT_CHECKPOINT_H */
