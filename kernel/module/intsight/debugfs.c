// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/intsight: the steps of a benchmark and its results; the
 * parameters are in params.c, README.md has the table of files. There is only
 * `init` until it is written.
 *
 * There are two locks, in this order. run_lock serialises the steps (init,
 * prepare, do, postprocess). It is held while a benchmark runs, and waiting for
 * it can be interrupted. intsight_config_lock is held for moments, so that
 * parameters and results are available at any time. debugfs_remove() waits for
 * opens, which take it, and so is called without it.
 *
 * Open files hold a reference to the module.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "bench.h"
#include "intsight.h"

enum bench_state {
	BENCH_EMPTY,		/* no matrix */
	BENCH_PREPARED,		/* matrix, to be filled */
	BENCH_DONE,		/* matrix, filled */
	BENCH_EXPOSED,		/* matrix, filled, shown in csv_results */
};

static DEFINE_MUTEX(run_lock);

/* Changed under both locks, so either is enough to look. */
static enum bench_state state;
static struct intsight_matrix *matrix;
/* Under run_lock. */
static struct dentry *csv_dir;
static bool initialized;
/* Written once, before there is a file to see it. */
static u64 checkpoint_cost;

static struct dentry *root_dir;

static void set_matrix(struct intsight_matrix *new_matrix,
		       enum bench_state new_state)
{
	lockdep_assert_held(&run_lock);

	mutex_lock(&intsight_config_lock);
	matrix = new_matrix;
	state = new_state;
	mutex_unlock(&intsight_config_lock);
}

/* Back to BENCH_EMPTY. Readers of old results keep what they have open. */
static void drop_matrix(void)
{
	struct intsight_matrix *old = matrix;

	set_matrix(NULL, BENCH_EMPTY);
	debugfs_remove(csv_dir);
	csv_dir = NULL;
	intsight_matrix_put(old);
}

/**
 * intsight_results_get() - the matrix that csv_results shows
 *
 * Context: may sleep.
 * Return: the matrix with a reference for the caller, or NULL when it has
 * just been dropped.
 */
struct intsight_matrix *intsight_results_get(void)
{
	struct intsight_matrix *results = NULL;

	mutex_lock(&intsight_config_lock);
	if (state == BENCH_EXPOSED) {
		results = matrix;
		kref_get(&results->ref);
	}
	mutex_unlock(&intsight_config_lock);
	return results;
}

/**
 * intsight_bench_wait() - wait for a running benchmark to end
 *
 * Context: may sleep. One that begins later is not waited for.
 */
void intsight_bench_wait(void)
{
	mutex_lock(&run_lock);
	mutex_unlock(&run_lock);
}

static int prepare_step(void)
{
	struct intsight_matrix *prepared;
	struct intsight_config config;

	mutex_lock(&intsight_config_lock);
	config = intsight_config;
	mutex_unlock(&intsight_config_lock);

	drop_matrix();
	prepared = intsight_matrix_alloc(&config);
	if (IS_ERR(prepared))
		return PTR_ERR(prepared);
	set_matrix(prepared, BENCH_PREPARED);
	return 0;
}

static int do_step(void)
{
	int ret;

	if (state != BENCH_PREPARED)
		return -EINVAL;

	ret = intsight_bench_run(matrix);
	if (ret)
		drop_matrix();
	else
		set_matrix(matrix, BENCH_DONE);
	return ret;
}

static int postprocess_step(void)
{
	long clock;

	if (state != BENCH_DONE)
		return -EINVAL;

	set_matrix(matrix, BENCH_EXPOSED);
	csv_dir = debugfs_create_dir("csv_results", root_dir);
	debugfs_create_file("name", 0444, csv_dir, (void *)-1L,
			    &intsight_csv_fops);
	for (clock = 0; clock < INTSIGHT_NR_CLOCKS; clock++)
		debugfs_create_file(intsight_clock_names[clock], 0444, csv_dir,
				    (void *)clock, &intsight_csv_fops);
	return 0;
}

