/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Private to the files of intsight.
 *
 * Every part of the module has an init, which main.c calls once, and an exit if
 * there is something to undo. Interrupt lines are in line.h, differences
 * between kernels in compat.h.
 */
#ifndef INTSIGHT_H
#define INTSIGHT_H

#include <linux/errno.h>

struct intsight_line;

/* clock.c: before all others. */
int intsight_cycles_init(void);

/* line.c: before any part that makes a line, gone after all of them. */
int intsight_line_init(void);
void intsight_line_exit(void);

/* mech_*.c: what the mechanisms of the benchmark need. */
int intsight_softirq_init(void);
int intsight_workqueue_init(void);
void intsight_workqueue_exit(void);
int intsight_hrtimer_init(void);

/* trigger.c, edu.c, gpio.c: what the triggers need; no device is no error. */
int intsight_trigger_init(void);
void intsight_trigger_exit(void);
#ifdef CONFIG_PCI
int intsight_edu_init(void);
void intsight_edu_exit(void);
int intsight_edu_carry(struct intsight_line *line);
void intsight_edu_leave(void);
#else
static inline int intsight_edu_init(void) { return 0; }
static inline void intsight_edu_exit(void) { }
static inline int intsight_edu_carry(struct intsight_line *line) { return -ENODEV; }
static inline void intsight_edu_leave(void) { }
#endif
#ifdef CONFIG_GPIOLIB
int intsight_gpio_init(void);
void intsight_gpio_exit(void);
#else
static inline int intsight_gpio_init(void) { return 0; }
static inline void intsight_gpio_exit(void) { }
#endif

/* debugfs.c: the user's side of the benchmark; last up, first down. */
int intsight_debugfs_init(void);
void intsight_debugfs_exit(void);

/* device.c: /dev/intsight. */
int intsight_device_init(void);
void intsight_device_exit(void);

/* nic.c: the test NIC. */
int intsight_nic_init(void);
void intsight_nic_exit(void);

#endif /* INTSIGHT_H */
