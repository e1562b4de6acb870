// SPDX-License-Identifier: GPL-2.0
/*
 * Paths of known length and known callers, for the test of the flame graph (../flame.rs). Each is
 * measured by the guest too, with the clock that counts instructions; the results go to the kernel
 * log as "known: FROM TO TICKS". The marks are numbers that intsight does not use.
 */
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/linkage.h>
#include <linux/module.h>

#define RUNS 3

/* A mark, and right behind it the time: the difference of two is what lies between them. */
#if defined(__x86_64__)
#define stamp(id)								\
({										\
	u32 low, high;								\
										\
	asm volatile(".byte 0x0f, 0x1f, 0x80\n\t.long 0x51a70000 | %c2\n\trdtsc"	\
		     : "=a" (low), "=d" (high) : "i" (id) : "memory");		\
	(u64)high << 32 | low;							\
})
#elif defined(__aarch64__)
#define ASM_RET "ret\n\t"
#define stamp(id)								\
({										\
	u64 now;								\
										\
	asm volatile("movz xzr, #(0x5a00 | %c1)\n\tmrs %0, pmccntr_el0"		\
		     : "=r" (now) : "i" (id) : "memory");			\
	now;									\
})
#endif

/* A function of exactly `n` instructions that do nothing, and the return. */
#define nop_function(name, n)							\
void name(void);								\
asm(".pushsection .text\n\t.type " #name ", %function\n" #name ":\n\t"		\
    ".rept " #n "\n\tnop\n\t.endr\n\t" ASM_RET "\n\t"				\
    ".size " #name ", . - " #name "\n\t.popsection")

nop_function(known_leaf, 1000);
nop_function(known_in_timer, 500);
nop_function(known_step, 200);

static u64 began, ended;
static DECLARE_COMPLETION(done);
static DECLARE_COMPLETION(asked);

static noinline void known_middle(void)
{
	known_leaf();
	barrier();	/* no tail call */
}

static noinline void known_call(void)
{
	began = stamp(32);
	known_middle();
	ended = stamp(33);
	pr_info("known: 32 33 %llu\n", ended - began);
}

/* An interrupt on the way. */
static enum hrtimer_restart known_timer(struct hrtimer *timer)
{
	known_in_timer();
	complete(&done);
	return HRTIMER_NORESTART;
}

static noinline void known_loop(void)
{
	int i;

	for (i = 0; i < 300; i++)
		known_step();
}

static noinline void known_interrupted(void)
{
	struct hrtimer timer;

	hrtimer_init_on_stack(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer.function = known_timer;
	hrtimer_start(&timer, ns_to_ktime(20000), HRTIMER_MODE_REL_PINNED_HARD);
	began = stamp(34);
	known_loop();
	ended = stamp(35);
	wait_for_completion(&done);
	destroy_hrtimer_on_stack(&timer);
	pr_info("known: 34 35 %llu\n", ended - began);
}

/* Another task on the way. */
static int known_thread(void *unused)
{
	for (;;) {
		wait_for_completion_interruptible(&asked);
		if (kthread_should_stop())
			return 0;
		known_leaf();
		complete(&done);
	}
}

static noinline void known_switched(void)
{
	began = stamp(36);
	complete(&asked);
	wait_for_completion(&done);
	ended = stamp(37);
	pr_info("known: 36 37 %llu\n", ended - began);
}

/* An interrupt that an access to a device raises; the path ends in its handler. */
static void known_work(struct irq_work *work)
{
	ended = stamp(39);
	complete(&done);
}

static struct irq_work work = IRQ_WORK_INIT_HARD(known_work);

static noinline void known_raised(void)
{
	began = stamp(38);
	irq_work_queue(&work);
	wait_for_completion(&done);
	pr_info("known: 38 39 %llu\n", ended - began);
}

#ifdef __aarch64__
/* The cycle counter is off until somebody wants it; user.c reads it too. */
static void start_clock(void)
{
	asm volatile("msr pmccfiltr_el0, xzr\n\tmsr pmcntenset_el0, %0\n\tmsr pmcr_el0, %1\n\t"
		     "msr pmuserenr_el0, %2\n\tisb"
		     :: "r" (1ul << 31), "r" (1ul | 1ul << 6), "r" (1ul));
}
#else
static void start_clock(void)
{
}
#endif

/* Not __init: the functions of that section have no symbols any more when they are read. */
static int known_init(void)
{
	struct task_struct *thread = kthread_run(known_thread, NULL, "known");
	int i;

	if (IS_ERR(thread))
		return PTR_ERR(thread);
	start_clock();
	for (i = 0; i < RUNS; i++) {
		known_call();
		known_interrupted();
		known_switched();
		known_raised();
	}
	kthread_stop(thread);
	return 0;
}
module_init(known_init);

static void __exit known_exit(void)
{
}
module_exit(known_exit);

MODULE_DESCRIPTION("Paths of known length, to test the flame graph");
MODULE_LICENSE("GPL");
