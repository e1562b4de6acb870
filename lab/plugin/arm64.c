/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Classifies A64 instructions for block.c and recognises the exception vectors of the arm64
 * kernel; the contract is decode.h.
 *
 * Encodings: Arm Architecture Reference Manual, "A64 instruction set encoding". An instruction
 * that raises an exception on purpose is counted by QEMU, so BRK and its like never "stop half
 * way" here. 32 bit programs (A32, T32) are decoded wrongly and do no harm: no call is followed.
 */
#include "decode.h"

#define MARK_BASE 0x5a00u
#define FP 29u
#define LR 30u
#define SP 31u

#define SUB_SP_SP_IMM 0xd10003ffu	/* sub sp, sp, #imm */
#define ADD_SP_SP_X0 0x8b2063ffu	/* add sp, sp, x0 */
#define B_OVER_TWO 0x14000003u		/* b . + 12 */
#define MSR_TPIDRRO_LR 0xd51bd07eu	/* msr tpidrro_el0, x30 */
#define BL_OVER_ONE 0x94000002u		/* bl . + 8 */

static uint32_t word_of(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* `pc` plus the signed number of words in `bits` bits of `word` from bit `from` on. */
static uint64_t relative(uint64_t pc, uint32_t word, unsigned int from, unsigned int bits)
{
	int32_t words = (int32_t)(word << (32 - from - bits)) >> (32 - bits);

	return pc + (int64_t)words * 4;
}

/* Computes with registers, immediates or the program counter only, or is a hint such as NOP. */
static bool completes(uint32_t word)
{
	uint32_t group = word >> 25 & 0xf;

	return (group & 0xe) == 0x8 || (group & 0x7) == 0x5 || (word & 0xfffff01fu) == 0xd503201fu;
}

/* BR, BLR, RET, ERET and their forms that authenticate the address. */
static enum flow_kind register_branch(uint32_t word)
{
	switch (word >> 21 & 7) {
	case 0:
		return FLOW_JUMP_ANY;
	case 1:
		return FLOW_CALL_ANY;
	case 2:
		return FLOW_RETURN;
	case 4:
		return FLOW_LEAVE;
	}
	return FLOW_NEXT;
}

static void classify_branch(struct insn *insn, uint32_t word, uint64_t pc)
{
	insn->may_stop = false;
	if ((word & 0x7c000000u) == 0x14000000u) {
		insn->flow = word >> 31 ? FLOW_CALL : FLOW_JUMP;
		insn->target = relative(pc, word, 0, 26);
	} else if ((word & 0xff000000u) == 0x54000000u || (word & 0x7e000000u) == 0x34000000u) {
		insn->flow = FLOW_BRANCH;
		insn->target = relative(pc, word, 5, 19);
	} else if ((word & 0x7e000000u) == 0x36000000u) {
		insn->flow = FLOW_BRANCH;
		insn->target = relative(pc, word, 5, 14);
	} else if ((word & 0xfe1f0000u) == 0xd61f0000u) {
		insn->flow = register_branch(word);
	} else if ((word & 0xffe0001fu) == 0xd4000001u) {
		insn->flow = FLOW_SYSCALL;
	} else if ((word & 0xff20001fu) == 0xd4200000u) {
		insn->flow = FLOW_TRAP;		/* BRK */
	} else {
		insn->may_stop = !completes(word);
	}
}

/*
 * Pairs of 64 bit registers. Compilers store the frame pointer relative to the stack pointer and
 * together with the return address only. With another register and elsewhere it is the stack
 * pointer of a task that cpu_switch_to() leaves, or of the one that it continues.
 */
static enum stack_use stack_use(uint32_t word)
{
	bool load = word >> 22 & 1;
	uint32_t second = word >> 10 & 31, base = word >> 5 & 31;

	if ((word & 0xfe00001fu) != (0xa8000000u | FP))
		return STACK_NONE;
	if (base == SP && second == LR)
		return load ? STACK_UNRECORD : STACK_RECORD;
	if (base != SP && second != LR)
		return load ? STACK_CONTINUE : STACK_SUSPEND;
	return STACK_NONE;
}

struct insn arm64_decode(const uint8_t *bytes, size_t size, uint64_t pc)
{
	struct insn insn = { .flow = FLOW_NEXT, .may_stop = true, .mark = -1 };
	uint32_t word;

	if (size != 4)
		return insn;
	word = word_of(bytes);
	if ((word >> 26 & 7) == 5) {
		classify_branch(&insn, word, pc);
		return insn;
	}
	if (word >> 16 == 0) {
		insn.flow = FLOW_TRAP;		/* UDF */
		insn.may_stop = false;
		return insn;
	}
	insn.may_stop = !completes(word);
	insn.stack = stack_use(word);
	if ((word & 0xffe0001fu) == 0xd280001fu && (word >> 5 & 0xff00) == MARK_BASE)
		insn.mark = word >> 5 & 0xff;
	return insn;
}

/*
 * Vectors are 2 KiB, in them 16 entries of 128 bytes: four each for the kernel with the stack
 * pointer of user space, the kernel, 64 bit and 32 bit user space; of four the first is for what an
 * instruction did, the others come between two. Linux begins
 *	from the kernel		sub sp, sp, #size; add sp, sp, x0 -- or without VMAP_STACK: b entry
 *	from user space		b . + 12, the trampolines: msr tpidrro_el0, x30 or bl . + 8
 */
enum entry arm64_entry(const uint8_t *bytes, size_t size, uint64_t pc)
{
	uint32_t first, second;
	bool entry;

	if (pc & 127 || size < 8)
		return ENTRY_NO;
	first = word_of(bytes);
	second = word_of(bytes + 4);
	if (pc & 1024)
		entry = first == B_OVER_TWO || first == MSR_TPIDRRO_LR || first == BL_OVER_ONE;
	else
		entry = (first & 0xffc003ffu) == SUB_SP_SP_IMM &&
			(second == ADD_SP_SP_X0 || second >> 26 == 5);
	if (!entry)
		return ENTRY_NO;
	return pc >> 7 & 3 ? ENTRY_PLAIN : ENTRY_ERROR;
}
