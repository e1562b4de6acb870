// SPDX-License-Identifier: GPL-2.0-only
/*
 * csv_results: one line per run, printed from the matrix whenever it is read,
 * so that the text, which is several times as large, is never stored.
 *
 * An open file holds a reference to the matrix it was opened on. The next
 * benchmark may be prepared meanwhile; the reader then gets -EIO from debugfs,
 * which has removed the file, and the matrix goes with the last reader.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "bench.h"

struct csv {
	struct intsight_matrix *matrix;
	/* enum intsight_clock, or -1 for the names. */
	long clock;
};

static void *csv_start(struct seq_file *seq, loff_t *pos)
{
	const struct csv *csv = seq->private;

	if (*pos >= csv->matrix->config.reps)
		return NULL;
	return &csv->matrix->lengths[*pos];
}

static void *csv_next(struct seq_file *seq, void *length, loff_t *pos)
{
	++*pos;
	return csv_start(seq, pos);
}

static void csv_stop(struct seq_file *seq, void *length)
{
}

static int csv_show(struct seq_file *seq, void *length)
{
	const struct csv *csv = seq->private;
	unsigned int *used = length;
	const struct intsight_cell *row =
		intsight_row(csv->matrix, used - csv->matrix->lengths);
	unsigned int i;

	for (i = 0; i < *used; i++) {
		const char *comma = i ? "," : "";

		if (csv->clock < 0)
			seq_printf(seq, "%s%s", comma, row[i].name);
		else
			seq_put_decimal_ull(seq, comma,
					    row[i].stamp[csv->clock] -
					    csv->matrix->base[csv->clock]);
	}
	seq_putc(seq, '\n');
	return 0;
}

static const struct seq_operations csv_ops = {
	.start	= csv_start,
	.next	= csv_next,
	.stop	= csv_stop,
	.show	= csv_show,
};

static int csv_open(struct inode *inode, struct file *file)
{
	struct intsight_matrix *matrix = intsight_results_get();
	struct csv *csv;

	if (!matrix)
		return -ENODATA;

	csv = __seq_open_private(file, &csv_ops, sizeof(*csv));
	if (!csv) {
		intsight_matrix_put(matrix);
		return -ENOMEM;
	}
	csv->matrix = matrix;
	csv->clock = (long)inode->i_private;
	return 0;
}

static int csv_release(struct inode *inode, struct file *file)
{
	struct seq_file *seq = file->private_data;
	struct csv *csv = seq->private;

	intsight_matrix_put(csv->matrix);
	return seq_release_private(inode, file);
}

const struct file_operations intsight_csv_fops = {
	.owner		= THIS_MODULE,
	.open		= csv_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= csv_release,
};
