// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parameters of the benchmark, and what each of them can be: how they are
 * read from and printed to their files in debugfs (debugfs.c).
 *
 * A parameter is checked as a whole before anything is changed, and anything
 * that is wrong with it is -EINVAL.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "bench.h"

/* Protects intsight_config here, and more in debugfs.c. */
DEFINE_MUTEX(intsight_config_lock);

struct intsight_config intsight_config = {
	.mechanism	= &intsight_tasklet,
	.trigger	= &intsight_trigger_irq_work,
	.reps		= 1000,
	.delay_us	= 20000,
	.capacity	= 16,
};

static int parse_uint(const char *text, unsigned int least, unsigned int most,
		      unsigned int *value)
{
	unsigned int parsed;

	if (kstrtouint(text, 10, &parsed) || parsed < least || parsed > most)
		return -EINVAL;
	*value = parsed;
	return 0;
}

static int bottom_handler_set(char *text)
{
	size_t i;

	for (i = 0; intsight_mechanisms[i]; i++) {
		if (!strcmp(intsight_mechanisms[i]->name, text)) {
			intsight_config.mechanism = intsight_mechanisms[i];
			return 0;
		}
	}
	return -EINVAL;
}

static void bottom_handler_show(struct seq_file *seq)
{
	seq_printf(seq, "%s\n", intsight_config.mechanism->name);
}

static void available_bottom_handlers_show(struct seq_file *seq)
{
	size_t i;

	for (i = 0; intsight_mechanisms[i]; i++)
		seq_printf(seq, "%s%s", i ? " " : "",
			   intsight_mechanisms[i]->name);
	seq_putc(seq, '\n');
}

static int trigger_set(char *text)
{
	size_t i;

	for (i = 0; intsight_triggers[i]; i++) {
		if (!strcmp(intsight_triggers[i]->name, text) &&
		    intsight_triggers[i]->irq() >= 0) {
			intsight_config.trigger = intsight_triggers[i];
			return 0;
		}
	}
	return -EINVAL;
}

static void trigger_show(struct seq_file *seq)
{
	seq_printf(seq, "%s\n", intsight_config.trigger->name);
}

static void available_triggers_show(struct seq_file *seq)
{
	const char *separator = "";
	size_t i;

	for (i = 0; intsight_triggers[i]; i++) {
		if (intsight_triggers[i]->irq() < 0)
			continue;
		seq_printf(seq, "%s%s", separator, intsight_triggers[i]->name);
		separator = " ";
	}
	seq_putc(seq, '\n');
}

static int reps_set(char *text)
{
	return parse_uint(text, 1, INTSIGHT_MAX_REPS, &intsight_config.reps);
}

static void reps_show(struct seq_file *seq)
{
	seq_printf(seq, "%u\n", intsight_config.reps);
}

static int delay_us_set(char *text)
{
	return parse_uint(text, 0, INTSIGHT_MAX_DELAY_US, &intsight_config.delay_us);
}

static void delay_us_show(struct seq_file *seq)
{
	seq_printf(seq, "%u\n", intsight_config.delay_us);
}

static int delay_ms_set(char *text)
{
	unsigned int delay_ms;
	int ret;

	ret = parse_uint(text, 0, INTSIGHT_MAX_DELAY_US / 1000, &delay_ms);
	if (!ret)
		intsight_config.delay_us = delay_ms * 1000;
	return ret;
}

static void delay_ms_show(struct seq_file *seq)
{
	seq_printf(seq, "%u\n", intsight_config.delay_us / 1000);
}

static int delay_type_set(char *text)
{
	if (!strcmp(text, "udelay"))
		intsight_config.active = true;
	else if (!strcmp(text, "usleep_range"))
		intsight_config.active = false;
	else
		return -EINVAL;
	return 0;
}

static void delay_type_show(struct seq_file *seq)
{
	seq_puts(seq, intsight_config.active ? "udelay\n" : "usleep_range\n");
}

static int checkpoint_capacity_set(char *text)
{
	return parse_uint(text, INTSIGHT_MIN_CAPACITY, INTSIGHT_MAX_CAPACITY,
			  &intsight_config.capacity);
}

static void checkpoint_capacity_show(struct seq_file *seq)
{
	seq_printf(seq, "%u\n", intsight_config.capacity);
}

static int tracepoint_find(const char *name)
{
	unsigned int nr;

	for (nr = 0; nr < INTSIGHT_MAX_TRACEPOINTS; nr++) {
		const char *known = intsight_tracepoint_name(nr);

		if (known && !strcmp(known, name))
			return nr;
	}
	return -EINVAL;
}

static int tracepoints_set(char *text)
{
	DECLARE_BITMAP(selected, INTSIGHT_MAX_TRACEPOINTS) = { };
	char *name;
	int nr;

	while ((name = strsep(&text, " \t\n"))) {
		if (!*name)
			continue;
		nr = tracepoint_find(name);
		if (nr < 0)
			return nr;
		__set_bit(nr, selected);
	}
	bitmap_copy(intsight_config.tracepoints, selected, INTSIGHT_MAX_TRACEPOINTS);
	return 0;
}

/* Those in a set, or all with NULL. */
static void show_tracepoints(struct seq_file *seq, const unsigned long *set)
{
	const char *separator = "";
	unsigned int nr;

	for (nr = 0; nr < INTSIGHT_MAX_TRACEPOINTS; nr++) {
		const char *name = intsight_tracepoint_name(nr);

		if (!name || (set && !test_bit(nr, set)))
			continue;
		seq_printf(seq, "%s%s", separator, name);
		separator = " ";
	}
	seq_putc(seq, '\n');
}

static void tracepoints_show(struct seq_file *seq)
{
	show_tracepoints(seq, intsight_config.tracepoints);
}

static void available_tracepoints_show(struct seq_file *seq)
{
	show_tracepoints(seq, NULL);
}

static void available_clocks_show(struct seq_file *seq)
{
	size_t i;

	for (i = 0; i < INTSIGHT_NR_CLOCKS; i++)
		seq_printf(seq, "%s%s", i ? " " : "", intsight_clock_names[i]);
	seq_putc(seq, '\n');
}

static void softirq_vector_show(struct seq_file *seq)
{
	seq_printf(seq, "%s\n", intsight_softirq_vector);
}

#define PARAMETER(file)	{ #file, .show = file##_show, .set = file##_set }
#define READ_ONLY(file)	{ #file, .show = file##_show }

const struct intsight_file intsight_params[] = {
	PARAMETER(bottom_handler),
	PARAMETER(reps),
	PARAMETER(delay_ms),
	PARAMETER(delay_us),
	PARAMETER(delay_type),
	PARAMETER(checkpoint_capacity),
	PARAMETER(trigger),
	PARAMETER(tracepoints),
	READ_ONLY(available_bottom_handlers),
	READ_ONLY(available_triggers),
	READ_ONLY(available_tracepoints),
	READ_ONLY(available_clocks),
	READ_ONLY(softirq_vector),
	{ }
};
