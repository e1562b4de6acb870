/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file that the plugin leaves, read by crates/irqpath-lab/src/flame/recording/, which
 * describes the format. Addresses are raw; symbols are the reader's business.
 */
#ifndef IRQPATH_OUTPUT_H
#define IRQPATH_OUTPUT_H

#include "flow.h"

enum arch { ARCH_X86_64 = 1, ARCH_ARM64 = 2 };

/* Writes everything to `name`; 0, or -1 with errno. */
int output_write(struct flow *flow, enum arch arch, const char *name);

#endif
