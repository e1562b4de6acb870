// SPDX-License-Identifier: GPL-2.0-only
/*
 * Interrupt lines that any machine can raise: an irq_domain of our own with a
 * chip that has no hardware behind it, but keeps the promises of one.
 *
 * A raise latches `pending` and, unless the line is masked, makes the line's
 * CPU call line_deliver() in hard interrupt context: from an irq_work, which
 * an asynchronous function call queues on another CPU, or directly from a hard
 * hrtimer. Delivery goes through handle_level_irq(). While the core keeps the
 * line masked (IRQF_ONESHOT with its thread on the way, disable_irq()) the
 * latch holds; unmasking delivers. Raises that meet a set latch merge into
 * one, as they would on a wire.
 *
 * Only one CPU delivers a line at a time, so the flow handler never meets its
 * own handler in progress, which it would drop. A line that is disabled
 * between latch and flow handler is resent by the core through irq_retrigger.
 *
 * Lock order: desc->lock, then line->lock. Neither is held over a handler.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/idr.h>
#include <linux/irq.h>
#include <linux/irq_work.h>
#include <linux/irqdesc.h>
#include <linux/irqdomain.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include "compat.h"
#include "intsight.h"
#include "line.h"

#define MAX_LINES 64

/**
 * struct intsight_line - one interrupt line
 * @irq: Linux interrupt number
 * @desc: its descriptor, so that nobody looks up a number between the raise and
 *	  the handler; an x86 vector holds it, too
 * @hwirq: number in our domain
 * @cpu: where it is delivered; follows the affinity of @irq
 * @lock: protects @pending, @masked, @delivering and @nr_calls
 * @pending: raised and not yet handed to the flow handler
 * @masked: what the core asked for
 * @delivering: a CPU is inside the flow handler
 * @nr_calls: calls by @csd that have not returned
 * @work: brings a raise into hard interrupt context on this CPU
 * @csd: queues @work on another CPU
 * @send: makes a message-signalled interrupt come to @cpu, whose handler calls
 *	  intsight_line_arrive(); instead of @csd, if there is one
 * @timer: the delayed raise
 */
struct intsight_line {
	unsigned int irq;
	struct irq_desc *desc;
	unsigned int hwirq;
	unsigned int cpu;
	raw_spinlock_t lock;
	bool pending;
	bool masked;
	bool delivering;
	unsigned int nr_calls;
	struct irq_work work;
	call_single_data_t csd;
	void (*send)(void);
	struct hrtimer timer;
};

static struct fwnode_handle *line_fwnode;
static struct irq_domain *line_domain;
static DEFINE_IDA(line_ida);

/* Have line_deliver() called in hard interrupt context on the line's CPU. */
static void line_kick(struct intsight_line *line)
{
	unsigned int cpu = READ_ONCE(line->cpu);

	lockdep_assert_held(&line->lock);

	if (cpu != smp_processor_id()) {
		int ret;

		if (line->send) {
			line->send();
			return;
		}
		ret = smp_call_function_single_async(cpu, &line->csd);
		if (!ret)
			line->nr_calls++;
		/* -EBUSY: that call has not begun and will see our raise. */
		if (!ret || ret == -EBUSY)
			return;
		/* That CPU has just gone offline: any other one will do. */
	}
	irq_work_queue(&line->work);
}

/* Set the latch. Returns whether the caller must see to the delivery. */
static bool line_latch(struct intsight_line *line, bool *merged)
{
	lockdep_assert_held(&line->lock);

	*merged = line->pending;
	line->pending = true;
	return !line->masked && !line->delivering;
}

static void line_deliver(struct intsight_line *line)
{
	lockdep_assert_in_irq();

	raw_spin_lock(&line->lock);
	if (line->pending && !line->masked && !line->delivering) {
		line->pending = false;
		line->delivering = true;
		raw_spin_unlock(&line->lock);

		generic_handle_irq_desc(line->desc);

		raw_spin_lock(&line->lock);
		line->delivering = false;
		/*
		 * Not a loop: a handler that raises its own line may not keep
		 * this CPU in interrupt context for ever.
		 */
		if (line->pending && !line->masked)
			line_kick(line);
	}
	raw_spin_unlock(&line->lock);
}

static void line_work(struct irq_work *work)
{
	line_deliver(container_of(work, struct intsight_line, work));
}

/*
 * An idle CPU makes its calls without an interrupt, where no handler may run;
 * PREEMPT_RT warns of the softirq that one raises there. A work that is queued
 * already has not begun and will see our raise.
 */
static void line_csd(void *info)
{
	struct intsight_line *line = info;

	irq_work_queue(&line->work);
	raw_spin_lock(&line->lock);
	line->nr_calls--;
	raw_spin_unlock(&line->lock);
}

