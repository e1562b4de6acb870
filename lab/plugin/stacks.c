/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shadow stacks on x86-64, where calls push and returns pop; see stacks.h for the idea. Regions and
 * what concerns user space serve arm64 too, whose calls are in links.c.
 */
#include "links.h"
#include "stacks.h"
#include "util.h"

static uint32_t slot_of(const struct stacks *stacks, uint64_t base)
{
	return mix(base) & (stacks->nr_slots - 1);
}

static void place(struct stacks *stacks, struct region *region)
{
	uint32_t at = slot_of(stacks, region->base);

	while (stacks->slots[at])
		at = (at + 1) & (stacks->nr_slots - 1);
	stacks->slots[at] = region;
}

static void enlarge(struct stacks *stacks)
{
	struct region **old = stacks->slots;
	uint32_t i, nr_old = stacks->nr_slots;

	stacks->nr_slots = nr_old ? nr_old * 2 : 1024;
	stacks->slots = must(calloc(stacks->nr_slots, sizeof(*stacks->slots)));
	for (i = 0; i < nr_old; i++)
		if (old[i])
			place(stacks, old[i]);
	free(old);
}

/* The region that begins at `base`, made when it is new. */
static struct region *find(struct stacks *stacks, uint64_t base)
{
	struct region *region;
	uint32_t at;

	for (at = slot_of(stacks, base); stacks->slots[at];
	     at = (at + 1) & (stacks->nr_slots - 1))
		if (stacks->slots[at]->base == base)
			return stacks->slots[at];
	region = must(calloc(1, sizeof(*region)));
	region->base = base;
	region->parent = ROOT_UNKNOWN;
	if (++stacks->nr * 2 > stacks->nr_slots)
		enlarge(stacks);
	place(stacks, region);
	return region;
}

/* The region of a stack slot; user space has one per task whatever the address. */
struct region *region_of(struct stacks *stacks, uint64_t slot)
{
	struct region *current = stacks->current;

	if (!is_kernel(slot))
		return is_kernel(current->base) ? NULL : current;
	if (current->base == (slot & ~(stacks->size - 1)))
		return current;
	return find(stacks, slot & ~(stacks->size - 1));
}

void region_push(struct region *region, uint64_t slot, uint64_t address, enum node_kind kind)
{
	region->frames = grow(region->frames, region->nr, &region->cap, sizeof(*region->frames));
	region->frames[region->nr++] = (struct frame) {
		.slot = slot, .address = address, .kind = kind,
	};
}

void region_prune(struct region *region, uint64_t slot)
{
	while (region->nr && region->frames[region->nr - 1].slot <= slot)
		region->nr--;
}

void region_forget(struct region *region)
{
	region->parent = is_kernel(region->base) ? ROOT_UNKNOWN : ROOT_USER;
}

/*
 * The first use of the stack after an interrupt says on which stack it came: below its frame. The
 * stack pointer may have moved since the last call or return (end of a call on the interrupt
 * stack).
 */
static void settle(struct stacks *stacks, struct region *region, uint64_t slot)
{
	if (!stacks->floats)
		return;
	stacks->floats = false;
	stacks->current = region;
	region_prune(region, slot);
	region_push(region, slot + 8, stacks->floating, NODE_INTERRUPT);
}

/*
 * A call or push used `slot`. A region without frames continues the chain of the one before; had it
 * some until now, the stack pointer came back from there, and what called into it is not known.
 */
static void enter_region(struct stacks *stacks, struct region *region, uint64_t slot)
{
	bool used = region->nr;

	region_prune(region, slot);
	if (region == stacks->current)
		return;
	if (!region->nr && used)
		region_forget(region);
	else if (!region->nr)
		region->parent = stacks_node(stacks);
	stacks->current = region;
}

void stacks_init(struct stacks *stacks, struct nodes *nodes, uint64_t size, bool follow_user)
{
	*stacks = (struct stacks) {
		.nodes = nodes,
		.size = size,
		.follow_user = follow_user,
		/* Bases that no kernel stack has; the entry's must count as one of the kernel. */
		.entry = { .base = ~0ull, .parent = ROOT_UNKNOWN },
		.user = { .base = 1, .parent = ROOT_USER },
	};
	stacks->current = stacks->task = &stacks->entry;
	enlarge(stacks);
}

void stacks_free(struct stacks *stacks)
{
	uint32_t i;

	for (i = 0; i < stacks->nr_slots; i++) {
		if (!stacks->slots[i])
			continue;
		free(stacks->slots[i]->frames);
		free(stacks->slots[i]);
	}
	free(stacks->slots);
	free(stacks->suspended.slots);
	free(stacks->entry.frames);
	free(stacks->user.frames);
}

