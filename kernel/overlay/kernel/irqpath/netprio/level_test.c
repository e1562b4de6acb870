// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the parts of netprio that need no packet: levels, which
 * receiver waits for which work, and for how long.
 */
#include <kunit/test.h>

#include "netprio.h"

static void level_is_a_priority(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, irqpath_prio_to_level(-1), 0);
	KUNIT_EXPECT_EQ(test, irqpath_prio_to_level(0), 0);
	KUNIT_EXPECT_EQ(test, irqpath_prio_to_level(49), 49);
	/* Ordinary tasks are equal, whatever their nice values. */
	KUNIT_EXPECT_EQ(test, irqpath_prio_to_level(MAX_RT_PRIO),
			IRQPATH_LEVEL_ORDINARY);
	KUNIT_EXPECT_EQ(test, irqpath_prio_to_level(MAX_PRIO - 1),
			IRQPATH_LEVEL_ORDINARY);
}

static void only_lower_receivers_wait(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, irqpath_must_wait(80, 79));
	KUNIT_EXPECT_FALSE(test, irqpath_must_wait(79, 79));
	KUNIT_EXPECT_FALSE(test, irqpath_must_wait(20, 79));
	KUNIT_EXPECT_TRUE(test, irqpath_must_wait(IRQPATH_LEVEL_ORDINARY, 98));
}

static void nobody_waits_for_ordinary_work(struct kunit *test)
{
	unsigned int level;

	for (level = 0; level <= IRQPATH_LEVEL_NONE; level++)
		KUNIT_EXPECT_FALSE(test,
				   irqpath_must_wait(level,
						     IRQPATH_LEVEL_ORDINARY));
}

static void unknown_receivers_do_not_wait(struct kunit *test)
{
	KUNIT_EXPECT_FALSE(test, irqpath_must_wait(IRQPATH_LEVEL_NONE, 0));
}

static void rest_ends_with_the_limit(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, irqpath_get_rest_ns(1000, 1000, 50), 50);
	KUNIT_EXPECT_EQ(test, irqpath_get_rest_ns(1000, 1049, 50), 1);
	KUNIT_EXPECT_EQ(test, irqpath_get_rest_ns(1000, 1050, 50), 0);
	KUNIT_EXPECT_EQ(test, irqpath_get_rest_ns(1000, 5000, 50), 0);
}

/* One receiver has its limit; several share twice as much evenly. */
static void floods_leave_room(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, irqpath_has_room(0, 0, 1));
	KUNIT_EXPECT_FALSE(test, irqpath_has_room(1, 1, 1));
	KUNIT_EXPECT_TRUE(test, irqpath_has_room(999, 999, 1000));
	KUNIT_EXPECT_FALSE(test, irqpath_has_room(1000, 1000, 1000));
	KUNIT_EXPECT_TRUE(test, irqpath_has_room(0, 1000, 1000));
	KUNIT_EXPECT_FALSE(test, irqpath_has_room(700, 1300, 1000));
	KUNIT_EXPECT_TRUE(test, irqpath_has_room(0, 1999, 1000));
	KUNIT_EXPECT_TRUE(test, irqpath_has_room(5, 5, UINT_MAX));
}

static struct kunit_case irqpath_netprio_cases[] = {
	KUNIT_CASE(level_is_a_priority),
	KUNIT_CASE(only_lower_receivers_wait),
	KUNIT_CASE(nobody_waits_for_ordinary_work),
	KUNIT_CASE(unknown_receivers_do_not_wait),
	KUNIT_CASE(rest_ends_with_the_limit),
	KUNIT_CASE(floods_leave_room),
	{}
};

static struct kunit_suite irqpath_netprio_suite = {
	.name = "irqpath_netprio",
	.test_cases = irqpath_netprio_cases,
};

kunit_test_suite(irqpath_netprio_suite);
