/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interrupt lines without hardware. A driver requests intsight_line_irq() as
 * it would any other interrupt; whoever plays the hardware raises the line.
 * See line.c for how a raise travels.
 */
#ifndef INTSIGHT_LINE_H
#define INTSIGHT_LINE_H

#include <linux/bits.h>
#include <linux/types.h>

struct intsight_line;

/*
 * Without a flag the line behaves like a wired one: it stays masked from the
 * hardirq handler until a threaded handler has ended, and delivers raises that
 * came meanwhile afterwards.
 *
 * ONESHOT_SAFE: like a message-signalled interrupt, not masked while the
 * thread runs; a threaded handler may be requested without IRQF_ONESHOT.
 */
#define INTSIGHT_LINE_ONESHOT_SAFE	BIT(0)

struct intsight_line *intsight_line_create(const char *name,
					   unsigned int flags);
void intsight_line_destroy(struct intsight_line *line);
int intsight_line_irq(const struct intsight_line *line);

bool intsight_line_raise(struct intsight_line *line);
bool intsight_line_raise_hardirq(struct intsight_line *line);
void intsight_line_send_by(struct intsight_line *line, void (*send)(void));
void intsight_line_arrive(struct intsight_line *line);
void intsight_line_raise_after(struct intsight_line *line, u64 delay_ns);

#endif /* INTSIGHT_LINE_H */
