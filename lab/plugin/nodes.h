/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree of call chains. A node is a chain: its parent's chain plus one more return address.
 * Equal chains are the same node, so a chain costs one word wherever it is stored.
 * Filled by stacks.c, counted by paths.c, written by output.c.
 */
#ifndef IRQPATH_NODES_H
#define IRQPATH_NODES_H

#include <stdint.h>

/* The numbers are part of the file format. */
enum node_kind {
	NODE_UNKNOWN = 0,	/* root: what lies above was never seen */
	NODE_USER = 1,		/* root: user space */
	NODE_CALL = 2,		/* address: the return address */
	NODE_INTERRUPT = 3,	/* address: where it interrupted; 0: not known */
	NODE_SYSCALL = 4,	/* address: after the system call */
};

#define ROOT_UNKNOWN 0u
#define ROOT_USER 1u

struct node {
	uint64_t address;
	uint64_t hash;		/* of the chain's content, the same in every run */
	uint32_t parent;
	uint32_t out;		/* number in the file plus 1, 0: not used by any path */
	uint8_t kind;
};

struct nodes {
	struct node *all;
	uint32_t nr, cap;
	uint32_t *slots;	/* hash table of node numbers plus 1 */
	uint32_t nr_slots;
};

void nodes_init(struct nodes *nodes);
void nodes_free(struct nodes *nodes);
uint32_t nodes_child(struct nodes *nodes, uint32_t parent, enum node_kind kind, uint64_t address);

#endif
