/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU TCG plugin: counts every instruction of a path per call chain.
 *
 *   -plugin flame.so,out=FILE,path=2-4[,path=1-6]...[,stack=16384][,user=on]
 *
 * `path` is a pair of marks (kernel/module/intsight/intsight_mark.h), `stack` the size of a kernel
 * stack, `user=on` follows calls in user space too. One virtual CPU; the guest notices nothing.
 *
 * This file only connects QEMU to flow.c: it describes each block when QEMU translates it and asks
 * to be called where flow.c must know something: at the start of a block, at marks, and at the
 * memory access of calls and returns (x86-64) or of frame records (arm64).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "flow.h"
#include "output.h"
#include "qemu_api.h"
#include "util.h"

#define MAX_INSNS 1024
#define NR_TOUCH 256
#define MAX_INSN_BYTES 16

QEMU_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static struct flow flow;
static counter_t started;
static const char *out_name;
static decode_fn decode;
static entry_fn entry_shape;
static enum arch arch;

/* Blocks that follow one in which the stack pointer was loaded, overwritten in turn. */
static uint64_t touch[NR_TOUCH];

static void on_block(unsigned int cpu, void *data)
{
	(void)cpu;
	flow_block(&flow, data);
}

static void on_call(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data)
{
	(void)cpu;
	if (qemu_plugin_mem_is_store(info))
		flow_call(&flow, data, vaddr);
}

static void on_return(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data)
{
	(void)cpu;
	if (!qemu_plugin_mem_is_store(info))
		flow_return(&flow, data, vaddr);
}

static void on_push(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data)
{
	(void)cpu;
	if (qemu_plugin_mem_is_store(info))
		flow_touch(&flow, data, vaddr, true);
}

static void on_pop(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data)
{
	(void)cpu;
	if (!qemu_plugin_mem_is_store(info))
		flow_touch(&flow, data, vaddr, false);
}

static void on_record(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data)
{
	(void)cpu;
	flow_access(&flow, data, vaddr, qemu_plugin_mem_is_store(info), false);
}

static void on_task(unsigned int cpu, uint32_t info, uint64_t vaddr, void *data)
{
	(void)cpu;
	flow_access(&flow, data, vaddr, qemu_plugin_mem_is_store(info), true);
}

static void on_mark(unsigned int cpu, void *data)
{
	(void)cpu;
	flow_mark(&flow, (uintptr_t)data >> 8, (uintptr_t)data & 0xff);
}

static void on_idle(void)
{
	paths_idle(&flow.paths);
}

/* True if the stack pointer was loaded just before the block at `pc`. */
static bool is_touched(uint64_t pc)
{
	return touch[mix(pc) % NR_TOUCH] == pc;
}

static void touch_next(const struct block *block)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (is_kernel(block->next[i]))
			touch[mix(block->next[i]) % NR_TOUCH] = block->next[i];
}

/*
 * Asks for the memory accesses of an instruction. Loads and stores, and the callback sorts them
 * out: QEMU 7.2 confuses the two when only one of them is wanted.
 */
static void watch(struct qemu_plugin_insn *insn, qemu_mem_cb callback, struct block *block)
{
	qemu_plugin_register_vcpu_mem_cb(insn, callback, QEMU_PLUGIN_CB_NO_REGS,
					 QEMU_PLUGIN_MEM_RW, block);
}

static void watch_flow(struct qemu_plugin_insn *insn, const struct insn *what,
		       struct block *block)
{
	if (what->stack == STACK_RECORD || what->stack == STACK_UNRECORD)
		watch(insn, on_record, block);
	else if (block->kernel &&
		 (what->stack == STACK_SUSPEND || what->stack == STACK_CONTINUE))
		watch(insn, on_task, block);
	if (flow.stacks.links)
		return;
	if (what->flow == FLOW_CALL || what->flow == FLOW_CALL_ANY)
		watch(insn, on_call, block);
	else if (what->flow == FLOW_RETURN)
		watch(insn, on_return, block);
}

/* Watches the first push or pop after the stack pointer was loaded; true if this is one. */
static bool watch_stack(struct qemu_plugin_insn *insn, const struct insn *what,
			struct block *block, unsigned int index)
{
	if (what->stack != STACK_PUSH && what->stack != STACK_POP)
		return false;
	block->touch = index;
	watch(insn, what->stack == STACK_PUSH ? on_push : on_pop, block);
	return true;
}

/* What the entry code's first bytes say; reads on behind the block, inside its page. */
static enum entry entry_of(const struct qemu_plugin_tb *tb, uint64_t pc)
{
	const uint8_t *code = qemu_plugin_insn_haddr(qemu_plugin_tb_get_insn(tb, 0));
	size_t left = 4096 - (pc & 4095);

	if (!is_kernel(pc) || !code)
		return ENTRY_NO;
	return entry_shape(code, left, pc);
}

