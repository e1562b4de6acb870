// SPDX-License-Identifier: GPL-2.0-only
/*
 * migrate: lazy address space, as a handler in a task needs no user memory.
 *
 * A task that direct switches to for an offer runs the handler on the address
 * space that is loaded, as a kernel thread would. It loads its own when the
 * prediction proves right. Until then it keeps the state that it slept in, so
 * that no wakeup is lost. If neither the handler nor anybody else woke it, it
 * sleeps on at once, and no address space was switched.
 *
 * While irqpath_task.lazy is set, context_switch() treats the task as a kernel
 * thread, on both ends of a switch. The flag is set while the task sleeps. The
 * task clears it before it returns to the place where it parked, so that only
 * the handler, its softirqs and the scheduler run in between.
 *
 * __switch_to() loads the segments of the task it switches to, also those of
 * its local descriptor table. So a task with such a table is never lazy.
 *
 * Tools that read user memory from an interrupt ask nmi_uaccess_okay(), which
 * says that there is none. Not every architecture has it.
 */
#include <linux/membarrier.h>
#include <linux/mmu_context.h>
#include <linux/sched/mm.h>

#include "migrate.h"

DEFINE_STATIC_KEY_FALSE(irqpath_las_key);

/* Run offers lazily. The key stays on once it was on. */
unsigned int irqpath_las;

/**
 * irqpath_load_mm() - load the address space of the running task
 * @t: of the running task, lazy
 *
 * It does as kthread_use_mm(), for a task that has the mm already.
 */
void irqpath_load_mm(struct irqpath_task *t)
{
	struct mm_struct *borrowed, *mm = current->mm;

	/* Hold off IPIs that flush the TLB, and switches. */
	local_irq_disable();
	borrowed = current->active_mm;
	current->active_mm = mm;
	t->lazy = false;
	membarrier_update_current_mm(mm);
	switch_mm_irqs_off(borrowed, mm, current);
	lru_gen_use_mm(mm);
	local_irq_enable();
	/* It goes on to user space, where kthread_use_mm() does not lead. */
	membarrier_mm_sync_core_before_usermode(mm);
	irqpath_count_mm(t);
	/* The barrier for membarrier(), as in kthread_use_mm(). */
	mmdrop_lazy_tlb(borrowed);
}

/**
 * irqpath_may_be_lazy() - whether a task may run without its address space
 * @p: the task, asleep
 */
bool irqpath_may_be_lazy(const struct task_struct *p)
{
#ifdef CONFIG_MODIFY_LDT_SYSCALL
	if (READ_ONCE(p->mm->context.ldt))
		return false;
#endif
	return READ_ONCE(irqpath_las) && READ_ONCE(irqpath_watchdog_us);
}

/**
 * irqpath_set_las() - switch the lazy address space on or off
 * @on: 1 or 0
 *
 * Return: 0, or -EOPNOTSUPP where the architecture does not protect readers of
 * user memory.
 */
int irqpath_set_las(unsigned int on)
{
	if (on && !IS_ENABLED(CONFIG_X86))
		return -EOPNOTSUPP;
	if (on)
		static_branch_enable(&irqpath_las_key);
	WRITE_ONCE(irqpath_las, on);
	return 0;
}
