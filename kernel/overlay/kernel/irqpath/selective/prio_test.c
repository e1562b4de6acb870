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

static struct kunit_case selective_cases[] = {
	KUNIT_CASE(serves_while_not_quiet),
	{}
};

static struct kunit_suite selective_suite = {
	.name = "irqpath_selective",
	.test_cases = selective_cases,
};

kunit_test_suite(selective_suite);
