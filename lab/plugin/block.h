/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Translated blocks as the plugin sees them: what flow.c must know about them when they run.
 *
 * QEMU translates the same code again and again (cache flush, instruction budget); equal blocks
 * share one description, so that memory does not grow with the length of a run.
 */
#ifndef IRQPATH_BLOCK_H
#define IRQPATH_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decode.h"

#define INSN_MAY_STOP	0x20u
#define INSN_DIVIDES	0x40u
#define INSN_STACK	0x80u	/* arm64: its memory access is watched */
#define INSN_SIZE	0x1fu

struct block {
	uint64_t pc, end;
	uint64_t next[2];	/* where it may go, as far as known at translation; 1: nowhere */
	uint64_t code;		/* hash of its instructions */
	uint64_t *sums;		/* hashes of the first n instruction addresses, see paths.c */
	uint32_t id;
	uint32_t out;		/* number in the file plus 1, 0: not used by any path */
	uint16_t nr;		/* instructions */
	uint16_t touch;		/* the instruction that says which stack was loaded */
	uint8_t exit;		/* enum flow_kind of the last instruction */
	uint8_t entry;		/* enum entry */
	bool kernel;
	uint8_t insns[];	/* size and INSN_ flags of each */
};

struct blocks {
	struct block **all;
	uint32_t nr, cap;
	uint32_t *slots;	/* hash table of numbers plus 1 */
	uint32_t nr_slots;
};

/* Collects one block while its instructions are looked at. */
struct builder {
	uint64_t pc, end, code;
	struct insn last;
	uint64_t last_pc;
	uint16_t nr;
	uint8_t insns[1024];
};

void builder_start(struct builder *builder, uint64_t pc);
void builder_add(struct builder *builder, const struct insn *insn, const uint8_t *bytes,
		 size_t size);
struct block *builder_finish(struct builder *builder, struct blocks *blocks, enum entry entry);

void blocks_free(struct blocks *blocks);

/* Address of instruction `index`; of the end for index == nr. */
uint64_t block_address(const struct block *block, unsigned int index);

#endif
