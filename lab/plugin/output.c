/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the recording, see output.h. Only chains and blocks that some path used are written.
 * Numbers are LEB128; the last eight bytes are the FNV-1a hash of all bytes before them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "output.h"
#include "util.h"

#define FORMAT_VERSION 1

struct writer {
	FILE *file;
	uint64_t hash;
	struct flow *flow;
	uint32_t *nodes, nr_nodes, cap_nodes;	/* used nodes, parents first */
	uint32_t *blocks, nr_blocks, cap_blocks;
};

static void put_byte(struct writer *out, uint8_t byte)
{
	out->hash = (out->hash ^ byte) * 0x100000001b3ull;
	putc_unlocked(byte, out->file);
}

static void put(struct writer *out, uint64_t value)
{
	while (value >= 0x80) {
		put_byte(out, value | 0x80);
		value >>= 7;
	}
	put_byte(out, value);
}

static void put_word(struct writer *out, uint64_t value)
{
	unsigned int i;

	for (i = 0; i < 8; i++)
		put_byte(out, value >> 8 * i);
}

static void use_node(struct writer *out, uint32_t number)
{
	struct node *node = &out->flow->nodes.all[number];

	if (node->out)
		return;
	if (number > ROOT_USER)
		use_node(out, node->parent);
	out->nodes = grow(out->nodes, out->nr_nodes, &out->cap_nodes, sizeof(*out->nodes));
	out->nodes[out->nr_nodes++] = number;
	node->out = out->nr_nodes;
}

static void use_block(struct writer *out, uint32_t number)
{
	struct block *block = out->flow->blocks.all[number];

	if (block->out)
		return;
	out->blocks = grow(out->blocks, out->nr_blocks, &out->cap_blocks, sizeof(*out->blocks));
	out->blocks[out->nr_blocks++] = number;
	block->out = out->nr_blocks;
}

static void use_all(struct writer *out)
{
	const struct paths *paths = &out->flow->paths;
	uint32_t i, j, k;

	for (i = 0; i < paths->nr; i++) {
		for (j = 0; j < paths->all[i].nr_routes; j++) {
			const struct route *route = &paths->all[i].routes[j];

			for (k = 0; k < route->nr; k++) {
				use_node(out, route->charges[k].node);
				use_block(out, route->charges[k].block);
			}
		}
	}
}

static void put_stats(struct writer *out)
{
	const struct flow_stats *stats = &out->flow->stats;
	const uint64_t values[] = {
		stats->interrupts, stats->entries, stats->faulted, stats->repeated,
		stats->resumed, stats->unshaped, stats->mismatched, stats->unmatched,
		stats->lost,
	};
	uint32_t i;

	put(out, ARRAY_SIZE(values));
	for (i = 0; i < ARRAY_SIZE(values); i++)
		put(out, values[i]);
}

static void put_nodes(struct writer *out)
{
	uint32_t i;

	put(out, out->nr_nodes);
	for (i = 0; i < out->nr_nodes; i++) {
		const struct node *node = &out->flow->nodes.all[out->nodes[i]];

		put_byte(out, node->kind);
		if (out->nodes[i] <= ROOT_USER)
			continue;
		put(out, out->flow->nodes.all[node->parent].out - 1);
		put(out, node->address);
	}
}

static void put_blocks(struct writer *out)
{
	uint32_t i, j;

	put(out, out->nr_blocks);
	for (i = 0; i < out->nr_blocks; i++) {
		const struct block *block = out->flow->blocks.all[out->blocks[i]];

		put(out, block->pc);
		put(out, block->nr);
		for (j = 0; j < block->nr; j++)
			put_byte(out, block->insns[j] & INSN_SIZE);
	}
}

static void put_route(struct writer *out, const struct route *route)
{
	uint32_t i;

	put_word(out, route->digest.a);
	put_word(out, route->digest.b);
	put(out, route->nr);
	for (i = 0; i < route->nr; i++) {
		const struct charge *charge = &route->charges[i];

		put(out, out->flow->nodes.all[charge->node].out - 1);
		put(out, out->flow->blocks.all[charge->block]->out - 1);
		put(out, charge->first);
		put(out, charge->last - charge->first + 1u);
		put(out, charge->nr);
	}
}

static void put_path(struct writer *out, const struct path *path)
{
	uint32_t i;

	put_byte(out, path->from);
	put_byte(out, path->to);
	put(out, path->restarted);
	put_byte(out, path->active);
	put(out, path->nr_routes);
	for (i = 0; i < path->nr_routes; i++)
		put_route(out, &path->routes[i]);
	put(out, path->nr_instances);
	for (i = 0; i < path->nr_instances; i++) {
		const struct instance *instance = &path->instances[i];

		put(out, instance->length);
		put(out, instance->route);
		put(out, instance->epoch);
		put_byte(out, instance->idle);
	}
}

int output_write(struct flow *flow, enum arch arch, const char *name)
{
	struct writer out = { .hash = 0xcbf29ce484222325ull, .flow = flow };
	const char *magic = "IRQFLAME";
	uint32_t i;
	int failed;

	out.file = fopen(name, "wb");
	if (!out.file)
		return -1;
	use_all(&out);
	for (i = 0; i < 8; i++)
		put_byte(&out, magic[i]);
	put_byte(&out, FORMAT_VERSION);
	put_byte(&out, arch);
	put_stats(&out);
	put_nodes(&out);
	put_blocks(&out);
	put(&out, flow->paths.nr);
	for (i = 0; i < flow->paths.nr; i++)
		put_path(&out, &flow->paths.all[i]);
	put_word(&out, out.hash);
	free(out.nodes);
	free(out.blocks);
	failed = ferror(out.file);
	return fclose(out.file) || failed ? -1 : 0;
}