static void checkpoint_cost_show(struct seq_file *seq)
{
	seq_printf(seq, "%llu\n", checkpoint_cost);
}

static void overflows_show(struct seq_file *seq)
{
	seq_printf(seq, "%llu %llu\n", matrix ? matrix->overflowed_runs : 0,
		   matrix ? matrix->not_stored : 0);
}

static void vmalloc_checkpoint_matrix_show(struct seq_file *seq)
{
	seq_puts(seq, matrix && is_vmalloc_addr(matrix->cells) ? "Y\n" : "N\n");
}

#define STEP(name)	{ #name "_trigger", .step = name##_step }
#define READ_ONLY(name)	{ #name, .show = name##_show }

static const struct intsight_file files[] = {
	STEP(prepare),
	STEP(do),
	STEP(postprocess),
	READ_ONLY(vmalloc_checkpoint_matrix),
	READ_ONLY(overflows),
	READ_ONLY(checkpoint_cost),
	{ }
};

static int file_show(struct seq_file *seq, void *data)
{
	const struct intsight_file *desc = seq->private;

	if (!desc->show)
		return 0;
	mutex_lock(&intsight_config_lock);
	desc->show(seq);
	mutex_unlock(&intsight_config_lock);
	return 0;
}

static int file_open(struct inode *inode, struct file *file)
{
	return single_open(file, file_show, inode->i_private);
}

static int set_parameter(const struct intsight_file *desc,
			 const char __user *buffer, size_t count)
{
	char *text;
	int ret = -EINVAL;

	if (count >= PAGE_SIZE)
		return -EINVAL;
	text = memdup_user_nul(buffer, count);
	if (IS_ERR(text))
		return PTR_ERR(text);

	/* Text after a NUL would be ignored: refuse it. */
	if (strlen(text) == count) {
		mutex_lock(&intsight_config_lock);
		ret = desc->set(strim(text));
		mutex_unlock(&intsight_config_lock);
	}
	kfree(text);
	return ret;
}

static int take_step(const struct intsight_file *desc)
{
	int ret;

	ret = mutex_lock_interruptible(&run_lock);
	if (ret)
		return ret;
	ret = desc->step();
	mutex_unlock(&run_lock);
	return ret;
}

static ssize_t file_write(struct file *file, const char __user *buffer,
			  size_t count, loff_t *pos)
{
	const struct intsight_file *desc = file_inode(file)->i_private;
	int ret = -EINVAL;

	if (desc->set)
		ret = set_parameter(desc, buffer, count);
	else if (desc->step)
		ret = take_step(desc);
	return ret ?: count;
}

static const struct file_operations file_fops = {
	.owner		= THIS_MODULE,
	.open		= file_open,
	.read		= seq_read,
	.write		= file_write,
	.llseek		= seq_lseek,
	.release	= single_release,
};

static void create_files(const struct intsight_file *desc)
{
	for (; desc->name; desc++)
		debugfs_create_file(desc->name,
				    desc->set || desc->step ? 0644 : 0444,
				    root_dir, (void *)desc, &file_fops);
}

static int init_step(void)
{
	int ret;

	if (initialized)
		return 0;

	ret = intsight_bench_cost(&checkpoint_cost);
	if (ret)
		return ret;
	intsight_tracepoints_find();
	create_files(intsight_params);
	create_files(files);
	initialized = true;
	pr_info("one checkpoint costs %llu ticks of %s; softirq is the vector %s\n",
		checkpoint_cost, intsight_clock_names[0],
		intsight_softirq_vector);
	return 0;
}

static const struct intsight_file init_files[] = {
	{ "init", .step = init_step },
	{ }
};

int intsight_debugfs_init(void)
{
	root_dir = debugfs_create_dir("intsight", NULL);
	create_files(init_files);
	return 0;
}

void intsight_debugfs_exit(void)
{
	debugfs_remove(root_dir);
	intsight_matrix_put(matrix);
}
