// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of which interrupts are real-time work. */
#include <kunit/test.h>

#include "selective.h"

/*
 * An interrupt serves until it is quiet. The administrator's lists come first.
 */
static void serves_while_not_quiet(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, irqpath_serves(0, 0, 10, false, false));
	KUNIT_EXPECT_TRUE(test, irqpath_serves(1, 0, 10, false, false));
	KUNIT_EXPECT_TRUE(test, irqpath_serves(2, 9, 10, false, false));
	KUNIT_EXPECT_FALSE(test, irqpath_serves(2, 10, 10, false, false));
	KUNIT_EXPECT_FALSE(test, irqpath_serves(2, UINT_MAX, 10, false, false));
	KUNIT_EXPECT_TRUE(test, irqpath_serves(0, 99, 10, true, false));
	KUNIT_EXPECT_FALSE(test, irqpath_serves(1, 0, 10, false, true));
}

/* Real-time, but not FIFO 1, which is the kernel's background work. */
static void urgent_threads(struct kunit *test)
{
	struct irqpath_task *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct task_struct *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, t);
	KUNIT_ASSERT_NOT_NULL(test, p);
	t->task = p;
	p->normal_prio = MAX_RT_PRIO - 1 - 50;
	KUNIT_EXPECT_TRUE(test, __irqpath_is_urgent_thread(t));
	p->normal_prio = MAX_RT_PRIO - 1 - 2;
	KUNIT_EXPECT_TRUE(test, __irqpath_is_urgent_thread(t));
	p->normal_prio = MAX_RT_PRIO - 1 - 1;
	KUNIT_EXPECT_FALSE(test, __irqpath_is_urgent_thread(t));
	p->normal_prio = DEFAULT_PRIO;
	KUNIT_EXPECT_FALSE(test, __irqpath_is_urgent_thread(t));
}

static struct kunit_case selective_cases[] = {
	KUNIT_CASE(urgent_threads),
	KUNIT_CASE(serves_while_not_quiet),
	{}
};

static struct kunit_suite selective_suite = {
	.name = "irqpath_selective",
	.test_cases = selective_cases,
};

kunit_test_suite(selective_suite);
