/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shadow stacks: who called whom, on every stack of the guest, from nothing but the addresses of
 * the memory that calls and returns touch.
 *
 * A region is one aligned piece of memory that holds one kernel stack. Its frames are in the order
 * of their slots (the address of the return address), top of the stack last; a frame whose slot
 * lies at or below a new one is dead. That is what keeps the frames right when a task never
 * returns (exit, longjmp). A region that was entered by a call from another one (interrupt stack,
 * entry from user space) continues that one's chain; a region that was switched to continues its
 * own. What was never seen is the root ROOT_UNKNOWN, never a guess.
 *
 * flow.c decides what happened, this file only keeps the frames. No QEMU here: tested natively.
 */
#ifndef IRQPATH_STACKS_H
#define IRQPATH_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "nodes.h"

struct frame {
	uint64_t slot;		/* where the return address lies; interrupts: not above it; 0: links.h */
	uint64_t address;	/* the return address; interrupts: what was interrupted */
	uint32_t node;		/* chain up to and including this frame, 0: not looked up yet */
	uint8_t kind;		/* enum node_kind */
};

struct region {
	uint64_t base;
	struct frame *frames;
	uint32_t nr, cap;
	uint32_t parent;	/* chain below the first frame */
	uint64_t resume;	/* user space: where it continues after a system call, 0: anywhere */
};

/* Where the task lives whose stack pointer the kernel keeps at `place`, see links.h. */
struct suspended {
	uint64_t place;		/* 0: free */
	struct region *region;	/* NULL: not known */
};

struct suspended_tasks {
	struct suspended *slots;	/* hash table */
	uint32_t nr, nr_slots;
};

struct stacks {
	struct nodes *nodes;
	struct region *current;
	struct region *task;	/* where the last call or return was: the stack of the task */
	struct region entry;	/* between the entry from user space and the first stack access */
	struct region user;	/* user space, when its calls are not followed */
	struct region **slots;	/* hash table of all regions */
	uint32_t nr, nr_slots;
	uint64_t size;		/* of a kernel stack, a power of two */
	bool follow_user;
	bool floats;		/* an interrupt came, and has not used the stack yet */
	uint64_t floating;	/* what it interrupted */
	bool links;		/* calls keep their return address in a register: arm64 */
	uint64_t continued;	/* place of the task that was switched to and has not returned yet */
	struct suspended_tasks suspended;
};

void stacks_init(struct stacks *stacks, struct nodes *nodes, uint64_t size, bool follow_user);
void stacks_free(struct stacks *stacks);

/* A call stored its return address in `slot`. */
void stacks_call(struct stacks *stacks, uint64_t slot, uint64_t address);

/* A return loaded its address from `slot`; the address that was stored there, 0: not known. */
uint64_t stacks_return(struct stacks *stacks, uint64_t slot);

/*
 * Where a return went: `expected` is what stacks_return() said, 0 if it did not know. Tells the
 * first return on a reused stack, and a return address that was moved before it was used.
 */
void stacks_returned(struct stacks *stacks, uint64_t expected, uint64_t pc);

/* A push or pop after the stack pointer was loaded: says which stack that is. */
void stacks_touch(struct stacks *stacks, uint64_t slot, bool push);

/* An interrupt or exception in the kernel; `address` is where it continues, 0: not known. */
void stacks_interrupt(struct stacks *stacks, uint64_t address);

/* The kernel was entered from user space. */
void stacks_enter(struct stacks *stacks, enum node_kind kind, uint64_t address);

/* The kernel was reached in a way that says nothing about who called it (boot). */
void stacks_forget(struct stacks *stacks);

/*
 * The end of an interrupt that came in the kernel, at `address`; false: it came from somewhere
 * else.
 */
bool stacks_resume(struct stacks *stacks, uint64_t *address);

/* Back in user space, at `pc`. */
void stacks_user(struct stacks *stacks, uint64_t pc);

/* The chain of whatever runs now. */
uint32_t stacks_node(struct stacks *stacks);

/* The parts that links.c shares: the region of a stack slot, NULL if it says nothing. */
struct region *region_of(struct stacks *stacks, uint64_t slot);
void region_push(struct region *region, uint64_t slot, uint64_t address, enum node_kind kind);
/* Removes the frames that the stack pointer has left: those at or below `slot`. */
void region_prune(struct region *region, uint64_t slot);
/* Nothing is known of what called into the region. */
void region_forget(struct region *region);

#endif
