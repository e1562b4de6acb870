/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: the files that show associations, private to learn/.
 */
#ifndef _KERNEL_IRQPATH_SHOW_H
#define _KERNEL_IRQPATH_SHOW_H

#include <linux/sched.h>

struct irq_desc;

/* Room for a name that is shown, each byte as a backslash and three digits. */
#define IRQPATH_SHOWN_NAME	(4 * TASK_COMM_LEN)

pid_t irqpath_visible_pid(struct task_struct *p);
void irqpath_escape_name(char *shown, size_t size, const char *name);
bool irqpath_add_proc_file(struct irq_desc *desc, unsigned int irq);
void irqpath_remove_proc_file(struct irq_desc *desc);

#endif /* _KERNEL_IRQPATH_SHOW_H */
