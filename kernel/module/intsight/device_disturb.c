// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delays of known kind and size on the way from the raise to the task. They
 * test tools that should find them.
 *
 * There is one disturber per kind. The timer plans which of them meet the next
 * raise. Each then spins on the cycle counter in the context that gives it its
 * name. It counts how often and how long it did.
 */
#include <linux/err.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <uapi/linux/sched/types.h>

#include "cycles.h"
#include "device.h"

/* Context: any; one caller at a time for each disturber. */
static void disturb_spin(struct intsight_disturber *disturber, u64 busy)
{
	u64 begin = intsight_cycles();
	u64 spent;

	do {
		cpu_relax();
		spent = intsight_cycles() - begin;
	} while (spent < busy);
	WRITE_ONCE(disturber->cycles, disturber->cycles + spent);
	WRITE_ONCE(disturber->done, disturber->done + 1);
}

/* Context: softirq. */
static void disturb_tasklet(struct tasklet_struct *tasklet)
{
	struct intsight_dev *dev = container_of(tasklet, struct intsight_dev,
						tasklet);

	disturb_spin(&dev->disturbers[INTSIGHT_DISTURB_TASKLET],
		     dev->tasklet_busy);
}

/* Context: hardirq. */
static irqreturn_t disturb_hardirq(int irq, void *data)
{
	struct intsight_dev *dev = data;

	disturb_spin(&dev->disturbers[INTSIGHT_DISTURB_HARDIRQ],
		     dev->intruder_busy);
	return IRQ_HANDLED;
}

static void disturb_urgent(struct kthread_work *work)
{
	struct intsight_dev *dev = container_of(work, struct intsight_dev,
						urgent_work);

	disturb_spin(&dev->disturbers[INTSIGHT_DISTURB_THREAD],
		     dev->urgent_busy);
}

/*
 * The shot is ours until it is raised. The handler may set it free and the
 * timer claim it again before we have come to the end of the delay.
 */
static void disturb_inject(struct intsight_dev *dev)
{
	u64 intruder_busy = dev->shot.busy[INTSIGHT_DISTURB_HARDIRQ];

	if (dev->shot.busy[INTSIGHT_DISTURB_THREAD]) {
		dev->urgent_busy = dev->shot.busy[INTSIGHT_DISTURB_THREAD];
		kthread_queue_work(dev->urgent, &dev->urgent_work);
	}
	intsight_dev_inject(dev);
	if (intruder_busy) {
		dev->intruder_busy = intruder_busy;
		if (in_hardirq())
			intsight_line_raise_hardirq(dev->intruder);
		else
			intsight_line_raise(dev->intruder);
	}
}

/* A raise with interrupts off is delivered when they are on again. */
static void disturb_meek(struct kthread_work *work)
{
	struct intsight_dev *dev = container_of(work, struct intsight_dev,
						meek_work);
	u64 irqs_off = dev->shot.busy[INTSIGHT_DISTURB_IRQS_OFF];
	u64 preempt_off = dev->shot.busy[INTSIGHT_DISTURB_PREEMPT_OFF];

	preempt_disable();
	if (irqs_off) {
		local_irq_disable();
		disturb_inject(dev);
		disturb_spin(&dev->disturbers[INTSIGHT_DISTURB_IRQS_OFF],
			     irqs_off);
		local_irq_enable();
	} else {
		disturb_inject(dev);
	}
	if (preempt_off)
		disturb_spin(&dev->disturbers[INTSIGHT_DISTURB_PREEMPT_OFF],
			     preempt_off);
	preempt_enable();
}

/**
 * intsight_disturb_plan() - decide what will disturb the claimed shot
 * @dev: the device
 *
 * Context: its timer.
 */
void intsight_disturb_plan(struct intsight_dev *dev)
{
	struct intsight_shot *shot = &dev->shot;
	int kind;

	for (kind = 0; kind < INTSIGHT_NR_DISTURB; kind++) {
		struct intsight_disturber *disturber = &dev->disturbers[kind];

		shot->busy[kind] = 0;
		if (disturber->next != shot->seq)
			continue;
		shot->busy[kind] = disturber->busy;
		disturber->next = disturber->set.every ?
				  shot->seq + disturber->set.every : 0;
	}
}

/**
 * intsight_disturb_raise() - raise the claimed shot as it was planned
 * @dev: the device
 *
 * Context: its timer.
 */
void intsight_disturb_raise(struct intsight_dev *dev)
{
	if (dev->shot.busy[INTSIGHT_DISTURB_IRQS_OFF] ||
	    dev->shot.busy[INTSIGHT_DISTURB_PREEMPT_OFF])
		kthread_queue_work(dev->meek, &dev->meek_work);
	else
		disturb_inject(dev);
}

/**
 * intsight_disturb_in_handler() - make the delays planned for the handler
 * @dev: the device
 * @shot: the raise
 *
 * Context: the handler of @dev, before it wakes.
 */
void intsight_disturb_in_handler(struct intsight_dev *dev,
				 const struct intsight_shot *shot)
{
	if (shot->busy[INTSIGHT_DISTURB_HANDLER]) {
		u64 handled = intsight_check_begin(dev);

		disturb_spin(&dev->disturbers[INTSIGHT_DISTURB_HANDLER],
			     shot->busy[INTSIGHT_DISTURB_HANDLER]);
		intsight_check_end(dev, handled);
	}
	if (shot->busy[INTSIGHT_DISTURB_TASKLET]) {
		dev->tasklet_busy = shot->busy[INTSIGHT_DISTURB_TASKLET];
		tasklet_schedule(&dev->tasklet);
	}
}

