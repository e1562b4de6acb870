// SPDX-License-Identifier: GPL-2.0-only
/*
 * The names of the clocks, the rate of the TSC, and the cycle counter of the
 * arm64 PMU. That counter belongs to perf, so a pinned kernel counter holds it
 * on the CPU that measures, and clock.h reads the register.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/smp.h>

#include "clock.h"
#include "cycles.h"
#include "intsight.h"

/* Long enough for some ticks, by which the kernel's loops were measured. */
#define MEASURED_MS	20

const char *const intsight_clock_names[INTSIGHT_NR_CLOCKS] = {
#ifdef CONFIG_INTSIGHT_CLOCK_TSC
	[INTSIGHT_CLOCK_TSC] = "tsc",
#endif
#ifdef CONFIG_INTSIGHT_CLOCK_PMCCNTR
	[INTSIGHT_CLOCK_PMCCNTR] = "pmccntr",
#endif
#ifdef CONFIG_INTSIGHT_CLOCK_CNTVCT
	[INTSIGHT_CLOCK_CNTVCT] = "cntvct",
#endif
#ifdef CONFIG_INTSIGHT_CLOCK_KTIME
	[INTSIGHT_CLOCK_KTIME] = "ktime",
#endif
#ifdef CONFIG_INTSIGHT_CLOCK_KTIME_MONO_FAST
	[INTSIGHT_CLOCK_KTIME_MONO_FAST] = "ktime_mono_fast",
#endif
#ifdef CONFIG_INTSIGHT_CLOCK_KTIME_REAL
	[INTSIGHT_CLOCK_KTIME_REAL] = "ktime_real",
#endif
};

#ifdef CONFIG_X86
unsigned int intsight_tsc_khz;
#endif

/**
 * intsight_cycles_init() - know how fast the cycle counter is
 *
 * Return: 0.
 */
int __init intsight_cycles_init(void)
{
#ifdef CONFIG_X86
	intsight_tsc_khz = tsc_khz;
	/* The kernel could not measure it, as in a guest on a busy host. */
	if (!tsc_khz) {
		u64 begin = get_cycles();

		mdelay(MEASURED_MS);
		intsight_tsc_khz = div_u64(get_cycles() - begin, MEASURED_MS);
		pr_info("the TSC has %u kHz by the delay loop\n",
			intsight_tsc_khz);
	}
#endif
	return 0;
}

#ifdef CONFIG_INTSIGHT_CLOCK_PMCCNTR
static struct perf_event *cycles_event;

static bool cycles_count(void)
{
	u64 before = intsight_pmccntr(0);

	udelay(1);
	return intsight_pmccntr(0) > before;
}

/**
 * intsight_clock_get() - make the cycle counter count on this CPU
 * @base: by clock; set to what the cycle counter begins with
 *
 * Context: may sleep; the caller does not migrate until the put and nobody
 * else gets meanwhile.
 * Return: 0, or -EBUSY when perf has the counter in use or there is none.
 */
int intsight_clock_get(u64 *base)
{
	struct perf_event_attr attr = {
		.type		= PERF_TYPE_HARDWARE,
		.config		= PERF_COUNT_HW_CPU_CYCLES,
		/*
		 * The PMU driver's "long": all 64 bits, which start in the
		 * middle and therefore neither overflow nor interrupt.
		 */
		.config1	= 1,
		.size		= sizeof(attr),
		.pinned		= 1,
	};
	struct perf_event *event;

	event = perf_event_create_kernel_counter(&attr, raw_smp_processor_id(),
						 NULL, NULL, NULL);
	if (!IS_ERR(event)) {
		if (cycles_count()) {
			base[INTSIGHT_CLOCK_PMCCNTR] = intsight_pmccntr(0);
			cycles_event = event;
			return 0;
		}
		perf_event_release_kernel(event);
	}
	pr_err("no cycle counter on CPU %d, or perf uses it: build with INTSIGHT_CLOCKS=cntvct\n",
	       raw_smp_processor_id());
	return -EBUSY;
}

void intsight_clock_put(void)
{
	perf_event_release_kernel(cycles_event);
	cycles_event = NULL;
}
#endif
