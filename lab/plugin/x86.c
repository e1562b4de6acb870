/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Classifies x86-64 instructions for block.c; the contract is decode.h.
 *
 * The length is known, so only prefixes, opcode and ModRM are looked at. The list of instructions
 * that cannot stop half way names register operations only: what is not on it counts as able to
 * stop, which costs time and is never wrong. 16 and 32 bit code (firmware) is decoded wrongly and
 * does no harm, because nothing is measured there.
 */
#include "decode.h"

#define MARK_BASE 0x51a70000u

struct code {
	const uint8_t *op;	/* opcode, after prefixes, REX and the 0f escape */
	const uint8_t *end;
	uint8_t rex;
	bool repeats;		/* f2 or f3 */
	bool lock;
	bool escape;		/* 0f */
};

static struct code split(const uint8_t *bytes, size_t size)
{
	struct code code = { .op = bytes, .end = bytes + size };

	for (; code.op < code.end; code.op++) {
		switch (*code.op) {
		case 0xf2: case 0xf3:
			code.repeats = true;
			continue;
		case 0xf0:
			code.lock = true;
			continue;
		case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65: case 0x66: case 0x67:
			continue;
		}
		break;
	}
	if (code.op < code.end && (*code.op & 0xf0) == 0x40)
		code.rex = *code.op++;
	if (code.op < code.end && *code.op == 0x0f) {
		code.escape = true;
		code.op++;
	}
	return code;
}

static int32_t immediate(const uint8_t *at, size_t size)
{
	if (size == 1)
		return (int8_t)at[0];
	return (int32_t)(at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
			 (uint32_t)at[3] << 24);
}

/* The target of a relative jump whose displacement ends the instruction. */
static uint64_t relative(const struct code *code, uint64_t next, size_t size)
{
	if ((size_t)(code->end - code->op) < 1 + size)
		return 0;
	return next + (int64_t)immediate(code->op + 1, size);
}

/* One byte opcodes with ModRM whose register form only computes. */
static bool computes(uint8_t op, uint8_t reg)
{
	if (op < 0x40)
		return (op & 7) < 4;
	switch (op) {
	case 0x63: case 0x69: case 0x6b: case 0x80: case 0x81: case 0x83: case 0x84: case 0x85:
	case 0x86: case 0x87: case 0x88: case 0x89: case 0x8a: case 0x8b: case 0xc0: case 0xc1:
	case 0xc6: case 0xc7: case 0xd0: case 0xd1: case 0xd2: case 0xd3:
		return true;
	case 0xf6: case 0xf7:
		return reg < 6;
	case 0xfe: case 0xff:
		return reg < 2;
	}
	return false;
}

static bool computes_escaped(uint8_t op)
{
	if ((op & 0xf0) == 0x40 || (op & 0xf0) == 0x90)
		return true;
	switch (op) {
	case 0xa3: case 0xa4: case 0xa5: case 0xab: case 0xac: case 0xad: case 0xaf: case 0xb3:
	case 0xb6: case 0xb7: case 0xb8: case 0xba: case 0xbb: case 0xbc: case 0xbd: case 0xbe:
	case 0xbf: case 0xc0: case 0xc1:
		return true;
	}
	return false;
}

/* True if the instruction always completes: it touches neither memory nor the system. */
static bool completes(const struct code *code)
{
	uint8_t op = code->op[0];
	uint8_t modrm = code->op + 1 < code->end ? code->op[1] : 0;
	bool registers = code->op + 1 < code->end && modrm >> 6 == 3;

	if (code->lock)
		return false;
	if (code->escape)
		return op == 0x1f || (op == 0x1e && registers) || (op & 0xf8) == 0xc8 ||
		       (registers && computes_escaped(op));
	if (op < 0x40 && ((op & 7) == 4 || (op & 7) == 5))
		return true;
	if (op == 0x8d || op == 0x90 || op == 0x98 || op == 0x99 || op == 0xa8 || op == 0xa9 ||
	    (op & 0xf0) == 0xb0)
		return true;
	return registers && computes(op, modrm >> 3 & 7);
}

static void classify_escaped(struct insn *insn, const struct code *code, uint64_t next)
{
	uint8_t op = code->op[0];

	if ((op & 0xf0) == 0x80) {
		insn->flow = FLOW_BRANCH;
		insn->target = relative(code, next, 4);
	} else if (op == 0x05 || op == 0x34) {
		insn->flow = FLOW_SYSCALL;
	} else if (op == 0x07 || op == 0x35) {
		insn->flow = FLOW_LEAVE;
	} else if (op == 0x0b || op == 0xb9 || op == 0xff) {
		insn->flow = FLOW_TRAP;
	} else if (op == 0x1f && code->end - code->op == 6 && code->op[1] == 0x80) {
		uint32_t word = (uint32_t)immediate(code->op + 2, 4);

		if ((word & 0xffffff00u) == MARK_BASE)
			insn->mark = word & 0xff;
	}
}

