/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU TCG plugin: how many instructions a virtual CPU executes from one mark to another.
 *
 *   -plugin count.so,out=FILE,path=1-6
 *
 * For guests with several virtual CPUs. The path belongs to the virtual CPU that executes its last
 * mark; another one may execute the first, as the one that sends an interrupt does. What the kernel
 * and other tasks execute on that virtual CPU is counted, what the host does meanwhile is not. FILE
 * gets one line for each instance, in their order: its length, how much of that was in user space,
 * and what all virtual CPUs together executed meanwhile.
 *
 * The third number is more than the first where virtual CPUs take turns and the path had to wait
 * for its turn, as for a lock that another one holds: a bound for what the first number leaves out.
 * Where each has a thread of the host, it is what ran beside the path, and taken without a lock.
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

struct executed {
	uint64_t all, user;
};

/* Each is written by the thread of its virtual CPU alone; with all of the block that runs. */
static struct cpu {
	struct executed executed;
} __attribute__((aligned(CACHE_LINE))) cpus[MAX_CPUS];
static unsigned int nr_cpus;

/*
 * What each had executed at the first mark, which one virtual CPU executes at a time. Until the last
 * mark that is the earliest one: a raise that is not answered stays so when there is another.
 */
static struct executed from[MAX_CPUS];
static bool on_path;

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

/* `rest` is what follows in the block, the mark itself with it. */
static void on_from(unsigned int cpu, uint64_t rest, bool user)
{
	unsigned int i;

	if (on_path)
		return;
	for (i = 0; i < nr_cpus; i++)
		from[i] = cpus[i].executed;
	from[cpu].all -= rest;
	from[cpu].user -= user ? rest : 0;
	on_path = true;
}

static void on_to(unsigned int cpu, uint64_t rest, bool user)
{
	uint64_t together = -rest;
	unsigned int i;

	if (!on_path)
		return;
	for (i = 0; i < nr_cpus; i++)
		together += cpus[i].executed.all - from[i].all;
	fprintf(out, "%llu %llu %llu\n",
		(unsigned long long)(cpus[cpu].executed.all - rest - from[cpu].all),
		(unsigned long long)(cpus[cpu].executed.user - (user ? rest : 0) - from[cpu].user),
		(unsigned long long)together);
	on_path = false;
}

static void on_from_kernel(unsigned int cpu, void *rest)
{
	on_from(cpu, (uintptr_t)rest, false);
}

static void on_from_user(unsigned int cpu, void *rest)
{
	on_from(cpu, (uintptr_t)rest, true);
}

static void on_to_kernel(unsigned int cpu, void *rest)
{
	on_to(cpu, (uintptr_t)rest, false);
}

static void on_to_user(unsigned int cpu, void *rest)
{
	on_to(cpu, (uintptr_t)rest, true);
}

static qemu_exec_cb on_mark(int mark, bool kernel)
{
	if (mark == from_mark)
		return kernel ? on_from_kernel : on_from_user;
	return kernel ? on_to_kernel : on_to_user;
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
		if (mark < 0 || (mark != from_mark && mark != to_mark))
			continue;
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark(mark, kernel),
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
	nr_cpus = info->system.max_vcpus;
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
