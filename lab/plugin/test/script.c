// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs the plugin's parts without QEMU: reads one command a line, prints one answer a line.
 * Driven by crates/irqpath-lab/tests/plugin, which knows what must come out. Numbers are
 * hexadecimal. Arguments: "arm64" for its decoder and calls, "user" to follow user space.
 *
 *	decode PC BYTES		flow target stack stops divides mark
 *	entry PC BYTES		what the first bytes of a block say
 *	call SLOT ADDRESS | return SLOT | returned PC | touch SLOT PUSH
 *	interrupt ADDRESS | enter KIND ADDRESS | resume | user PC
 *				the shadow stacks; answers with the chain
 *	link ADDRESS | ret PC | store SLOT | load SLOT | suspend PLACE | continue PLACE
 *				those of arm64
 *	block ID PC ENTRY BYTES...	describes a block, one argument for each instruction
 *	run ID DONE		the block runs, DONE of its instructions are started
 *	pushed ID SLOT | popped ID SLOT
 *				QEMU calls back for the call or return at its end
 *	access ID ADDRESS STORE TASK
 *				... for the frame record or the stack pointer of a task (arm64)
 *	mark INDEX ID		a mark in it is about to run
 *	path FROM-TO		asks for a path
 *	lengths			of its instances, with the number of their route
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../flow.h"
#include "../links.h"

#define MAX_BLOCKS 256

static struct flow flow;
static uint64_t started;
static struct block *blocks[MAX_BLOCKS];
static uint64_t expected;	/* what the last return should go to */
static decode_fn decode = x86_decode;
static entry_fn entry_shape = x86_entry;

static size_t bytes_of(const char *hex, uint8_t *bytes, size_t size)
{
	size_t nr;

	for (nr = 0; hex && nr < size && hex[2 * nr] && hex[2 * nr + 1]; nr++) {
		char digits[3] = { hex[2 * nr], hex[2 * nr + 1] };

		bytes[nr] = strtoul(digits, NULL, 16);
	}
	return nr;
}

static uint64_t argument(void)
{
	const char *word = strtok(NULL, " \n");

	return word ? strtoull(word, NULL, 16) : 0;
}

static void print_chain(void)
{
	static const char kinds[] = "?ucis";
	uint32_t chain[4096], nr = 0, node = stacks_node(&flow.stacks);

	for (; node > ROOT_USER && nr < 4096; node = flow.nodes.all[node].parent)
		chain[nr++] = node;
	putchar(kinds[node]);
	while (nr--) {
		const struct node *at = &flow.nodes.all[chain[nr]];

		printf(" %c%lx", kinds[at->kind], (unsigned long)at->address);
	}
	putchar('\n');
}

static void decode_command(void)
{
	uint8_t bytes[16];
	uint64_t pc = argument();
	size_t size = bytes_of(strtok(NULL, " \n"), bytes, sizeof(bytes));
	struct insn insn = decode(bytes, size, pc);

	printf("%d %lx %d %d %d %d\n", insn.flow, (unsigned long)insn.target, insn.stack,
	       insn.may_stop, insn.divides, insn.mark);
}

static void block_command(void)
{
	static struct builder builder;
	uint64_t id = argument(), pc = argument(), entry = argument();
	uint8_t bytes[16];
	const char *word;

	builder_start(&builder, pc);
	while ((word = strtok(NULL, " \n"))) {
		size_t size = bytes_of(word, bytes, sizeof(bytes));
		struct insn insn = decode(bytes, size, builder.end);

		builder_add(&builder, &insn, bytes, size);
	}
	blocks[id % MAX_BLOCKS] = builder_finish(&builder, &flow.blocks, entry);
	printf("%u\n", builder.nr);
}

static void run_command(void)
{
	flow_block(&flow, blocks[argument() % MAX_BLOCKS]);
	started += argument();
	print_chain();
}

static void access_command(void)
{
	const struct block *block = blocks[argument() % MAX_BLOCKS];
	uint64_t address = argument(), store = argument(), task = argument();

	flow_access(&flow, block, address, store, task);
	print_chain();
}

static void lengths_command(void)
{
	const struct path *path = &flow.paths.all[0];
	uint32_t i;

	for (i = 0; i < path->nr_instances; i++)
		printf("%lu/%u ", (unsigned long)path->instances[i].length,
		       path->instances[i].route);
	putchar('\n');
}

static bool link_command(const char *command, uint64_t argument)
{
	struct stacks *stacks = &flow.stacks;

	if (!strcmp(command, "link"))
		links_call(stacks, argument);
	else if (!strcmp(command, "ret"))
		links_return(stacks, argument);
	else if (!strcmp(command, "store"))
		links_store(stacks, argument);
	else if (!strcmp(command, "load"))
		links_load(stacks, argument);
	else if (!strcmp(command, "suspend"))
		links_suspend(stacks, argument);
	else if (!strcmp(command, "continue"))
		links_continue(stacks, argument);
	else
		return false;
	return true;
}

static void stack_command(const char *command)
{
	struct stacks *stacks = &flow.stacks;
	uint64_t first = argument(), second = argument();

	if (link_command(command, first))
		;
	else if (!strcmp(command, "call"))
		stacks_call(stacks, first, second);
	else if (!strcmp(command, "return"))
		expected = stacks_return(stacks, first);
	else if (!strcmp(command, "returned"))
		stacks_returned(stacks, expected, first);
	else if (!strcmp(command, "touch"))
		stacks_touch(stacks, first, second);
	else if (!strcmp(command, "interrupt"))
		stacks_interrupt(stacks, first);
	else if (!strcmp(command, "enter"))
		stacks_enter(stacks, first, second);
	else if (!strcmp(command, "resume") && !stacks_resume(stacks, &first))
		stacks_forget(stacks);
	else if (!strcmp(command, "user"))
		stacks_user(stacks, first);
	else if (!strcmp(command, "pushed"))
		flow_call(&flow, blocks[first % MAX_BLOCKS], second);
	else if (!strcmp(command, "popped"))
		flow_return(&flow, blocks[first % MAX_BLOCKS], second);
	else if (!strcmp(command, "mark"))
		flow_mark(&flow, first, second);
	print_chain();
}

static void one(char *line)
{
	const char *command = strtok(line, " \n");
	uint8_t bytes[64];

	if (!command)
		return;
	if (!strcmp(command, "decode")) {
		decode_command();
	} else if (!strcmp(command, "entry")) {
		uint64_t pc = argument();
		size_t size = bytes_of(strtok(NULL, " \n"), bytes, sizeof(bytes));

		printf("%d\n", entry_shape(bytes, size, pc));
	} else if (!strcmp(command, "block")) {
		block_command();
	} else if (!strcmp(command, "run")) {
		run_command();
	} else if (!strcmp(command, "access")) {
		access_command();
	} else if (!strcmp(command, "path")) {
		printf("%d\n", paths_add(&flow.paths, strtok(NULL, " \n")));
	} else if (!strcmp(command, "lengths")) {
		lengths_command();
	} else {
		stack_command(command);
	}
}

int main(int argc, char **argv)
{
	static char line[1 << 16];

	flow_init(&flow, 16384, argc > 1 && !strcmp(argv[1], "user"));
	flow.started = &started;
	if (argc > 1 && !strcmp(argv[1], "arm64")) {
		decode = arm64_decode;
		entry_shape = arm64_entry;
		flow.stacks.links = true;
	}
	while (fgets(line, sizeof(line), stdin))
		one(line);
	flow_free(&flow);
	return 0;
}
