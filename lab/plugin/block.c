/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptions of translated blocks and the table that finds an equal one; see block.h.
 */
#include <string.h>

#include "block.h"
#include "util.h"

#define NOWHERE 1	/* odd on arm64, firmware on x86: never the start of a kernel block */

void builder_start(struct builder *builder, uint64_t pc)
{
	builder->pc = builder->end = pc;
	builder->code = mix(pc);
	builder->nr = 0;
}

void builder_add(struct builder *builder, const struct insn *insn, const uint8_t *bytes,
		 size_t size)
{
	size_t i;

	if (builder->nr == ARRAY_SIZE(builder->insns))
		return;
	for (i = 0; i < size; i++)
		builder->code = (builder->code ^ bytes[i]) * 0x100000001b3ull;
	builder->code = mix(builder->code);
	builder->last = *insn;
	builder->last_pc = builder->end;
	builder->insns[builder->nr++] = (size & INSN_SIZE) |
					(insn->may_stop ? INSN_MAY_STOP : 0) |
					(insn->divides ? INSN_DIVIDES : 0) |
					(insn->stack >= STACK_RECORD ? INSN_STACK : 0);
	builder->end += size;
}

static void set_next(struct block *block, const struct builder *builder)
{
	block->next[0] = block->next[1] = NOWHERE;
	switch (builder->last.flow) {
	case FLOW_NEXT:
		block->next[0] = block->end;
		break;
	case FLOW_BRANCH:
		block->next[0] = block->end;
		block->next[1] = builder->last.target;
		break;
	case FLOW_REPEAT:
		block->next[0] = block->end;
		block->next[1] = builder->last_pc;
		break;
	case FLOW_JUMP:
	case FLOW_CALL:
		block->next[0] = builder->last.target;
		break;
	default:
		break;
	}
}

static void place(struct blocks *blocks, uint32_t number)
{
	uint32_t at = blocks->all[number]->code & (blocks->nr_slots - 1);

	while (blocks->slots[at])
		at = (at + 1) & (blocks->nr_slots - 1);
	blocks->slots[at] = number + 1;
}

static void enlarge(struct blocks *blocks)
{
	uint32_t i;

	free(blocks->slots);
	blocks->nr_slots = blocks->nr_slots ? blocks->nr_slots * 2 : 16384;
	blocks->slots = must(calloc(blocks->nr_slots, sizeof(*blocks->slots)));
	for (i = 0; i < blocks->nr; i++)
		place(blocks, i);
}

static struct block *find(const struct blocks *blocks, const struct builder *builder)
{
	uint32_t at;

	for (at = builder->code & (blocks->nr_slots - 1); blocks->slots[at];
	     at = (at + 1) & (blocks->nr_slots - 1)) {
		struct block *block = blocks->all[blocks->slots[at] - 1];

		if (block->code == builder->code && block->pc == builder->pc &&
		    block->nr == builder->nr)
			return block;
	}
	return NULL;
}

struct block *builder_finish(struct builder *builder, struct blocks *blocks, enum entry entry)
{
	struct block *block;

	if (!blocks->nr_slots)
		enlarge(blocks);
	block = find(blocks, builder);
	if (block)
		return block;
	block = must(calloc(1, sizeof(*block) + builder->nr));
	block->pc = builder->pc;
	block->end = builder->end;
	block->code = builder->code;
	block->nr = builder->nr;
	block->exit = builder->last.flow;
	block->entry = entry;
	block->kernel = is_kernel(builder->pc);
	memcpy(block->insns, builder->insns, builder->nr);
	set_next(block, builder);
	blocks->all = grow(blocks->all, blocks->nr, &blocks->cap, sizeof(*blocks->all));
	block->id = blocks->nr;
	blocks->all[blocks->nr++] = block;
	if (blocks->nr * 2 > blocks->nr_slots)
		enlarge(blocks);
	else
		place(blocks, block->id);
	return block;
}

void blocks_free(struct blocks *blocks)
{
	uint32_t i;

	for (i = 0; i < blocks->nr; i++) {
		free(blocks->all[i]->sums);
		free(blocks->all[i]);
	}
	free(blocks->all);
	free(blocks->slots);
}

uint64_t block_address(const struct block *block, unsigned int index)
{
	uint64_t address = block->pc;
	unsigned int i;

	for (i = 0; i < index && i < block->nr; i++)
		address += block->insns[i] & INSN_SIZE;
	return address;
}
