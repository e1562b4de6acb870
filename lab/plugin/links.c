/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shadow stacks on arm64, see links.h.
 *
 * Frames that are not on a stack yet travel: when the next record is stored on another stack than
 * the one before (interrupt stack, entry from user space, new task), they belong there.
 */
#include <string.h>

#include "links.h"
#include "util.h"

static struct frame *top_of(const struct region *region)
{
	return region->nr ? &region->frames[region->nr - 1] : NULL;
}

static bool is_link(const struct frame *frame)
{
	return frame && frame->kind == NODE_CALL && !frame->slot;
}

/* Of the first `nr` frames those that a record in `slot` leaves alive. */
static uint32_t nr_live(const struct region *region, uint32_t nr, uint64_t slot)
{
	uint32_t live = nr, at;

	for (at = nr; at; at--) {
		if (!region->frames[at - 1].slot)
			continue;
		if (region->frames[at - 1].slot > slot)
			break;
		live = at - 1;
	}
	return live;
}

/* Number of frames up to the last one that is on the stack. */
static uint32_t nr_stored(const struct region *region)
{
	uint32_t nr = region->nr;

	while (nr && !region->frames[nr - 1].slot)
		nr--;
	return nr;
}

static void place_task(struct suspended_tasks *tasks, struct suspended task)
{
	uint32_t at = mix(task.place) & (tasks->nr_slots - 1);

	while (tasks->slots[at].place)
		at = (at + 1) & (tasks->nr_slots - 1);
	tasks->slots[at] = task;
}

static void enlarge(struct suspended_tasks *tasks)
{
	struct suspended *old = tasks->slots;
	uint32_t i, nr_old = tasks->nr_slots;

	tasks->nr_slots = nr_old ? nr_old * 2 : 256;
	tasks->slots = must(calloc(tasks->nr_slots, sizeof(*tasks->slots)));
	for (i = 0; i < nr_old; i++)
		if (old[i].place)
			place_task(tasks, old[i]);
	free(old);
}

/* Where the task lives whose stack pointer is kept at `place`; NULL: not known. */
static struct region **region_of_task(struct suspended_tasks *tasks, uint64_t place)
{
	uint32_t at;

	if (++tasks->nr * 2 > tasks->nr_slots)
		enlarge(tasks);
	for (at = mix(place) & (tasks->nr_slots - 1); tasks->slots[at].place;
	     at = (at + 1) & (tasks->nr_slots - 1)) {
		if (tasks->slots[at].place == place) {
			tasks->nr--;
			return &tasks->slots[at].region;
		}
	}
	tasks->slots[at].place = place;
	return &tasks->slots[at].region;
}

void links_call(struct stacks *stacks, uint64_t address)
{
	region_push(stacks->current, 0, address, NODE_CALL);
}

void links_interrupt(struct stacks *stacks, uint64_t address)
{
	region_push(stacks->current, 0, address, NODE_INTERRUPT);
}

/*
 * The first return after the stack pointer of a task was loaded: into where that task was left, or
 * the task runs for the first time, on a stack that is not known yet.
 */
static uint64_t return_to_task(struct stacks *stacks, uint64_t pc)
{
	struct region **place = region_of_task(&stacks->suspended, stacks->continued);
	struct region *region = *place;
	struct frame *top = region ? top_of(region) : NULL;

	*place = NULL;
	stacks->continued = 0;
	if (!is_link(top) || (pc && pc != top->address)) {
		stacks_forget(stacks);
		stacks->task = stacks->current;
		return pc;
	}
	region->nr--;
	stacks->current = stacks->task = region;
	return top->address;
}

uint64_t links_return(struct stacks *stacks, uint64_t pc)
{
	struct region *region = stacks->current;
	struct frame *top = top_of(region);

	if (stacks->continued)
		return return_to_task(stacks, pc);
	if (is_link(top)) {
		region->nr--;
		return top->address;
	}
	/* The trampolines of the entry from user space jump by a return. */
	if (region == &stacks->entry)
		return pc;
	/* The address was kept elsewhere than in a frame record. */
	if (top && top->kind == NODE_CALL && top->address == pc) {
		region->nr--;
		return pc;
	}
	if (!top)
		region_forget(region);
	return 0;
}

bool links_keep(const struct stacks *stacks, uint64_t slot, bool store)
{
	const struct region *region = stacks->current;
	const struct frame *top = top_of(region);

	if (!top || region->base != (slot & ~(stacks->size - 1)))
		return false;
	if (!store)
		return top->slot == slot;
	return is_link(top) && (region->nr == 1 || !top[-1].slot || top[-1].slot > slot);
}

/*
 * The frames that are not on a stack yet, and what runs, are on this region. After an entry from
 * user space and in a new task its stack was empty, whatever was seen there before.
 */
static void move(struct stacks *stacks, struct region *region, uint64_t slot)
{
	struct region *from = stacks->current;
	uint32_t at = nr_stored(from), end = from->nr, parent;
	bool used;

	if (from == &stacks->entry)
		region->nr = 0;
	used = region->nr;
	from->nr = at;
	parent = stacks_node(stacks);
	region_prune(region, slot);
	if (!region->nr && used)
		region_forget(region);
	else if (!region->nr)
		region->parent = parent;
	for (; at < end; at++)
		region_push(region, 0, from->frames[at].address, from->frames[at].kind);
	stacks->current = region;
}

/* Removes frames that the stack pointer has left, from below those that are not on the stack. */
static void prune_below(struct region *region, uint64_t slot)
{
	uint32_t stored = nr_stored(region), live = nr_live(region, stored, slot);
	uint32_t i, loose = region->nr - stored;

	if (live == stored)
		return;
	memmove(&region->frames[live], &region->frames[stored], loose * sizeof(*region->frames));
	region->nr = live + loose;
	for (i = live; i < region->nr; i++)
		region->frames[i].node = 0;
}

void links_store(struct stacks *stacks, uint64_t slot)
{
	struct region *region = region_of(stacks, slot);

	if (!region)
		return;
	if (region == stacks->current)
		prune_below(region, slot);
	else
		move(stacks, region, slot);
	if (is_link(top_of(region)))
		top_of(region)->slot = slot;
	stacks->task = region;
}

bool links_load(struct stacks *stacks, uint64_t slot)
{
	struct region *region = region_of(stacks, slot);
	bool other = region != stacks->current;
	uint32_t at;

	if (!region)
		return true;
	stacks->current = stacks->task = region;
	for (at = region->nr; at && region->frames[at - 1].slot <= slot; at--) {
		if (region->frames[at - 1].slot == slot) {
			region->nr = at;
			region->frames[at - 1].slot = 0;
			return true;
		}
	}
	region->nr = nr_live(region, region->nr, slot);
	while (is_link(top_of(region)))
		region->nr--;
	if (other && !region->nr)
		region_forget(region);
	return false;
}

void links_suspend(struct stacks *stacks, uint64_t place)
{
	struct region *region = stacks->current;
	bool known = region != &stacks->entry && region != &stacks->user;

	*region_of_task(&stacks->suspended, place) = known ? region : NULL;
}

void links_continue(struct stacks *stacks, uint64_t place)
{
	stacks->continued = place;
}