/* The core has no way to wait for an asynchronous call. */
static bool line_calls_done(struct intsight_line *line)
{
	bool done;

	raw_spin_lock_irq(&line->lock);
	done = !line->nr_calls;
	raw_spin_unlock_irq(&line->lock);
	return done;
}

/**
 * intsight_line_raise() - raise a line
 * @line: the line
 *
 * The handler runs as soon as the line's CPU takes interrupts, but never
 * before this function returns with interrupts disabled.
 *
 * Context: any but NMI.
 * Return: false if the line was already raised and its handler has not
 * started, so that this raise and that one will be handled as one. Two raises
 * around a disable_irq() may still become one: the core latches one, too.
 */
bool intsight_line_raise(struct intsight_line *line)
{
	unsigned long flags;
	bool merged;

	raw_spin_lock_irqsave(&line->lock, flags);
	if (line_latch(line, &merged))
		line_kick(line);
	raw_spin_unlock_irqrestore(&line->lock, flags);
	return !merged;
}

/**
 * intsight_line_raise_hardirq() - raise a line from hard interrupt context
 * @line: the line
 *
 * Shorter than intsight_line_raise(): if the line belongs to this CPU and is
 * not masked, its handler has run when this function returns.
 *
 * Context: hard interrupt, not within a handler of the same line.
 * Return: as intsight_line_raise().
 */
bool intsight_line_raise_hardirq(struct intsight_line *line)
{
	bool deliver, merged;

	lockdep_assert_in_irq();

	raw_spin_lock(&line->lock);
	deliver = line_latch(line, &merged);
	if (deliver && READ_ONCE(line->cpu) != smp_processor_id()) {
		line_kick(line);
		deliver = false;
	}
	raw_spin_unlock(&line->lock);

	if (deliver)
		line_deliver(line);
	return !merged;
}

/**
 * intsight_line_send_by() - let a device's interrupt carry the raises of a line
 * @line: the line
 * @send: raises that interrupt, which must come to the CPU of the line; any
 *	  context, interrupts off. NULL for none
 *
 * For raises on other CPUs than the line's. Context: nobody raises.
 */
void intsight_line_send_by(struct intsight_line *line, void (*send)(void))
{
	line->send = send;
}

/**
 * intsight_line_arrive() - deliver what a device's interrupt carried
 * @line: the line
 *
 * Context: hard interrupt, the handler of what intsight_line_send_by() got.
 */
void intsight_line_arrive(struct intsight_line *line)
{
	line_deliver(line);
}

static enum hrtimer_restart line_timer(struct hrtimer *timer)
{
	intsight_line_raise_hardirq(container_of(timer, struct intsight_line,
						 timer));
	return HRTIMER_NORESTART;
}

/**
 * intsight_line_raise_after() - raise a line later
 * @line: the line
 * @delay_ns: nanoseconds from now
 *
 * A hard hrtimer on this CPU raises the line. There is one such timer per
 * line: a call while it is armed moves it.
 *
 * Context: any but NMI.
 */
