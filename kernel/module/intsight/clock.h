/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clocks that a checkpoint stamps. Which ones is fixed when the module is
 * built (Kbuild, INTSIGHT_CLOCKS), so that a stamp costs no decision. The
 * cycle counter comes first: it is the one that checkpoint_cost is given in
 * and the one the marker stands beside.
 *
 * The counters are read without a barrier: rdtsc and not rdtsc_ordered(), mrs
 * without isb. A barrier drains the pipeline of the code that is measured, on
 * both ends of an interval. The skew of an unordered read is bounded by the
 * reorder window, some tens of cycles. Between most pairs of points lies an
 * interrupt entry, which serialises. Under TCG nothing is reordered.
 */
#ifndef INTSIGHT_CLOCK_H
#define INTSIGHT_CLOCK_H

#include <linux/build_bug.h>
#include <linux/timekeeping.h>
#include <linux/types.h>

#include "intsight_mark.h"

enum intsight_clock {
#ifdef CONFIG_INTSIGHT_CLOCK_TSC
	INTSIGHT_CLOCK_TSC,
#endif
#ifdef CONFIG_INTSIGHT_CLOCK_PMCCNTR
	INTSIGHT_CLOCK_PMCCNTR,
#endif
#ifdef CONFIG_INTSIGHT_CLOCK_CNTVCT
	INTSIGHT_CLOCK_CNTVCT,
#endif
#ifdef CONFIG_INTSIGHT_CLOCK_KTIME
	INTSIGHT_CLOCK_KTIME,
#endif
#ifdef CONFIG_INTSIGHT_CLOCK_KTIME_MONO_FAST
	INTSIGHT_CLOCK_KTIME_MONO_FAST,
#endif
#ifdef CONFIG_INTSIGHT_CLOCK_KTIME_REAL
	INTSIGHT_CLOCK_KTIME_REAL,
#endif
	INTSIGHT_NR_CLOCKS
};

static_assert(INTSIGHT_NR_CLOCKS > 0, "INTSIGHT_CLOCKS names no clock");

/* The files in csv_results, in the order of the enum. */
extern const char *const intsight_clock_names[INTSIGHT_NR_CLOCKS];

/* Whether the first clock counts on each CPU for itself. */
#define INTSIGHT_CLOCK_PER_CPU IS_ENABLED(CONFIG_INTSIGHT_CLOCK_PMCCNTR)

/* Have the counters run on this CPU; the caller does not migrate meanwhile. */
#ifdef CONFIG_INTSIGHT_CLOCK_PMCCNTR
int intsight_clock_get(u64 *base);
void intsight_clock_put(void);
#else
static inline int intsight_clock_get(u64 *base) { return 0; }
static inline void intsight_clock_put(void) { }
#endif

#ifdef CONFIG_INTSIGHT_CLOCK_TSC
static __always_inline u64 intsight_tsc(const int mark)
{
	u32 low, high;

	if (mark)
		asm volatile(INTSIGHT_MARK_INSN "rdtsc"
			     : "=a" (low), "=d" (high) : [mark] "i" (mark));
	else
		asm volatile("rdtsc" : "=a" (low), "=d" (high));
	return low | (u64)high << 32;
}
#endif

#ifdef CONFIG_INTSIGHT_CLOCK_PMCCNTR
static __always_inline u64 intsight_pmccntr(const int mark)
{
	u64 cycles;

	if (mark)
		asm volatile(INTSIGHT_MARK_INSN "mrs %[cycles], pmccntr_el0"
			     : [cycles] "=r" (cycles) : [mark] "i" (mark));
	else
		asm volatile("mrs %[cycles], pmccntr_el0"
			     : [cycles] "=r" (cycles));
	return cycles;
}
#endif

#ifdef CONFIG_INTSIGHT_CLOCK_CNTVCT
static __always_inline u64 intsight_cntvct(const int mark)
{
	u64 ticks;

	if (mark)
		asm volatile(INTSIGHT_MARK_INSN "mrs %[ticks], cntvct_el0"
			     : [ticks] "=r" (ticks) : [mark] "i" (mark));
	else
		asm volatile("mrs %[ticks], cntvct_el0"
			     : [ticks] "=r" (ticks));
	return ticks;
}
#endif

/**
 * intsight_stamp() - read all clocks
 * @stamp: where to, INTSIGHT_NR_CLOCKS of them
 * @mark: constant identifier of a marker, placed right before the first clock,
 *	or 0 for none
 *
 * Context: any but NMI (ktime).
 */
static __always_inline void intsight_stamp(u64 *stamp, const int mark)
{
#if defined(CONFIG_INTSIGHT_CLOCK_TSC)
	stamp[INTSIGHT_CLOCK_TSC] = intsight_tsc(mark);
#elif defined(CONFIG_INTSIGHT_CLOCK_PMCCNTR)
	stamp[INTSIGHT_CLOCK_PMCCNTR] = intsight_pmccntr(mark);
#ifdef CONFIG_INTSIGHT_CLOCK_CNTVCT
	stamp[INTSIGHT_CLOCK_CNTVCT] = intsight_cntvct(0);
#endif
#elif defined(CONFIG_INTSIGHT_CLOCK_CNTVCT)
	stamp[INTSIGHT_CLOCK_CNTVCT] = intsight_cntvct(mark);
#else
	if (mark)
		INTSIGHT_MARK(mark);
#endif
#ifdef CONFIG_INTSIGHT_CLOCK_KTIME
	stamp[INTSIGHT_CLOCK_KTIME] = ktime_to_ns(ktime_get());
#endif
#ifdef CONFIG_INTSIGHT_CLOCK_KTIME_MONO_FAST
	stamp[INTSIGHT_CLOCK_KTIME_MONO_FAST] = ktime_get_mono_fast_ns();
#endif
#ifdef CONFIG_INTSIGHT_CLOCK_KTIME_REAL
	stamp[INTSIGHT_CLOCK_KTIME_REAL] = ktime_to_ns(ktime_get_real());
#endif
}

#endif /* INTSIGHT_CLOCK_H */
