/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cycle counter of the device and of the test NIC. User space can read it,
 * too (TSC, CNTVCT), so that all stamps from the raise to the task compare.
 */
#ifndef INTSIGHT_CYCLES_H
#define INTSIGHT_CYCLES_H

#include <linux/math64.h>
#include <linux/processor.h>
#include <linux/time64.h>
#include <linux/timex.h>

#ifdef CONFIG_X86
#include <asm/tsc.h>
/* Set by intsight_cycles_init(). */
extern unsigned int intsight_tsc_khz;
#endif
#ifdef CONFIG_ARM64
#include <asm/arch_timer.h>
#endif

static inline u64 intsight_cycles(void)
{
	return get_cycles();
}

static inline u64 intsight_cycles_khz(void)
{
#if defined(CONFIG_X86)
	return intsight_tsc_khz;
#elif defined(CONFIG_ARM64)
	return arch_timer_get_cntfrq() / 1000;
#else
#error "which rate has get_cycles() here?"
#endif
}

/* For spans of up to a second. */
static inline u64 intsight_ns_to_cycles(u64 ns)
{
	return div_u64(ns * intsight_cycles_khz(), NSEC_PER_MSEC);
}

#endif /* INTSIGHT_CYCLES_H */