/* Make the thread that a kind of disturbance needs, if it is not there yet. */
static int disturb_need_thread(struct intsight_dev *dev, u32 kind)
{
	bool urgent = kind == INTSIGHT_DISTURB_THREAD;
	struct kthread_worker **slot = urgent ? &dev->urgent : &dev->meek;
	struct sched_attr attr = {
		.size		= sizeof(attr),
		.sched_policy	= SCHED_FIFO,
		.sched_priority	= urgent ? MAX_RT_PRIO - 1 : 1,
	};
	struct kthread_worker *worker;

	lockdep_assert_held(&dev->mutex);

	if (kind < INTSIGHT_DISTURB_THREAD || *slot)
		return 0;
	worker = kthread_create_worker(0, "intsight%u-%s", dev->index,
				       urgent ? "hi" : "lo");
	if (IS_ERR(worker))
		return PTR_ERR(worker);
	sched_setattr_nocheck(worker->task, &attr);
	*slot = worker;
	return 0;
}

/**
 * intsight_disturb_set() - program one kind of disturbance
 * @dev: the device, with its mutex held
 * @set: what to do; size and flags are checked
 *
 * Return: 0, -EINVAL, -EBUSY while the device is in use, or an error of thread
 * creation. After an error nothing has changed.
 */
int intsight_disturb_set(struct intsight_dev *dev,
			 const struct intsight_disturb *set)
{
	struct intsight_disturber *disturber;
	int ret;

	lockdep_assert_held(&dev->mutex);

	if (set->kind >= INTSIGHT_NR_DISTURB || set->reserved || set->done ||
	    set->cycles || set->busy_ns > INTSIGHT_MAX_BUSY_NS)
		return -EINVAL;
	if (!intsight_dev_quiet(dev))
		return -EBUSY;
	if (set->busy_ns && set->first <= dev->raised)
		return -EINVAL;
	ret = disturb_need_thread(dev, set->kind);
	if (ret)
		return ret;

	intsight_disturb_flush(dev);
	disturber = &dev->disturbers[set->kind];
	disturber->set = *set;
	disturber->busy = intsight_ns_to_cycles(set->busy_ns);
	disturber->next = disturber->busy ? set->first : 0;
	disturber->done = 0;
	disturber->cycles = 0;
	return 0;
}

/**
 * intsight_disturb_get() - get the program of a disturbance, and its counts
 * @dev: the device, with its mutex held
 * @get: filled in for the kind that it names
 *
 * Return: 0 or -EINVAL.
 */
int intsight_disturb_get(struct intsight_dev *dev, struct intsight_disturb *get)
{
	struct intsight_disturber *disturber;

	lockdep_assert_held(&dev->mutex);

	if (get->kind >= INTSIGHT_NR_DISTURB || get->reserved)
		return -EINVAL;
	disturber = &dev->disturbers[get->kind];
	get->busy_ns = disturber->set.busy_ns;
	get->first = disturber->set.first;
	get->every = disturber->set.every;
	get->done = READ_ONCE(disturber->done);
	get->cycles = READ_ONCE(disturber->cycles);
	return 0;
}

/**
 * intsight_disturb_follow() - move the threads to the CPU of the timer
 * @dev: the device, with its mutex held
 * @cpu: where the timer will run
 *
 * If the CPU is going offline, they stay where they are.
 */
void intsight_disturb_follow(struct intsight_dev *dev, unsigned int cpu)
{
	lockdep_assert_held(&dev->mutex);

	if (dev->urgent)
		set_cpus_allowed_ptr(dev->urgent->task, cpumask_of(cpu));
	if (dev->meek)
		set_cpus_allowed_ptr(dev->meek->task, cpumask_of(cpu));
}

/**
 * intsight_disturb_flush() - wait until all begun disturbances have ended
 * @dev: the device, with its mutex held and its timer stopped
 */
void intsight_disturb_flush(struct intsight_dev *dev)
{
	lockdep_assert_held(&dev->mutex);

	if (dev->meek)
		kthread_flush_worker(dev->meek);
	if (dev->urgent)
		kthread_flush_worker(dev->urgent);
	synchronize_irq(intsight_line_irq(dev->intruder));
	tasklet_kill(&dev->tasklet);
}

int intsight_disturb_init(struct intsight_dev *dev)
{
	int ret;

	tasklet_setup(&dev->tasklet, disturb_tasklet);
	kthread_init_work(&dev->urgent_work, disturb_urgent);
	kthread_init_work(&dev->meek_work, disturb_meek);

	snprintf(dev->intruder_name, sizeof(dev->intruder_name), "%s-intruder",
		 dev->name);
	dev->intruder = intsight_line_create(dev->intruder_name, 0);
	if (IS_ERR(dev->intruder))
		return PTR_ERR(dev->intruder);
	ret = request_irq(intsight_line_irq(dev->intruder), disturb_hardirq,
			  IRQF_NO_THREAD, dev->intruder_name, dev);
	if (ret)
		intsight_line_destroy(dev->intruder);
	return ret;
}

void intsight_disturb_exit(struct intsight_dev *dev)
{
	if (dev->meek)
		kthread_destroy_worker(dev->meek);
	if (dev->urgent)
		kthread_destroy_worker(dev->urgent);
	free_irq(intsight_line_irq(dev->intruder), dev);
	intsight_line_destroy(dev->intruder);
	tasklet_kill(&dev->tasklet);
}
