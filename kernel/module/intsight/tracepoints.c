// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checkpoints at the kernel's tracepoints, hooked while a benchmark runs and
 * only then: they say what ran between top half and bottom half, and they
 * cost time there.
 *
 * Every tracepoint has a probe of exactly its own signature, compared by the
 * compiler with the kernel's declaration. One probe that takes only the first
 * argument would do by the calling conventions, but the tracepoint calls it
 * through a pointer, and control flow integrity (kCFI) checks the type there.
 *
 * Where a tracepoint is, is looked up by name at run time, because modules
 * see few of them as symbols; those that this kernel lacks are not offered.
 * The random number generator's (mix_pool_bytes and others) went in 5.18,
 * before the oldest kernel that we build for: the entropy work that they
 * showed has become a timer, to be seen as timer_expire_entry.
 */
#include <linux/interrupt.h>
#include <linux/irqflags.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include <trace/events/irq.h>
#include <trace/events/power.h>
#include <trace/events/sched.h>
#include <trace/events/timer.h>
#include <trace/events/workqueue.h>
#ifdef CONFIG_X86
#include <asm/trace/irq_vectors.h>
#endif
#ifdef CONFIG_ARM64
#include <trace/events/ipi.h>
#endif

#include "bench.h"
#include "compat.h"

/*
 * A tracepoint may be passed with interrupts on. They are off here, so that a
 * nested checkpoint comes before or after this one but not in the middle,
 * where its stamp and its cell would be in different orders.
 */
static __always_inline void probe(const char *name)
{
	const struct intsight_recorder *rec = &intsight_recorder;
	unsigned long flags;

	if (raw_smp_processor_id() != rec->cpu ||
	    (unsigned int)atomic_read(&rec->next) >= INTSIGHT_CLOSED)
		return;

	local_irq_save(flags);
	intsight_checkpoint(name, 0);
	local_irq_restore(flags);
}

#define PROBE(event, proto)						\
static notrace void probe_##event(void *data, proto)			\
{									\
	probe(#event);							\
}									\
									\
static void __maybe_unused check_##event(void)				\
{									\
	check_trace_callback_type_##event(probe_##event);		\
}

PROBE(sched_stat_runtime, INTSIGHT_SCHED_STAT_RUNTIME_PROTO)
PROBE(sched_switch, TP_PROTO(bool preempt, struct task_struct *prev,
			     struct task_struct *next,
			     unsigned int prev_state))
PROBE(sched_waking, TP_PROTO(struct task_struct *task))
PROBE(sched_wakeup, TP_PROTO(struct task_struct *task))
PROBE(sched_migrate_task, TP_PROTO(struct task_struct *task, int cpu))
PROBE(sched_pi_setprio, TP_PROTO(struct task_struct *task,
				 struct task_struct *pi_task))
PROBE(irq_handler_entry, TP_PROTO(int irq, struct irqaction *action))
PROBE(irq_handler_exit, TP_PROTO(int irq, struct irqaction *action, int ret))
PROBE(softirq_raise, TP_PROTO(unsigned int vec))
PROBE(softirq_entry, TP_PROTO(unsigned int vec))
PROBE(softirq_exit, TP_PROTO(unsigned int vec))
PROBE(hrtimer_expire_entry, TP_PROTO(struct hrtimer *timer,
				     INTSIGHT_HRTIMER_NOW now))
PROBE(hrtimer_expire_exit, TP_PROTO(struct hrtimer *timer))
PROBE(timer_expire_entry, TP_PROTO(struct timer_list *timer,
				   unsigned long base_jiffies))
PROBE(timer_expire_exit, TP_PROTO(struct timer_list *timer))
PROBE(tick_stop, TP_PROTO(int success, int dependency))
PROBE(workqueue_activate_work, TP_PROTO(struct work_struct *work))
PROBE(workqueue_execute_start, TP_PROTO(struct work_struct *work))
PROBE(workqueue_execute_end, TP_PROTO(struct work_struct *work,
				      work_func_t function))
PROBE(cpu_idle, TP_PROTO(unsigned int state, unsigned int cpu))

#ifdef CONFIG_X86
PROBE(local_timer_entry, TP_PROTO(int vector))
PROBE(local_timer_exit, TP_PROTO(int vector))
PROBE(irq_work_entry, TP_PROTO(int vector))
PROBE(irq_work_exit, TP_PROTO(int vector))
PROBE(reschedule_entry, TP_PROTO(int vector))
PROBE(reschedule_exit, TP_PROTO(int vector))
PROBE(call_function_entry, TP_PROTO(int vector))
PROBE(call_function_exit, TP_PROTO(int vector))
PROBE(call_function_single_entry, TP_PROTO(int vector))
PROBE(call_function_single_exit, TP_PROTO(int vector))
PROBE(x86_platform_ipi_entry, TP_PROTO(int vector))
PROBE(x86_platform_ipi_exit, TP_PROTO(int vector))
PROBE(error_apic_entry, TP_PROTO(int vector))
PROBE(error_apic_exit, TP_PROTO(int vector))
PROBE(spurious_apic_entry, TP_PROTO(int vector))
PROBE(spurious_apic_exit, TP_PROTO(int vector))
#endif
#ifdef CONFIG_ARM64
PROBE(ipi_entry, TP_PROTO(const char *reason))
PROBE(ipi_exit, TP_PROTO(const char *reason))
#endif

struct probed {
	const char *name;
	void *probe;
	/* Where the kernel has it, or NULL. */
	struct tracepoint *tracepoint;
};

#define PROBED(event) { .name = #event, .probe = probe_##event }

static struct probed probed[] = {
	PROBED(sched_stat_runtime),
	PROBED(sched_switch),
	PROBED(sched_waking),
	PROBED(sched_wakeup),
	PROBED(sched_migrate_task),
	PROBED(sched_pi_setprio),
	PROBED(irq_handler_entry),
	PROBED(irq_handler_exit),
	PROBED(softirq_raise),
	PROBED(softirq_entry),
	PROBED(softirq_exit),
	PROBED(hrtimer_expire_entry),
	PROBED(hrtimer_expire_exit),
	PROBED(timer_expire_entry),
	PROBED(timer_expire_exit),
	PROBED(tick_stop),
	PROBED(workqueue_activate_work),
	PROBED(workqueue_execute_start),
	PROBED(workqueue_execute_end),
	PROBED(cpu_idle),
#ifdef CONFIG_X86
	PROBED(local_timer_entry),
	PROBED(local_timer_exit),
	PROBED(irq_work_entry),
	PROBED(irq_work_exit),
	PROBED(reschedule_entry),
	PROBED(reschedule_exit),
	PROBED(call_function_entry),
	PROBED(call_function_exit),
	PROBED(call_function_single_entry),
	PROBED(call_function_single_exit),
	PROBED(x86_platform_ipi_entry),
	PROBED(x86_platform_ipi_exit),
	PROBED(error_apic_entry),
	PROBED(error_apic_exit),
	PROBED(spurious_apic_entry),
	PROBED(spurious_apic_exit),
#endif
#ifdef CONFIG_ARM64
	PROBED(ipi_entry),
	PROBED(ipi_exit),
#endif
};

static_assert(ARRAY_SIZE(probed) <= INTSIGHT_MAX_TRACEPOINTS);

static void find_one(struct tracepoint *tracepoint, void *data)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(probed); i++)
		if (!strcmp(probed[i].name, tracepoint->name))
			probed[i].tracepoint = tracepoint;
}