void stacks_call(struct stacks *stacks, uint64_t slot, uint64_t address)
{
	struct region *region = region_of(stacks, slot);

	if (!region)
		return;
	settle(stacks, region, slot);
	enter_region(stacks, region, slot);
	stacks->task = region;
	region_push(region, slot, address, NODE_CALL);
}

uint64_t stacks_return(struct stacks *stacks, uint64_t slot)
{
	struct region *region = region_of(stacks, slot);
	uint64_t address = 0;

	if (!region)
		return 0;
	settle(stacks, region, slot);
	region_prune(region, slot - 1);
	if (region->nr && region->frames[region->nr - 1].slot == slot)
		address = region->frames[--region->nr].address;
	else if (!region->nr)
		region_forget(region);
	stacks->current = stacks->task = region;
	return address;
}

void stacks_returned(struct stacks *stacks, uint64_t expected, uint64_t pc)
{
	struct region *region = stacks->current;
	const struct frame *top = region->nr ? &region->frames[region->nr - 1] : NULL;

	if (expected) {
		/* The stack of a task that is gone: nothing is known of the new one. */
		if (expected != pc && !top)
			region_forget(region);
	} else if (top && top->kind == NODE_CALL && top->address == pc) {
		region->nr--;
	}
}

void stacks_touch(struct stacks *stacks, uint64_t slot, bool pushed)
{
	struct region *region = region_of(stacks, slot);

	if (!region)
		return;
	settle(stacks, region, slot);
	if (pushed) {
		enter_region(stacks, region, slot);
		return;
	}
	region_prune(region, slot);
	if (region != stacks->current && !region->nr)
		region_forget(region);
	stacks->current = region;
}

void stacks_interrupt(struct stacks *stacks, uint64_t address)
{
	struct region *region = stacks->current;
	uint64_t top = region->nr ? region->frames[region->nr - 1].slot
				  : region->base + stacks->size;

	if (stacks->links) {
		links_interrupt(stacks, address);
		return;
	}
	/* Interrupted before its first use of the stack: below everything that is known. */
	settle(stacks, region, top - 16);
	stacks->floats = true;
	stacks->floating = address;
}

void stacks_enter(struct stacks *stacks, enum node_kind kind, uint64_t address)
{
	struct region *user = stacks->current;

	stacks->floats = false;
	stacks->entry.nr = 0;
	stacks->entry.parent = ROOT_USER;
	if (stacks->follow_user && !is_kernel(user->base)) {
		user->resume = kind == NODE_SYSCALL ? address : 0;
		stacks->entry.parent = nodes_child(stacks->nodes, stacks_node(stacks), kind,
						   address);
	}
	stacks->current = &stacks->entry;
}

void stacks_forget(struct stacks *stacks)
{
	stacks->floats = false;
	stacks->entry.nr = 0;
	stacks->entry.parent = ROOT_UNKNOWN;
	stacks->current = &stacks->entry;
}

bool stacks_resume(struct stacks *stacks, uint64_t *address)
{
	struct region *region = stacks->current;
	uint32_t nr;

	if (stacks->floats) {
		stacks->floats = false;
		*address = stacks->floating;
		return true;
	}
	for (nr = region->nr; nr; nr--) {
		if (region->frames[nr - 1].kind == NODE_INTERRUPT) {
			*address = region->frames[nr - 1].address;
			region->nr = nr - 1;
			return true;
		}
	}
	return false;
}

void stacks_user(struct stacks *stacks, uint64_t pc)
{
	struct region *user = &stacks->user, *task = stacks->task;

	stacks->floats = false;
	/* A task has nothing on its kernel stack while it is in user space. */
	if (is_kernel(stacks->current->base)) {
		stacks->current->nr = task->nr = 0;
		if (stacks->follow_user)
			user = find(stacks, task->base & ~(1ull << 63));
	} else {
		user = stacks->current;
	}
	/* Signal handlers, exec and new threads begin where nothing was interrupted. */
	if (user->resume && user->resume != pc)
		user->nr = 0;
	user->resume = 0;
	user->parent = ROOT_USER;
	stacks->current = user;
}

uint32_t stacks_node(struct stacks *stacks)
{
	struct region *region = stacks->current;
	uint32_t at = region->nr, node;

	while (at && !region->frames[at - 1].node)
		at--;
	node = at ? region->frames[at - 1].node : region->parent;
	for (; at < region->nr; at++) {
		struct frame *frame = &region->frames[at];

		node = nodes_child(stacks->nodes, node, frame->kind, frame->address);
		frame->node = node;
	}
	if (stacks->floats)
		node = nodes_child(stacks->nodes, node, NODE_INTERRUPT, stacks->floating);
	return node;
}
