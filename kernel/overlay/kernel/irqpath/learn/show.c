// SPDX-License-Identifier: GPL-2.0-only
/*
 * What of a task a reader is shown who is told of associations: its number as
 * the reader knows it, and its name in a form that breaks no table and no
 * terminal. Names are what tasks, and those who name network devices, chose.
 */
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/string_helpers.h>

#include "show.h"

/**
 * irqpath_visible_pid() - by what number the current task knows another one
 * @p: that one
 *
 * As for the directories of /proc that hidepid= hides.
 *
 * Context: RCU read side, no raw lock is held.
 * Return: 0 if it may not know of it.
 */
pid_t irqpath_visible_pid(struct task_struct *p)
{
	pid_t pid = task_pid_vnr(p);

	if (pid && ptrace_may_access(p, PTRACE_MODE_READ_FSCREDS |
					PTRACE_MODE_NOAUDIT))
		return pid;
	return 0;
}

/**
 * irqpath_escape_name() - a name in printable ASCII
 * @shown: gets it: a backslash is two of them, what is not printable one with a
 *	   letter, as in C, or with three octal digits
 * @size: of @shown; IRQPATH_SHOWN_NAME is enough
 * @name: of less than TASK_COMM_LEN bytes
 */
void irqpath_escape_name(char *shown, size_t size, const char *name)
{
	size_t len = string_escape_mem(name, strnlen(name, TASK_COMM_LEN),
				       shown, size - 1,
				       ESCAPE_ANY | ESCAPE_NAP | ESCAPE_APPEND,
				       "\\");

	shown[min(len, size - 1)] = '\0';
}
