/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows the processor from block to block and decides what each step was: a jump, a call, an
 * interrupt, the return from one, a fault that repeats an instruction, or QEMU repeating one.
 * Keeps the shadow stacks (stacks.c) and charges executed instructions (paths.c).
 *
 * `started` is advanced by the translated code itself, before each instruction that may stop half
 * way, so the difference since the block began says how far it got. Called by flame.c; no QEMU
 * here: tested natively with the events of a script.
 */
#ifndef IRQPATH_FLOW_H
#define IRQPATH_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "block.h"
#include "paths.h"
#include "stacks.h"

/* What happened that is worth a line in the report; written to the file in this order. */
struct flow_stats {
	uint64_t interrupts;		/* interrupts and exceptions in the kernel */
	uint64_t entries;		/* system calls and interrupts from user space */
	uint64_t faulted;		/* instructions that did not complete */
	uint64_t repeated;		/* instructions that QEMU started twice */
	uint64_t resumed;		/* blocks that went on after an instruction with I/O */
	uint64_t unshaped;		/* entries that do not look like the kernel's */
	uint64_t mismatched;		/* returns that went elsewhere than their call said */
	uint64_t unmatched;		/* returns whose call was not seen */
	uint64_t lost;			/* returns from interrupts whose entry was not seen */
};

struct flow {
	struct stacks stacks;
	struct nodes nodes;
	struct blocks blocks;
	struct paths paths;
	struct block *block;		/* the one that runs; NULL: none yet */
	const uint64_t *started;	/* instructions, see above */
	uint64_t base;			/* `started` when the block began */
	uint64_t expect;		/* where the return goes, 1: no return or not known */
	uint16_t charged;		/* instructions of the block that are charged already */
	bool touched;			/* flow_touch() was called for the block */
	uint16_t accessed;		/* instruction plus 1 that flow_access() was called for */
	struct flow_stats stats;
};

void flow_init(struct flow *flow, uint64_t stack_size, bool follow_user);
void flow_free(struct flow *flow);

/* `block` begins to run. */
void flow_block(struct flow *flow, struct block *block);

/*
 * The last instruction of `block` stored its return address, or loaded it; the instruction `touch`
 * of `block` pushed or popped. QEMU 7.2 calls back again for later accesses of its own (delivery of
 * an interrupt, iret), so only the first one of the instruction that runs counts.
 */
void flow_call(struct flow *flow, const struct block *block, uint64_t slot);
void flow_return(struct flow *flow, const struct block *block, uint64_t slot);
void flow_touch(struct flow *flow, const struct block *block, uint64_t slot, bool push);

/*
 * arm64: the instruction of `block` that runs stored or loaded a frame record, or the stack pointer
 * of a task (`task`), at `address`. It does so in two steps, of which the first one counts.
 */
void flow_access(struct flow *flow, const struct block *block, uint64_t address, bool store,
		 bool task);

/* Mark `id` is instruction `index` of the block and about to run. */
void flow_mark(struct flow *flow, unsigned int index, int id);

#endif
