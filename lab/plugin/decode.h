/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one instruction means for the flow of control: the contract between the decoders
 * (x86.c, arm64.c) and the builder of blocks (block.c).
 *
 * QEMU knows the length of every instruction, so a decoder only classifies it. When in doubt it
 * says FLOW_NEXT and `may_stop`: an unknown instruction is then counted with the exact method.
 */
#ifndef IRQPATH_DECODE_H
#define IRQPATH_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the processor goes after an instruction that completes. */
enum flow_kind {
	FLOW_NEXT,		/* the next instruction */
	FLOW_BRANCH,		/* the next instruction or `target` */
	FLOW_JUMP,		/* `target` */
	FLOW_JUMP_ANY,		/* an address that is only known at run time */
	FLOW_CALL,		/* `target`, a return address is kept */
	FLOW_CALL_ANY,		/* a run time address, a return address is kept */
	FLOW_RETURN,		/* the return address that was kept */
	FLOW_REPEAT,		/* itself or the next instruction (string instructions) */
	FLOW_TRAP,		/* an exception that it raises on purpose */
	FLOW_SYSCALL,		/* the kernel's system call entry */
	FLOW_LEAVE,		/* back to what an exception or system call interrupted */
};

/* How an instruction uses the stack beside calls and returns. */
enum stack_use {
	STACK_NONE,
	STACK_PUSH,		/* stores at the new stack pointer */
	STACK_POP,		/* loads from the stack pointer */
	STACK_LOAD,		/* makes the stack pointer point to another stack */
	STACK_RECORD,		/* arm64: stores the frame record (x29, x30) */
	STACK_UNRECORD,		/* arm64: loads the frame record */
	STACK_SUSPEND,		/* arm64: keeps the stack pointer of the task that runs */
	STACK_CONTINUE,		/* arm64: loads that of another task */
};

struct insn {
	uint64_t target;	/* of FLOW_BRANCH, FLOW_JUMP and FLOW_CALL */
	enum flow_kind flow;
	enum stack_use stack;
	/* It may be left half way, by an exception or for QEMU to repeat it. */
	bool may_stop;
	/* It may raise an exception that pushes no error code (division). */
	bool divides;
	/* The mark's id, or -1. */
	int mark;
};

typedef struct insn (*decode_fn)(const uint8_t *bytes, size_t size, uint64_t pc);

/*
 * What the address and the first bytes of a block say about exception entries. The kernel's entry
 * code has a shape that no function has.
 */
enum entry {
	ENTRY_NO,
	ENTRY_PLAIN,		/* no error code: interrupts, and exceptions such as #UD */
	ENTRY_ERROR,		/* with error code: page fault, #GP: the instruction did not complete */
	ENTRY_LEARNED,		/* seen to be one, of unknown shape */
};

typedef enum entry (*entry_fn)(const uint8_t *bytes, size_t size, uint64_t pc);

struct insn x86_decode(const uint8_t *bytes, size_t size, uint64_t pc);
enum entry x86_entry(const uint8_t *bytes, size_t size, uint64_t pc);
struct insn arm64_decode(const uint8_t *bytes, size_t size, uint64_t pc);
enum entry arm64_entry(const uint8_t *bytes, size_t size, uint64_t pc);

#endif