/* Once, before anything else in this file. */
void intsight_tracepoints_find(void)
{
	for_each_kernel_tracepoint(find_one, NULL);
}

/**
 * intsight_tracepoint_name() - go through the tracepoints
 * @nr: 0..INTSIGHT_MAX_TRACEPOINTS - 1, the bit in intsight_config.tracepoints
 *
 * Return: its name, or NULL if there is none with this number here.
 */
const char *intsight_tracepoint_name(unsigned int nr)
{
	if (nr >= ARRAY_SIZE(probed) || !probed[nr].tracepoint)
		return NULL;
	return probed[nr].name;
}

static void unhook(const unsigned long *selected, unsigned int nr_hooked)
{
	unsigned int nr;

	for_each_set_bit(nr, selected, nr_hooked)
		tracepoint_probe_unregister(probed[nr].tracepoint,
					    probed[nr].probe, NULL);
	/* No probe is running any more: the row it would write may go. */
	tracepoint_synchronize_unregister();
}

/**
 * intsight_tracepoints_hook() - record checkpoints at tracepoints from now on
 * @selected: which, INTSIGHT_MAX_TRACEPOINTS bits of existing ones
 *
 * Context: may sleep.
 * Return: 0, or an error, and then none is hooked.
 */
int intsight_tracepoints_hook(const unsigned long *selected)
{
	unsigned int nr;
	int ret;

	for_each_set_bit(nr, selected, INTSIGHT_MAX_TRACEPOINTS) {
		ret = tracepoint_probe_register(probed[nr].tracepoint,
						probed[nr].probe, NULL);
		if (ret) {
			unhook(selected, nr);
			return ret;
		}
	}
	return 0;
}

/**
 * intsight_tracepoints_unhook() - undo intsight_tracepoints_hook()
 * @selected: as it was given there
 *
 * Context: may sleep.
 */
void intsight_tracepoints_unhook(const unsigned long *selected)
{
	if (!bitmap_empty(selected, INTSIGHT_MAX_TRACEPOINTS))
		unhook(selected, INTSIGHT_MAX_TRACEPOINTS);
}
