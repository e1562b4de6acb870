/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU TCG plugin: how many instructions a virtual CPU executes from one mark to another.
 *
 *   -plugin count.so,out=FILE,path=16-17
 *
 * For guests with several virtual CPUs, each of which has a thread of the host: what the others
 * execute and what the host does meanwhile is not counted, what the kernel and other tasks execute
 * on the same virtual CPU is. FILE gets one line for each instance, in their order: its length, and
 * how much of that was in user space.
 *
 * It counts blocks: one that an exception leaves half way, or that the end of a page cuts an
 * instruction off, counts as a whole. Interrupts arrive between blocks. A count that is exact in
 * such cases, as flame.c has, cannot be had of each virtual CPU by itself in QEMU 7.2.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../decode.h"
#include "../qemu_api.h"
#include "../util.h"

#define MAX_CPUS 64
#define CACHE_LINE 64
#define MAX_INSN_BYTES 16

QEMU_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* Each is written by the thread of its virtual CPU alone. */
static struct cpu {
	struct executed {
		uint64_t all, user;
	} executed, from;	/* with all of the block that runs; before the first mark */
	bool on_path;
} __attribute__((aligned(CACHE_LINE))) cpus[MAX_CPUS];

static decode_fn decode;
static FILE *out;
static int from_mark = -1, to_mark = -1;

static void on_kernel_block(unsigned int cpu, void *nr)
{
	cpus[cpu].executed.all += (uintptr_t)nr;
}

static void on_user_block(unsigned int cpu, void *nr)
{
	cpus[cpu].executed.all += (uintptr_t)nr;
	cpus[cpu].executed.user += (uintptr_t)nr;
}

/* Marks are in user space. `rest` is what follows in the block, the mark itself with it. */
static struct executed before(const struct cpu *cpu, void *rest)
{
	return (struct executed){
		.all = cpu->executed.all - (uintptr_t)rest,
		.user = cpu->executed.user - (uintptr_t)rest,
	};
}

static void on_from(unsigned int cpu, void *rest)
{
	cpus[cpu].from = before(&cpus[cpu], rest);
	cpus[cpu].on_path = true;
}

static void on_to(unsigned int cpu, void *rest)
{
	struct executed to = before(&cpus[cpu], rest), from = cpus[cpu].from;

	if (cpus[cpu].on_path)
		fprintf(out, "%llu %llu\n", (unsigned long long)(to.all - from.all),
			(unsigned long long)(to.user - from.user));
	cpus[cpu].on_path = false;
}

static void on_translate(struct qemu_plugin_tb *tb)
{
	size_t i, nr = qemu_plugin_tb_n_insns(tb);
	uint64_t pc = qemu_plugin_tb_vaddr(tb);
	bool kernel = is_kernel(pc);

	qemu_plugin_register_vcpu_tb_exec_cb(tb, kernel ? on_kernel_block : on_user_block,
					     QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)nr);
	for (i = 0; i < nr; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
		size_t size = qemu_plugin_insn_size(insn);
		uint8_t room[MAX_INSN_BYTES];
		int mark = decode(insn_bytes(insn, room, sizeof(room)), size, pc).mark;

		pc += size;
		if (kernel || mark < 0 || (mark != from_mark && mark != to_mark))
			continue;
		qemu_plugin_register_vcpu_insn_exec_cb(insn, mark == from_mark ? on_from : on_to,
						       QEMU_PLUGIN_CB_NO_REGS,
						       (void *)(uintptr_t)(nr - i));
	}
}

static int refuse(const char *what, const char *argument)
{
	fprintf(stderr, "count plugin: %s%s%s\n", what, *argument ? ": " : "", argument);
	return -1;
}

static int parse(int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4)) {
			out = fopen(argv[i] + 4, "w");
			if (!out)
				return refuse(argv[i] + 4, strerror(errno));
			/* Nothing is lost however QEMU ends. */
			setvbuf(out, NULL, _IOLBF, 0);
		} else if (sscanf(argv[i], "path=%d-%d", &from_mark, &to_mark) != 2) {
			return refuse("unknown argument", argv[i]);
		}
	}
	if (!out || from_mark < 0 || to_mark < 0 || from_mark == to_mark)
		return refuse("out=FILE and path=FROM-TO are needed", "");
	return 0;
}

QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
				    char **argv)
{
	if (!info->system_emulation || info->system.max_vcpus > MAX_CPUS)
		return refuse("needs a system with at most 64 virtual CPUs", "");
	if (!strcmp(info->target_name, "x86_64"))
		decode = x86_decode;
	else if (!strcmp(info->target_name, "aarch64"))
		decode = arm64_decode;
	else
		return refuse("no decoder for this processor", info->target_name);
	if (parse(argc, argv))
		return -1;
	plugin_register(id, (struct plugin){ .translated = on_translate });
	return 0;
}
