// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of a benchmark. debugfs.c makes it before the benchmark
 * (prepare_trigger), checkpoints fill it, and csv.c prints it. It goes with its
 * last reader.
 */
#include <linux/err.h>
#include <linux/kref.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "bench.h"

/**
 * intsight_matrix_alloc() - make room for the checkpoints of a benchmark
 * @config: copied into the matrix
 *
 * All cells have been written to, so that no checkpoint meets a page fault or
 * a cold page table.
 *
 * Context: may sleep.
 * Return: the matrix with one reference, or an ERR_PTR: -ENOMEM, also when the
 * memory is there but would leave the machine without.
 */
struct intsight_matrix *
intsight_matrix_alloc(const struct intsight_config *config)
{
	size_t nr_cells = size_mul(config->reps, config->capacity);
	size_t size = size_mul(nr_cells, sizeof(struct intsight_cell));
	struct intsight_matrix *matrix;

	/* The allocator would rather kill tasks than refuse. */
	if (size > INT_MAX || size >> PAGE_SHIFT > si_mem_available() / 2)
		return ERR_PTR(-ENOMEM);

	matrix = kzalloc(sizeof(*matrix), GFP_KERNEL);
	if (!matrix)
		return ERR_PTR(-ENOMEM);

	kref_init(&matrix->ref);
	matrix->config = *config;
	matrix->cells = kvzalloc(size, GFP_KERNEL);
	matrix->lengths = kvcalloc(config->reps, sizeof(*matrix->lengths),
				   GFP_KERNEL);
	if (!matrix->cells || !matrix->lengths) {
		intsight_matrix_put(matrix);
		return ERR_PTR(-ENOMEM);
	}
	return matrix;
}

static void matrix_free(struct kref *ref)
{
	struct intsight_matrix *matrix =
		container_of(ref, struct intsight_matrix, ref);

	kvfree(matrix->lengths);
	kvfree(matrix->cells);
	kfree(matrix);
}

/**
 * intsight_matrix_put() - drop a reference to a matrix
 * @matrix: the matrix, or NULL
 *
 * Context: may sleep.
 */
void intsight_matrix_put(struct intsight_matrix *matrix)
{
	if (matrix)
		kref_put(&matrix->ref, matrix_free);
}
