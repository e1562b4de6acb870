/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: the rules that tests can suspend, private to kernel/irqpath/.
 *
 * A test of a rule has to fail without the rule. Each rule is a function
 * __irqpath_x() in the header of its policy, and the policies call irqpath_x().
 * With CONFIG_IRQPATH_FAULTS, irqpath_x() is the variant in faults/ that
 * breaks the rule on request. Otherwise it is a macro for the rule, which
 * leaves no trace in the kernel, not even in its BTF.
 */
#ifndef _KERNEL_IRQPATH_FAULTS_H
#define _KERNEL_IRQPATH_FAULTS_H

#include <linux/irqreturn.h>
#include <linux/types.h>

struct irq_desc;
struct irqaction;
struct irqpath_origin;
struct irqpath_receiver;
struct irqpath_task;
struct sched_attr;
struct task_struct;

#ifdef CONFIG_IRQPATH_FAULTS

#ifdef CONFIG_IRQPATH_MIGRATE /* migrate/rules.h */
bool irqpath_may_migrate(const struct irqpath_origin *o);
void irqpath_touch_handler_lock(struct irqpath_origin *o);
bool irqpath_parks_before(const struct irqpath_task *t,
			  const struct irqpath_task *other);
void irqpath_leave_place(struct irqpath_task *t);
int irqpath_own_prio(const struct task_struct *p);
bool irqpath_preempts_thread(const struct task_struct *p,
			     const struct irqaction *action);
bool irqpath_is_traced(const struct task_struct *p);
bool irqpath_may_run_here(const struct task_struct *p);
bool irqpath_has_one_token(struct irq_desc *desc);
bool irqpath_has_runner(struct irqpath_origin *o);
void irqpath_wake_runner(struct task_struct *p);
bool irqpath_begin_run(struct irqpath_task *t);
bool irqpath_is_fit(const struct irqpath_task *t);
bool irqpath_take_token(struct irqpath_origin *o, struct irqaction *action);
irqreturn_t irqpath_call_handler(struct irq_desc *desc,
				 struct irqaction *action);
void irqpath_unmask_line(struct irq_desc *desc, struct irqaction *action);
u32 irqpath_own_softirqs(const struct irqpath_task *t);
void irqpath_end_handler(struct irq_desc *desc);
bool irqpath_must_lend(struct irqpath_origin *o);
void irqpath_end_offers(struct irqpath_origin *o);
#endif

#ifdef CONFIG_IRQPATH_DIRECT /* direct/direct.h */
bool irqpath_keeps_cpu(int holder, int prio);
#endif

#ifdef CONFIG_IRQPATH_SELECTIVE /* selective/selective.h */
bool irqpath_is_set_by_hand(const struct irqpath_task *t);
int irqpath_set_sched(struct task_struct *p, const struct sched_attr *attr);
bool irqpath_is_urgent_thread(const struct irqpath_task *t);
#endif

#ifdef CONFIG_IRQPATH_NETPRIO /* netprio/netprio.h */
bool irqpath_must_follow(const struct irqpath_receiver *r);
#endif

#else /* !CONFIG_IRQPATH_FAULTS */

#ifdef CONFIG_IRQPATH_MIGRATE
#define irqpath_may_migrate		__irqpath_may_migrate
#define irqpath_touch_handler_lock	__irqpath_touch_handler_lock
#define irqpath_parks_before		__irqpath_parks_before
#define irqpath_leave_place		__irqpath_leave_place
#define irqpath_own_prio		__irqpath_own_prio
#define irqpath_preempts_thread		__irqpath_preempts_thread
#define irqpath_is_traced		__irqpath_is_traced
#define irqpath_may_run_here		__irqpath_may_run_here
#define irqpath_has_one_token		__irqpath_has_one_token
#define irqpath_has_runner		__irqpath_has_runner
#define irqpath_wake_runner		__irqpath_wake_runner
#define irqpath_begin_run		__irqpath_begin_run
#define irqpath_is_fit			__irqpath_is_fit
#define irqpath_take_token		__irqpath_take_token
#define irqpath_call_handler		__irqpath_call_handler
#define irqpath_unmask_line		__irqpath_unmask_line
#define irqpath_own_softirqs		__irqpath_own_softirqs
#define irqpath_end_handler		__irqpath_end_handler
#define irqpath_must_lend		__irqpath_must_lend
#define irqpath_end_offers		__irqpath_end_offers
#endif

#ifdef CONFIG_IRQPATH_DIRECT
#define irqpath_keeps_cpu		__irqpath_keeps_cpu
#endif

#ifdef CONFIG_IRQPATH_SELECTIVE
#define irqpath_is_set_by_hand		__irqpath_is_set_by_hand
#define irqpath_set_sched		__irqpath_set_sched
#define irqpath_is_urgent_thread	__irqpath_is_urgent_thread
#endif

#ifdef CONFIG_IRQPATH_NETPRIO
#define irqpath_must_follow		__irqpath_must_follow
#endif

#endif /* CONFIG_IRQPATH_FAULTS */

#endif /* _KERNEL_IRQPATH_FAULTS_H */