static void classify_group5(struct insn *insn, uint8_t modrm)
{
	switch (modrm >> 3 & 7) {
	case 2: case 3:
		insn->flow = FLOW_CALL_ANY;
		break;
	case 4: case 5:
		insn->flow = FLOW_JUMP_ANY;
		break;
	case 6:
		insn->stack = STACK_PUSH;
		break;
	}
}

static void classify_flow(struct insn *insn, const struct code *code, uint64_t next)
{
	uint8_t op = code->op[0];

	if ((op & 0xf0) == 0x70 || (op >= 0xe0 && op <= 0xe3)) {
		insn->flow = FLOW_BRANCH;
		insn->target = relative(code, next, 1);
		return;
	}
	switch (op) {
	case 0xe8:
		/* The jump over a trap that retpolines and stack fillers make is no call. */
		insn->target = relative(code, next, 4);
		insn->flow = insn->target - next <= 16 ? FLOW_JUMP : FLOW_CALL;
		break;
	case 0xe9: case 0xeb:
		insn->flow = FLOW_JUMP;
		insn->target = relative(code, next, op == 0xe9 ? 4 : 1);
		break;
	case 0xc2: case 0xc3: case 0xca: case 0xcb:
		insn->flow = FLOW_RETURN;
		break;
	case 0xcf:
		insn->flow = FLOW_LEAVE;
		break;
	case 0xcc: case 0xcd: case 0xf1:
		insn->flow = FLOW_TRAP;
		break;
	case 0x6c: case 0x6d: case 0x6e: case 0x6f: case 0xa4: case 0xa5: case 0xa6: case 0xa7:
	case 0xaa: case 0xab: case 0xac: case 0xad: case 0xae: case 0xaf:
		if (code->repeats)
			insn->flow = FLOW_REPEAT;
		break;
	case 0xff:
		classify_group5(insn, code->op[1]);
		break;
	}
}

static enum stack_use stack_use(const struct code *code)
{
	uint8_t op = code->op[0];
	uint8_t modrm = code->op + 1 < code->end ? code->op[1] : 0;

	if (code->escape)
		return STACK_NONE;
	if (op == 0x5c && !(code->rex & 1))
		return STACK_LOAD;
	if (op == 0x8b && (modrm >> 3 & 7) == 4 && !(code->rex & 4))
		return STACK_LOAD;
	if (op == 0x89 && modrm >> 6 == 3 && (modrm & 7) == 4 && !(code->rex & 1))
		return STACK_LOAD;
	if ((op & 0xf8) == 0x50 || op == 0x68 || op == 0x6a || op == 0x9c)
		return STACK_PUSH;
	if ((op & 0xf8) == 0x58 || op == 0x9d || op == 0x8f)
		return STACK_POP;
	return STACK_NONE;
}

struct insn x86_decode(const uint8_t *bytes, size_t size, uint64_t pc)
{
	struct insn insn = { .flow = FLOW_NEXT, .may_stop = true, .mark = -1 };
	struct code code = split(bytes, size);

	if (code.op >= code.end)
		return insn;
	insn.stack = stack_use(&code);
	insn.may_stop = !completes(&code);
	if (code.escape) {
		classify_escaped(&insn, &code, pc + size);
		return insn;
	}
	if (code.op + 1 < code.end && (code.op[0] & 0xfe) == 0xf6)
		insn.divides = (code.op[1] >> 3 & 7) >= 6;
	if (code.op[0] != 0xff || code.op + 1 < code.end)
		classify_flow(&insn, &code, pc + size);
	return insn;
}

/*
 * Linux: [endbr64] push $vector; jmp -- a device interrupt
 *        [endbr64] clac or its nops; cld; push $-1; call error_entry -- exception or vector
 *        [endbr64] clac or its nops; cld; call error_entry -- exception with error code
 */
enum entry x86_entry(const uint8_t *bytes, size_t size, uint64_t pc)
{
	const uint8_t *at = bytes, *end = bytes + size;

	(void)pc;
	if (end - at >= 4 && at[0] == 0xf3 && at[1] == 0x0f && at[2] == 0x1e && at[3] == 0xfa)
		at += 4;
	if (end - at >= 3 && at[0] == 0x6a && (at[2] == 0xe9 || at[2] == 0xeb))
		return ENTRY_PLAIN;
	if (end - at >= 3 && ((at[0] == 0x0f && at[1] == 0x01 && at[2] == 0xca) ||
			      (at[0] == 0x90 && at[1] == 0x90 && at[2] == 0x90) ||
			      (at[0] == 0x0f && at[1] == 0x1f && at[2] == 0x00)))
		at += 3;
	if (end - at < 2 || at[0] != 0xfc)
		return ENTRY_NO;
	if (at[1] == 0x6a)
		return ENTRY_PLAIN;
	return at[1] == 0xe8 ? ENTRY_ERROR : ENTRY_NO;
}