static struct block *describe(struct qemu_plugin_tb *tb, struct insn *insns, size_t nr)
{
	static struct builder builder;
	uint64_t pc = qemu_plugin_tb_vaddr(tb);
	size_t i;

	builder_start(&builder, pc);
	for (i = 0; i < nr; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		uint8_t room[MAX_INSN_BYTES];
		const void *bytes = insn_bytes(insn, room, sizeof(room));
		size_t size = qemu_plugin_insn_size(insn);

		insns[i] = decode(bytes, size, builder.end);
		builder_add(&builder, &insns[i], bytes, size);
	}
	return builder_finish(&builder, &flow.blocks, entry_of(tb, pc));
}

/*
 * True if instruction `i` must advance the count: it may stop half way or ends the block. QEMU may
 * show an instruction more than it runs, cut off, when that goes on in the next page and begins a
 * block of its own; so the one before an instruction near the end of a page may be the last too.
 */
static bool advances(const struct block *block, const struct insn *insns, size_t i)
{
	return insns[i].may_stop || i + 1u == block->nr ||
	       (i + 2u == block->nr && (block_address(block, block->nr - 1u) & 4095) > 4096 - 16);
}

static void on_translate(struct qemu_plugin_tb *tb)
{
	static struct insn insns[MAX_INSNS];
	size_t i, nr = qemu_plugin_tb_n_insns(tb), pending = 0;
	bool loaded = is_touched(qemu_plugin_tb_vaddr(tb));
	struct block *block = describe(tb, insns, nr);

	/* The virtual CPU exists by now. */
	flow.started = counter_place(started);
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
	for (i = 0; i < nr; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		pending++;
		if (advances(block, insns, i)) {
			counter_advance(started, insn, pending);
			pending = 0;
		}
		if (insns[i].mark >= 0 && paths_use_mark(&flow.paths, insns[i].mark))
			qemu_plugin_register_vcpu_insn_exec_cb(
				insn, on_mark, QEMU_PLUGIN_CB_NO_REGS,
				(void *)(uintptr_t)(i << 8 | insns[i].mark));
		if (!block->kernel && !flow.stacks.follow_user)
			continue;
		watch_flow(insn, &insns[i], block);
		if (loaded && watch_stack(insn, &insns[i], block, i))
			loaded = false;
		if (insns[i].stack == STACK_LOAD)
			loaded = true;
	}
	if (loaded && block->kernel)
		touch_next(block);
}

static void on_quit(void)
{
	if (output_write(&flow, arch, out_name))
		fprintf(stderr, "flame plugin: cannot write %s: %s\n", out_name, strerror(errno));
}

static int refuse(const char *what, const char *argument)
{
	fprintf(stderr, "flame plugin: %s%s%s\n", what, *argument ? ": " : "", argument);
	return -1;
}

static int parse(int argc, char **argv)
{
	uint64_t stack = 16384;
	bool user = false;
	int i;

	flow_init(&flow, stack, user);
	for (i = 0; i < argc; i++) {
		const char *value = strchr(argv[i], '=');
		size_t name = value ? (size_t)(value++ - argv[i]) : 0;

		if (name == 3 && !strncmp(argv[i], "out", 3))
			out_name = strdup(value);
		else if (name == 4 && !strncmp(argv[i], "path", 4)) {
			if (!paths_add(&flow.paths, value))
				return refuse("not a path of two marks, or more than 8", argv[i]);
		} else if (name == 5 && !strncmp(argv[i], "stack", 5))
			flow.stacks.size = strtoull(value, NULL, 10);
		else if (name == 4 && !strncmp(argv[i], "user", 4))
			flow.stacks.follow_user = !strcmp(value, "on");
		else
			return refuse("unknown argument", argv[i]);
	}
	if (flow.stacks.size & (flow.stacks.size - 1) || flow.stacks.size < 4096)
		return refuse("the stack size is not a power of two", "");
	if (!out_name || !flow.paths.nr)
		return refuse("out=FILE and path=FROM-TO are needed", "");
	return 0;
}

QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
				    char **argv)
{
	if (!info->system_emulation || info->system.smp_vcpus != 1)
		return refuse("needs a system with one virtual CPU", "");
	if (!strcmp(info->target_name, "x86_64")) {
		arch = ARCH_X86_64;
		decode = x86_decode;
		entry_shape = x86_entry;
	} else if (!strcmp(info->target_name, "aarch64")) {
		arch = ARCH_ARM64;
		decode = arm64_decode;
		entry_shape = arm64_entry;
	} else {
		return refuse("no decoder for this processor", info->target_name);
	}
	if (parse(argc, argv))
		return -1;
	flow.stacks.links = arch == ARCH_ARM64;
	started = counter_new();
	plugin_register(id, (struct plugin){
		.translated = on_translate,
		.idle = on_idle,
		.quit = on_quit,
	});
	return 0;
}
