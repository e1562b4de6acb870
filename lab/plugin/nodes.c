/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hash-consed call chains, see nodes.h. Nodes are never removed: the number of different chains of
 * a kernel is bounded, and a path keeps their numbers.
 */
#include "nodes.h"
#include "util.h"

static uint64_t chain_hash(uint64_t parent, enum node_kind kind, uint64_t address)
{
	return mix(parent ^ mix(address + kind));
}

static uint32_t append(struct nodes *nodes, uint32_t parent, enum node_kind kind,
		       uint64_t address, uint64_t hash)
{
	nodes->all = grow(nodes->all, nodes->nr, &nodes->cap, sizeof(*nodes->all));
	nodes->all[nodes->nr] = (struct node) {
		.address = address, .hash = hash, .parent = parent, .kind = kind,
	};
	return nodes->nr++;
}

static void place(struct nodes *nodes, uint32_t number)
{
	uint32_t at = nodes->all[number].hash & (nodes->nr_slots - 1);

	while (nodes->slots[at])
		at = (at + 1) & (nodes->nr_slots - 1);
	nodes->slots[at] = number + 1;
}

static void enlarge(struct nodes *nodes)
{
	uint32_t i;

	free(nodes->slots);
	nodes->nr_slots = nodes->nr_slots ? nodes->nr_slots * 2 : 4096;
	nodes->slots = must(calloc(nodes->nr_slots, sizeof(*nodes->slots)));
	for (i = 0; i < nodes->nr; i++)
		place(nodes, i);
}

void nodes_init(struct nodes *nodes)
{
	*nodes = (struct nodes) { 0 };
	append(nodes, ROOT_UNKNOWN, NODE_UNKNOWN, 0, mix(NODE_UNKNOWN));
	append(nodes, ROOT_USER, NODE_USER, 0, mix(NODE_USER));
	enlarge(nodes);
}

void nodes_free(struct nodes *nodes)
{
	free(nodes->all);
	free(nodes->slots);
}

uint32_t nodes_child(struct nodes *nodes, uint32_t parent, enum node_kind kind, uint64_t address)
{
	uint64_t hash = chain_hash(nodes->all[parent].hash, kind, address);
	uint32_t at, number;

	for (at = hash & (nodes->nr_slots - 1); nodes->slots[at];
	     at = (at + 1) & (nodes->nr_slots - 1)) {
		const struct node *node = &nodes->all[nodes->slots[at] - 1];

		if (node->hash == hash && node->parent == parent && node->kind == kind &&
		    node->address == address)
			return nodes->slots[at] - 1;
	}
	number = append(nodes, parent, kind, address, hash);
	if (nodes->nr * 2 > nodes->nr_slots)
		enlarge(nodes);
	else
		place(nodes, number);
	return number;
}
