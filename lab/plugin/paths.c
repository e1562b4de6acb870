/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counting of paths and their routes, see paths.h.
 *
 * The digest of a run is the sum over its instructions of chain hash times address hash. It is
 * kept while counting, so a run whose route is known costs no sorting at its end.
 */
#include <string.h>

#include "paths.h"
#include "util.h"

#define PACK_AT (1u << 20)	/* charges in the log before equal ones are added up */

bool paths_add(struct paths *paths, const char *text)
{
	struct path *path = &paths->all[paths->nr];
	char *end;
	long from = strtol(text, &end, 10), to;

	if (end == text || *end != '-' || paths->nr == MAX_PATHS)
		return false;
	text = end + 1;
	to = strtol(text, &end, 10);
	if (end == text || *end || from < 0 || from > 255 || to < 0 || to > 255)
		return false;
	*path = (struct path) { .from = from, .to = to };
	paths->nr++;
	return true;
}

bool paths_use_mark(const struct paths *paths, int mark)
{
	uint32_t i;

	for (i = 0; i < paths->nr; i++)
		if (paths->all[i].from == mark || paths->all[i].to == mark)
			return true;
	return mark == MARK_GO;
}

/* Hashes of the first n instructions for every n, pairwise for the two halves of the digest. */
static const uint64_t *sums(struct block *block)
{
	uint64_t address = block->pc;
	unsigned int i;

	if (block->sums)
		return block->sums;
	block->sums = must(calloc(2 * (block->nr + 1u), sizeof(*block->sums)));
	for (i = 0; i < block->nr; i++) {
		uint64_t hash = mix(address);

		block->sums[2 * i + 2] = block->sums[2 * i] + hash;
		block->sums[2 * i + 3] = block->sums[2 * i + 1] + mix(hash);
		address += block->insns[i] & INSN_SIZE;
	}
	return block->sums;
}

static int compare(const void *left, const void *right)
{
	const struct charge *a = left, *b = right;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return (a->last > b->last) - (a->last < b->last);
}

/* Sorts the log and adds up equal charges. */
static void pack(struct path *path)
{
	uint32_t i, out = 0;

	qsort(path->log, path->nr_log, sizeof(*path->log), compare);
	for (i = 0; i < path->nr_log; i++) {
		if (out && !compare(&path->log[out - 1], &path->log[i]))
			path->log[out - 1].nr += path->log[i].nr;
		else
			path->log[out++] = path->log[i];
	}
	path->nr_log = path->packed = out;
}

void paths_charge(struct paths *paths, uint32_t node, struct block *block, unsigned int first,
		  unsigned int end)
{
	const uint64_t *sum = sums(block);
	uint64_t chain = paths->nodes->all[node].hash;
	uint64_t a = chain * (sum[2 * end] - sum[2 * first]);
	uint64_t b = mix(chain) * (sum[2 * end + 1] - sum[2 * first + 1]);
	uint32_t i;

	for (i = 0; i < paths->nr; i++) {
		struct path *path = &paths->all[i];

		if (!path->active)
			continue;
		path->digest.a += a;
		path->digest.b += b;
		path->length += end - first;
		if (path->nr_log - path->packed >= PACK_AT)
			pack(path);
		path->log = grow(path->log, path->nr_log, &path->cap_log, sizeof(*path->log));
		path->log[path->nr_log++] = (struct charge) {
			.node = node, .block = block->id, .first = first, .last = end - 1, .nr = 1,
		};
	}
}

static void place(struct path *path, uint32_t number)
{
	uint32_t at = path->routes[number].digest.a & (path->nr_slots - 1);

	while (path->slots[at])
		at = (at + 1) & (path->nr_slots - 1);
	path->slots[at] = number + 1;
}

static void enlarge(struct path *path)
{
	uint32_t i;

	free(path->slots);
	path->nr_slots = path->nr_slots ? path->nr_slots * 2 : 64;
	path->slots = must(calloc(path->nr_slots, sizeof(*path->slots)));
	for (i = 0; i < path->nr_routes; i++)
		place(path, i);
}

static uint32_t new_route(struct path *path)
{
	struct route *route;

	pack(path);
	path->routes = grow(path->routes, path->nr_routes, &path->cap_routes,
			      sizeof(*path->routes));
	route = &path->routes[path->nr_routes];
	route->digest = path->digest;
	route->nr = path->nr_log;
	route->charges = must(malloc((path->nr_log + 1) * sizeof(*route->charges)));
	memcpy(route->charges, path->log, path->nr_log * sizeof(*route->charges));
	path->nr_routes++;
	if (path->nr_routes * 2 > path->nr_slots)
		enlarge(path);
	else
		place(path, path->nr_routes - 1);
	return path->nr_routes - 1;
}

static uint32_t route_of(struct path *path)
{
	uint32_t at;

	if (!path->nr_slots)
		return new_route(path);
	for (at = path->digest.a & (path->nr_slots - 1); path->slots[at];
	     at = (at + 1) & (path->nr_slots - 1)) {
		const struct route *route = &path->routes[path->slots[at] - 1];

		if (route->digest.a == path->digest.a && route->digest.b == path->digest.b)
			return path->slots[at] - 1;
	}
	return new_route(path);
}

static void finish(struct paths *paths, struct path *path)
{
	uint32_t route = route_of(path);

	path->instances = grow(path->instances, path->nr_instances, &path->cap_instances,
			       sizeof(*path->instances));
	path->instances[path->nr_instances++] = (struct instance) {
		.length = path->length, .route = route, .epoch = paths->epoch,
		.idle = path->idle,
	};
	path->active = false;
	paths->nr_active--;
}

static void begin(struct paths *paths, struct path *path)
{
	if (path->active)
		path->restarted++;
	else
		paths->nr_active++;
	path->active = true;
	path->idle = false;
	path->digest = (struct digest) { 0 };
	path->length = 0;
	path->nr_log = path->packed = 0;
}

void paths_mark(struct paths *paths, int mark)
{
	uint32_t i;

	if (mark == MARK_GO)
		paths->epoch++;
	for (i = 0; i < paths->nr; i++) {
		struct path *path = &paths->all[i];

		if (path->active && path->to == mark)
			finish(paths, path);
		if (path->from == mark)
			begin(paths, path);
	}
}

void paths_idle(struct paths *paths)
{
	uint32_t i;

	for (i = 0; i < paths->nr; i++)
		paths->all[i].idle = true;
}

void paths_free(struct paths *paths)
{
	uint32_t i, j;

	for (i = 0; i < paths->nr; i++) {
		struct path *path = &paths->all[i];

		for (j = 0; j < path->nr_routes; j++)
			free(path->routes[j].charges);
		free(path->routes);
		free(path->instances);
		free(path->log);
		free(path->slots);
	}
}
