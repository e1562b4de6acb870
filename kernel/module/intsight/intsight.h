/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of intsight share, and nothing that anybody else may use.
 *
 * Every part of the module has an init that is called once from main.c and an
 * exit that undoes it. A part that needs nothing at run time has neither.
 * Interrupt lines are in line.h, differences between kernels in compat.h.
 */
#ifndef INTSIGHT_H
#define INTSIGHT_H

/* line.c: before any part that makes a line, gone after all of them. */
int intsight_line_init(void);
void intsight_line_exit(void);

/* device.c: /dev/intsight. */
int intsight_device_init(void);
void intsight_device_exit(void);

/* nic.c: the test NIC. */
static inline int intsight_nic_init(void) { return 0; }
static inline void intsight_nic_exit(void) { }

#endif /* INTSIGHT_H */
