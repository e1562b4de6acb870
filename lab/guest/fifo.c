// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fifo - runs a program with a SCHED_FIFO priority: fifo PRIORITY PROGRAM [ARGUMENT]...
 *
 * What `chrt -f` does, which not every busybox has. Beside load the process that paces a
 * benchmark must not wait for its turn, or the load would set the pace.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "guest.h"

int main(int argc, char **argv)
{
	if (argc < 3)
		quit("usage: fifo PRIORITY PROGRAM [ARGUMENT]...");
	be_fifo(number(argv[1]));
	execvp(argv[2], argv + 2);
	die("%s", argv[2]);
}
