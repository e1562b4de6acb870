// SPDX-License-Identifier: GPL-2.0-only
/*
 * irqpath: how the files of associations show a task.
 *
 * They show its number in the reader's namespace, and its name in a form that
 * breaks no table and no terminal. Tasks choose their names, and so does
 * anybody who may name a network device.
 */
#include <linux/pid_namespace.h>
#include <linux/ptrace.h>
#include <linux/string_helpers.h>

#include "show.h"

/**
 * irqpath_visible_pid() - get another task's number in the current namespace
 * @p: the other task
 *
 * The rule is that of hidepid= for the directories of /proc.
 *
 * Context: RCU read side, no raw lock is held.
 * Return: the number, or 0 if the current task may not see @p.
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
 * irqpath_escape_name() - write a name in printable ASCII
 * @shown: gets the name; a backslash is doubled, a byte that is not printable
 *	   is a backslash with a letter, as in C, or with three octal digits
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
