/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flow of control, see flow.h. The common case is decided in flow_block(); gap() sorts out
 * everything else.
 *
 * An exception leaves its instruction undone: it is not counted, because it runs again (QEMU's
 * instruction counter, and so the guest's TSC, does the same). An interrupt comes between two
 * instructions. Which of the two it was follows from the kernel's entry code (enum entry) and from
 * how far the block got.
 */
#include "flow.h"
#include "links.h"
#include "util.h"

void flow_init(struct flow *flow, uint64_t stack_size, bool follow_user)
{
	*flow = (struct flow) { .expect = 1 };
	nodes_init(&flow->nodes);
	stacks_init(&flow->stacks, &flow->nodes, stack_size, follow_user);
	flow->paths.nodes = &flow->nodes;
	flow->paths.blocks = &flow->blocks;
}

void flow_free(struct flow *flow)
{
	stacks_free(&flow->stacks);
	nodes_free(&flow->nodes);
	blocks_free(&flow->blocks);
	paths_free(&flow->paths);
}

/* Charges the block's instructions up to `end` that are not charged yet. */
static void charge(struct flow *flow, unsigned int end)
{
	if (end <= flow->charged)
		return;
	if (flow->paths.nr_active)
		paths_charge(&flow->paths, stacks_node(&flow->stacks), flow->block, flow->charged,
			     end);
	flow->charged = end;
}

/* True if the last instruction may go to an address that the code does not say. */
static bool goes_anywhere(const struct block *block)
{
	return block->exit == FLOW_JUMP_ANY || block->exit == FLOW_CALL_ANY ||
	       block->exit == FLOW_RETURN || block->exit == FLOW_TRAP;
}

/* Where the interrupted code continues; 0 when the code does not say. */
static uint64_t continues_at(const struct flow *flow, unsigned int done)
{
	const struct block *block = flow->block;

	if (done < block->nr)
		return block_address(block, done);
	switch (block->exit) {
	case FLOW_JUMP:
	case FLOW_CALL:
		return block->next[0];
	case FLOW_BRANCH:
	case FLOW_REPEAT:
		return block_address(block, block->nr - 1u);
	case FLOW_RETURN:
		return flow->expect == 1 ? 0 : flow->expect;
	case FLOW_JUMP_ANY:
	case FLOW_CALL_ANY:
		return 0;
	default:
		return block->end;
	}
}

/* True if the last started instruction, number `done`, was left undone by the exception. */
static bool faulted(const struct flow *flow, unsigned int done, const struct block *entry)
{
	uint8_t insn;

	if (!done || done <= flow->charged)
		return false;
	insn = flow->block->insns[done - 1];
	if (done < flow->block->nr)
		return entry->entry != ENTRY_PLAIN || insn & INSN_DIVIDES;
	return entry->entry == ENTRY_ERROR && insn & INSN_MAY_STOP;
}

/* An interrupt or exception, or the first step into the kernel at boot. */
static void enter(struct flow *flow, unsigned int done, struct block *to)
{
	bool undone = faulted(flow, done, to);

	charge(flow, done - undone);
	flow->stats.faulted += undone;
	if (!flow->block->kernel && to->entry == ENTRY_NO) {
		stacks_forget(&flow->stacks);
		return;
	}
	if (to->entry == ENTRY_NO) {
		flow->stats.unshaped++;
		to->entry = ENTRY_LEARNED;
	}
	if (flow->block->kernel) {
		flow->stats.interrupts++;
		stacks_interrupt(&flow->stacks, continues_at(flow, done - undone));
	} else {
		flow->stats.entries++;
		stacks_enter(&flow->stacks, NODE_INTERRUPT, continues_at(flow, done - undone));
	}
}

/* The end of an interrupt or system call. */
static void leave(struct flow *flow, struct block *to)
{
	uint64_t address;

	if (!to->kernel) {
		stacks_user(&flow->stacks, to->pc);
		return;
	}
	if (to->pc == flow->block->end)
		return;		/* a return to itself, which serialises */
	if (stacks_resume(&flow->stacks, &address)) {
		if (to->entry != ENTRY_NO) {
			flow->stats.interrupts++;
			stacks_interrupt(&flow->stacks, address);
		}
	} else if (to->entry != ENTRY_NO) {
		/* Went to user space and was interrupted before its first instruction. */
		flow->stats.entries++;
		stacks_user(&flow->stacks, 0);
		stacks_enter(&flow->stacks, NODE_INTERRUPT, 0);
	} else {
		flow->stats.lost++;
		stacks_forget(&flow->stacks);
	}
}

/* True if the step needs nothing but counting: QEMU repeated or continued an instruction. */
static bool repeats(struct flow *flow, unsigned int done, const struct block *to)
{
	unsigned int last = done ? done - 1 : 0;

	if (flow->block->exit == FLOW_REPEAT && done == flow->block->nr)
		return false;
	if (to->pc == block_address(flow->block, last)) {
		flow->stats.repeated++;
		charge(flow, last);
		return true;
	}
	if (done < flow->block->nr && to->pc == block_address(flow->block, done)) {
		flow->stats.resumed++;
		charge(flow, done);
		return true;
	}
	return false;
}

/* A step that the code of the last block does not announce. */
static void gap(struct flow *flow, unsigned int done, struct block *to)
{
	const struct block *block = flow->block;
	bool whole = done == block->nr;

	if (whole && goes_anywhere(block) && to->entry == ENTRY_NO) {
		charge(flow, done);
		if (block->exit == FLOW_RETURN) {
			flow->stats.mismatched += flow->expect != 1;
			if (!flow->stacks.links)
				stacks_returned(&flow->stacks,
						flow->expect == 1 ? 0 : flow->expect, to->pc);
		}
		return;
	}
	if (whole && block->exit == FLOW_SYSCALL && to->kernel) {
		charge(flow, done);
		flow->stats.entries++;
		stacks_enter(&flow->stacks, NODE_SYSCALL, block->end);
		return;
	}
	if (whole && block->exit == FLOW_LEAVE && block->kernel) {
		charge(flow, done);
		leave(flow, to);
		return;
	}
	if (repeats(flow, done, to))
		return;
	if (to->kernel) {
		enter(flow, done, to);
		return;
	}
	charge(flow, done);
	if (block->kernel)
		stacks_user(&flow->stacks, to->pc);
}

/* Where calls and returns touch no memory, what they did is known when they are left. */
static void follow_link(struct flow *flow, const struct block *to)
{
	const struct block *block = flow->block;
	uint64_t address;

	if (!block->kernel && !flow->stacks.follow_user)
		return;
	if (block->exit == FLOW_CALL || block->exit == FLOW_CALL_ANY) {
		charge(flow, block->nr);
		links_call(&flow->stacks, block->end);
	} else if (block->exit == FLOW_RETURN) {
		charge(flow, block->nr);
		address = links_return(&flow->stacks, to->entry == ENTRY_NO ? to->pc : 0);
		if (address)
			flow->expect = address;
		else
			flow->stats.unmatched++;
	}
}

void flow_block(struct flow *flow, struct block *to)
{
	const struct block *block = flow->block;
	uint64_t done = *flow->started - flow->base;

	flow->base = *flow->started;
	if (block) {
		if (done == block->nr && flow->stacks.links)
			follow_link(flow, to);
		if (done == block->nr &&
		    (to->pc == block->next[0] || to->pc == block->next[1] ||
		     to->pc == flow->expect))
			charge(flow, done);
		else
			gap(flow, done, to);
	} else if (to->kernel) {
		stacks_forget(&flow->stacks);
	} else {
		stacks_user(&flow->stacks, to->pc);
	}
	flow->block = to;
	flow->charged = 0;
	flow->accessed = 0;
	flow->touched = false;
	flow->expect = 1;
}

/* True if instruction `index` of `block` is the one that runs. */
static bool runs(const struct flow *flow, const struct block *block, unsigned int index)
{
	return flow->block == block && *flow->started - flow->base == index + 1u &&
	       flow->charged <= index;
}

void flow_call(struct flow *flow, const struct block *block, uint64_t slot)
{
	if (!runs(flow, block, block->nr - 1u))
		return;
	charge(flow, block->nr);
	stacks_call(&flow->stacks, slot, block->end);
}

void flow_return(struct flow *flow, const struct block *block, uint64_t slot)
{
	uint64_t address;

	if (!runs(flow, block, block->nr - 1u))
		return;
	charge(flow, block->nr);
	address = stacks_return(&flow->stacks, slot);
	if (address)
		flow->expect = address;
	else
		flow->stats.unmatched++;
}

void flow_touch(struct flow *flow, const struct block *block, uint64_t slot, bool push)
{
	if (flow->touched || !runs(flow, block, block->touch))
		return;
	flow->touched = true;
	charge(flow, block->touch);
	stacks_touch(&flow->stacks, slot, push);
}

void flow_access(struct flow *flow, const struct block *block, uint64_t address, bool store,
		 bool task)
{
	uint64_t index = *flow->started - flow->base - 1;

	if (block != flow->block || index >= block->nr || !(block->insns[index] & INSN_STACK) ||
	    flow->accessed == index + 1)
		return;
	flow->accessed = index + 1;
	/* Charging what the chain stays the same for would only make the log longer. */
	if (task || !links_keep(&flow->stacks, address, store))
		charge(flow, index);
	if (task && store)
		links_suspend(&flow->stacks, address);
	else if (task)
		links_continue(&flow->stacks, address);
	else if (store)
		links_store(&flow->stacks, address);
	else if (!links_load(&flow->stacks, address))
		flow->stats.unmatched++;
}

void flow_mark(struct flow *flow, unsigned int index, int id)
{
	charge(flow, index);
	paths_mark(&flow->paths, id);
	flow->charged = index;
}
