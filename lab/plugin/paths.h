/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths: from one mark to the next other one. Every instruction between them is charged to the
 * chain that executed it. Runs of a path with equal charges are one route.
 *
 * Where it is cut: the instruction of the mark `from` belongs to the path, that of the mark `to`
 * does not. When the stamp is taken at the same distance from both marks, the difference of two
 * stamps that count instructions is the path's length exactly.
 */
#ifndef IRQPATH_PATHS_H
#define IRQPATH_PATHS_H

#include <stdbool.h>
#include <stdint.h>

#include "block.h"
#include "nodes.h"

#define MAX_PATHS 8
#define MARK_GO 16	/* begins the next epoch */

/* Instructions first..last of a block, executed by a chain. */
struct charge {
	uint32_t node;
	uint32_t block;
	uint16_t first, last;
	uint32_t nr;		/* how often */
};

/* Sums that do not depend on the order of charges nor on how QEMU cut the code into blocks. */
struct digest {
	uint64_t a, b;
};

struct instance {
	uint64_t length;	/* instructions */
	uint32_t route;
	uint16_t epoch;
	bool idle;		/* the processor halted on the way: time is longer than length */
};

struct route {
	struct digest digest;
	struct charge *charges;
	uint32_t nr;
};

struct path {
	uint8_t from, to;
	bool active, idle;
	struct digest digest;
	uint64_t length;
	struct charge *log;	/* of the instance that is under way */
	uint32_t nr_log, cap_log, packed;
	struct instance *instances;
	uint32_t nr_instances, cap_instances;
	struct route *routes;
	uint32_t nr_routes, cap_routes;
	uint32_t *slots;	/* hash table of route numbers plus 1 */
	uint32_t nr_slots;
	uint32_t restarted;	/* `from` came again before `to` */
};

struct paths {
	struct path all[MAX_PATHS];
	uint32_t nr, nr_active;
	uint16_t epoch;
	struct nodes *nodes;
	struct blocks *blocks;
};

/* Adds the path "FROM-TO"; false: not two marks, or too many paths. */
bool paths_add(struct paths *paths, const char *text);
bool paths_use_mark(const struct paths *paths, int mark);
void paths_mark(struct paths *paths, int mark);
void paths_idle(struct paths *paths);
void paths_charge(struct paths *paths, uint32_t node, struct block *block, unsigned int first,
		  unsigned int end);
void paths_free(struct paths *paths);

#endif
