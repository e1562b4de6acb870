/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shadow stacks on arm64, where a call keeps its return address in a register; stacks.h has the
 * regions and frames, this file what changes them there.
 *
 * A frame whose slot is 0 is not on a stack: a call whose return address is still (or again) in the
 * link register, or an interrupt. Storing the frame record (x29, x30) gives the last call its slot
 * and says which stack it is on; loading the record takes it back into the register. Functions that
 * call nothing never store it. Tasks are told apart by where the kernel keeps their stack pointer
 * while they do not run.
 */
#ifndef IRQPATH_LINKS_H
#define IRQPATH_LINKS_H

#include "stacks.h"

/* A call; `address` is behind it. */
void links_call(struct stacks *stacks, uint64_t address);

/*
 * A return, to `pc` (0: an interrupt came before its first instruction). Where it should go; 0:
 * its call was not seen.
 */
uint64_t links_return(struct stacks *stacks, uint64_t pc);

/* An interrupt or exception in the kernel; the part of stacks_interrupt() for arm64. */
void links_interrupt(struct stacks *stacks, uint64_t address);

/* True if storing or loading the record in `slot` leaves the chain as it is: the usual case. */
bool links_keep(const struct stacks *stacks, uint64_t slot, bool store);

/* The frame record was stored in `slot`, or loaded; false: its call was not seen. */
void links_store(struct stacks *stacks, uint64_t slot);
bool links_load(struct stacks *stacks, uint64_t slot);

/*
 * The stack pointer of the task that ran was kept at `place`; that of another was loaded from
 * there, which runs from the next return on.
 */
void links_suspend(struct stacks *stacks, uint64_t place);
void links_continue(struct stacks *stacks, uint64_t place);

#endif
