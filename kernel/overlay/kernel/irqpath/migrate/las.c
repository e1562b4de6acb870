// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lazy address space: a handler in a task needs no user memory.
 *
 * A task that direct switches to for the sake of a prediction runs the handler
 * on the address space that is loaded, as a kernel thread would, and loads its
 * own once the prediction proves right. The task keeps the state that it slept
 * in, so that a wakeup meanwhile is not lost; if there was none and the handler
 * did not wake it either, it sleeps on at once, and no address space has been
 * switched on the way there and back.
 *
 * While irqpath_task.lazy is set, context_switch() takes the task for a kernel
 * thread, on both ends of a switch. It is set while the task sleeps and cleared
 * by the task itself, before it returns to where it parked: nothing else runs
 * in between but the handler, its softirqs and the scheduler. Tools that read
 * the user memory of the running task from an interrupt see that it is not
 * there by nmi_uaccess_okay(), which not every architecture has.
 */
#include <linux/membarrier.h>
#include <linux/mmu_context.h>
#include <linux/sched/mm.h>

#include "migrate.h"

DEFINE_STATIC_KEY_FALSE(irqpath_las_key);

/* Whether predictions begin lazily; the keys stay on once they were. */
unsigned int irqpath_las;

struct mm_struct *__irqpath_mm(struct task_struct *p)
{
	struct irqpath_task *t = READ_ONCE(p->irqpath);

	if (likely(!t || !t->lazy))
		return p->mm;
	/*
	 * After rq->curr has changed: switch_mm() is left out, whose barrier
	 * switch_mm_cid() counts on.
	 */
	smp_mb();
	return NULL;
}

/**
 * irqpath_own_mm() - load the address space of the running task
 * @t: of the running task, lazy
 *
 * What kthread_use_mm() does, for a task that has the mm already.
 */
void irqpath_own_mm(struct irqpath_task *t)
{
	struct mm_struct *borrowed, *mm = current->mm;

	/* Hold off IPIs that flush the TLB, and switches. */
	local_irq_disable();
	borrowed = current->active_mm;
	current->active_mm = mm;
	t->lazy = false;
	membarrier_update_current_mm(mm);
	switch_mm_irqs_off(borrowed, mm, current);
	local_irq_enable();
	irqpath_count_mm(t);
	/* The barrier for membarrier(), as in kthread_use_mm(). */
	mmdrop_lazy_tlb(borrowed);
}

/**
 * irqpath_las_set() - begin predictions lazily, or not
 * @on: 1 or 0
 *
 * Return: 0, or -EOPNOTSUPP where the architecture does not protect readers.
 */
int irqpath_las_set(unsigned int on)
{
	if (on && !IS_ENABLED(CONFIG_X86))
		return -EOPNOTSUPP;
	if (on && !static_key_enabled(&irqpath_las_key)) {
		irqpath_sched_hold();
		static_branch_enable(&irqpath_las_key);
	}
	WRITE_ONCE(irqpath_las, on);
	return 0;
}
