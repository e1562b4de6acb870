/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * disturb.h - names for the delays that /dev/intsightN can put into its own path, and the ioctls
 * that set them and tell how many there were. For programs that let KIND:BUSY_NS:FIRST:EVERY be
 * given on the command line.
 */
#ifndef DISTURB_H
#define DISTURB_H

#include <sys/ioctl.h>

#include "intsight_uapi.h"
#include "guest.h"

static const char *const kinds[INTSIGHT_NR_DISTURB] = {
	[INTSIGHT_DISTURB_HANDLER] = "handler",
	[INTSIGHT_DISTURB_TASKLET] = "tasklet",
	[INTSIGHT_DISTURB_HARDIRQ] = "hardirq",
	[INTSIGHT_DISTURB_THREAD] = "thread",
	[INTSIGHT_DISTURB_IRQS_OFF] = "irqs_off",
	[INTSIGHT_DISTURB_PREEMPT_OFF] = "preempt_off",
};

static inline void request(int fd, unsigned long what, void *arg, const char *name)
{
	if (ioctl(fd, what, arg))
		die("%s", name);
}

static inline void disturb_none(int fd)
{
	struct intsight_disturb off = { .size = sizeof(off) };

	for (; off.kind < INTSIGHT_NR_DISTURB; off.kind++)
		request(fd, INTSIGHT_IOC_DISTURB, &off, "disturb");
}

/* FIRST counts from 1; before is how many raises there have been until then. */
static inline void disturb(int fd, char *text, uint64_t before)
{
	struct intsight_disturb d = { .size = sizeof(d) };
	char *kind = strtok(text, ":");
	char *busy = strtok(NULL, ":");
	char *first = strtok(NULL, ":");
	char *every = strtok(NULL, ":");

	if (!every)
		quit("a disturbance is KIND:BUSY_NS:FIRST:EVERY");
	while (d.kind < INTSIGHT_NR_DISTURB && strcmp(kind, kinds[d.kind]))
		d.kind++;
	d.busy_ns = number(busy);
	d.first = before + number(first);
	d.every = number(every);
	request(fd, INTSIGHT_IOC_DISTURB, &d, kind);
}

static inline void disturb_print(int fd)
{
	for (int kind = 0; kind < INTSIGHT_NR_DISTURB; kind++) {
		struct intsight_disturb d = { .size = sizeof(d), .kind = kind };

		request(fd, INTSIGHT_IOC_DISTURBED, &d, "disturbed");
		if (d.busy_ns)
			printf("# disturb %s busy_ns %llu done %llu cycles %llu\n", kinds[kind],
			       d.busy_ns, d.done, d.cycles);
	}
}

#endif /* DISTURB_H */