void intsight_line_raise_after(struct intsight_line *line, u64 delay_ns)
{
	hrtimer_start(&line->timer, ns_to_ktime(delay_ns),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * intsight_line_irq() - get the Linux interrupt number of a line
 * @line: the line
 *
 * Return: what request_irq() takes.
 */
int intsight_line_irq(const struct intsight_line *line)
{
	return line->irq;
}

static void line_mask(struct irq_data *data)
{
	struct intsight_line *line = irq_data_get_irq_chip_data(data);
	unsigned long flags;

	raw_spin_lock_irqsave(&line->lock, flags);
	line->masked = true;
	raw_spin_unlock_irqrestore(&line->lock, flags);
}

static void line_unmask(struct irq_data *data)
{
	struct intsight_line *line = irq_data_get_irq_chip_data(data);
	unsigned long flags;

	raw_spin_lock_irqsave(&line->lock, flags);
	line->masked = false;
	/* Inside the flow handler line_deliver() looks again by itself. */
	if (line->pending && !line->delivering)
		line_kick(line);
	raw_spin_unlock_irqrestore(&line->lock, flags);
}

static int line_retrigger(struct irq_data *data)
{
	intsight_line_raise(irq_data_get_irq_chip_data(data));
	return 1;
}

static int line_set_affinity(struct irq_data *data, const struct cpumask *mask,
			     bool force)
{
	struct intsight_line *line = irq_data_get_irq_chip_data(data);
	unsigned int cpu = cpumask_first_and(mask, cpu_online_mask);

	if (cpu >= nr_cpu_ids)
		return -EINVAL;
	WRITE_ONCE(line->cpu, cpu);
	irq_data_update_effective_affinity(data, cpumask_of(cpu));
	return IRQ_SET_MASK_OK;
}

static struct irq_chip line_chip = {
	.name			= "intsight",
	.irq_mask		= line_mask,
	.irq_unmask		= line_unmask,
	.irq_retrigger		= line_retrigger,
	.irq_set_affinity	= line_set_affinity,
};

static struct irq_chip line_chip_oneshot_safe = {
	.name			= "intsight-msi",
	.irq_mask		= line_mask,
	.irq_unmask		= line_unmask,
	.irq_retrigger		= line_retrigger,
	.irq_set_affinity	= line_set_affinity,
	.flags			= IRQCHIP_ONESHOT_SAFE,
};

static int line_domain_map(struct irq_domain *domain, unsigned int irq,
			   irq_hw_number_t hwirq)
{
	/* Chip and handler follow in intsight_line_create(). */
	irq_modify_status(irq, 0, IRQ_NOPROBE | INTSIGHT_IRQ_MOVE_PCNTXT);
	return 0;
}

static void line_domain_unmap(struct irq_domain *domain, unsigned int irq)
{
	irq_set_handler(irq, NULL);
	irq_domain_reset_irq_data(irq_get_irq_data(irq));
}

static const struct irq_domain_ops line_domain_ops = {
	.map	= line_domain_map,
	.unmap	= line_domain_unmap,
};

/**
 * intsight_line_create() - make an interrupt line
 * @name: for the kernel log; the name in /proc/interrupts is the handler's
 * @flags: INTSIGHT_LINE_*
 *
 * Context: may sleep.
 * Return: the line, or an ERR_PTR: -EINVAL for unknown flags, -ENOSPC when
 * all lines are taken, -ENOMEM.
 */
struct intsight_line *intsight_line_create(const char *name,
					   unsigned int flags)
{
	struct intsight_line *line;
	int hwirq;

	if (flags & ~INTSIGHT_LINE_ONESHOT_SAFE)
		return ERR_PTR(-EINVAL);

	line = kzalloc(sizeof(*line), GFP_KERNEL);
	if (!line)
		return ERR_PTR(-ENOMEM);

	hwirq = ida_alloc_max(&line_ida, MAX_LINES - 1, GFP_KERNEL);
	if (hwirq < 0) {
		kfree(line);
		return ERR_PTR(hwirq);
	}

	line->hwirq = hwirq;
	line->masked = true;
	raw_spin_lock_init(&line->lock);
	line->work = IRQ_WORK_INIT_HARD(line_work);
	INIT_CSD(&line->csd, line_csd, line);
	intsight_hrtimer_setup(&line->timer, line_timer, CLOCK_MONOTONIC,
			       HRTIMER_MODE_REL_PINNED_HARD);

	line->irq = irq_create_mapping(line_domain, hwirq);
	if (!line->irq) {
		ida_free(&line_ida, hwirq);
		kfree(line);
		return ERR_PTR(-ENOMEM);
	}
	line->desc = irq_data_to_desc(irq_get_irq_data(line->irq));
	irq_set_chip_data(line->irq, line);
	irq_set_chip_and_handler_name(line->irq,
				      flags & INTSIGHT_LINE_ONESHOT_SAFE ?
				      &line_chip_oneshot_safe : &line_chip,
				      handle_level_irq, "level");
	pr_debug("%s: irq %u\n", name, line->irq);
	return line;
}

/**
 * intsight_line_destroy() - give a line back
 * @line: the line, or NULL
 *
 * The caller has freed its interrupt and raises the line no more; a delayed
 * raise may still be armed.
 *
 * Context: may sleep.
 */
void intsight_line_destroy(struct intsight_line *line)
{
	if (!line)
		return;

	/* Nobody arms, calls or queues any more: each step ends one way in. */
	hrtimer_cancel(&line->timer);
	while (!line_calls_done(line))
		cpu_relax();
	irq_work_sync(&line->work);

	irq_dispose_mapping(line->irq);
	ida_free(&line_ida, line->hwirq);
	kfree(line);
}

int intsight_line_init(void)
{
	line_fwnode = irq_domain_alloc_named_fwnode("intsight");
	if (!line_fwnode)
		return -ENOMEM;

	line_domain = irq_domain_create_linear(line_fwnode, MAX_LINES,
					       &line_domain_ops, NULL);
	if (!line_domain) {
		irq_domain_free_fwnode(line_fwnode);
		return -ENOMEM;
	}
	return 0;
}

void intsight_line_exit(void)
{
	irq_domain_remove(line_domain);
	irq_domain_free_fwnode(line_fwnode);
	ida_destroy(&line_ida);
}
