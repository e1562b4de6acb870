// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work items, one per kind of workqueue. The queues are our own so that
 * nobody else's items stand in them, but their workers are the system's: the
 * pools of a CPU (normal and high priority), of no CPU (unbound), and the
 * softirq that takes the place of workers for WQ_BH.
 */
#include <linux/workqueue.h>

#include "bench.h"
#include "compat.h"
#include "intsight.h"

static struct workqueue_struct *normal_wq, *highpri_wq, *unbound_wq;

static void work_fn(struct work_struct *work)
{
	intsight_bottom_half();
}

static DECLARE_WORK(work, work_fn);

static void work_quiesce(void)
{
	cancel_work_sync(&work);
}

static __always_inline irqreturn_t top_half(struct workqueue_struct *wq)
{
	intsight_top_half();
	queue_work(wq, &work);
	return IRQ_HANDLED;
}

static irqreturn_t normal_top_half(int irq, void *data)
{
	return top_half(normal_wq);
}

const struct intsight_mechanism intsight_workqueue = {
	.name		= "workqueue",
	.top_half	= normal_top_half,
	.quiesce	= work_quiesce,
};

static irqreturn_t highpri_top_half(int irq, void *data)
{
	return top_half(highpri_wq);
}

const struct intsight_mechanism intsight_workqueue_highpri = {
	.name		= "workqueue_highpri",
	.top_half	= highpri_top_half,
	.quiesce	= work_quiesce,
};

static irqreturn_t unbound_top_half(int irq, void *data)
{
	return top_half(unbound_wq);
}

const struct intsight_mechanism intsight_workqueue_unbound = {
	.name		= "workqueue_unbound",
	.top_half	= unbound_top_half,
	.quiesce	= work_quiesce,
	.roams		= true,
};

#ifdef INTSIGHT_HAVE_WQ_BH
static struct workqueue_struct *bh_wq;

static irqreturn_t bh_top_half(int irq, void *data)
{
	return top_half(bh_wq);
}

const struct intsight_mechanism intsight_workqueue_bh = {
	.name		= "workqueue_bh",
	.top_half	= bh_top_half,
	.quiesce	= work_quiesce,
};
#endif

static const struct {
	struct workqueue_struct **wq;
	const char *name;
	unsigned int flags;
} queues[] = {
	{ &normal_wq, "intsight", INTSIGHT_WQ_PERCPU },
	{ &highpri_wq, "intsight_highpri", WQ_HIGHPRI | INTSIGHT_WQ_PERCPU },
	{ &unbound_wq, "intsight_unbound", WQ_UNBOUND },
#ifdef INTSIGHT_HAVE_WQ_BH
	{ &bh_wq, "intsight_bh", WQ_BH | INTSIGHT_WQ_PERCPU },
#endif
};

int intsight_workqueue_init(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(queues); i++) {
		*queues[i].wq = alloc_workqueue("%s", queues[i].flags, 0,
						queues[i].name);
		if (!*queues[i].wq) {
			intsight_workqueue_exit();
			return -ENOMEM;
		}
	}
	return 0;
}

void intsight_workqueue_exit(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(queues); i++)
		if (*queues[i].wq)
			destroy_workqueue(*queues[i].wq);
}
