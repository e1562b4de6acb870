// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of how a shield changes an affinity. The masks are small numbers
 * here: bit n is CPU n.
 */
#include <kunit/test.h>
#include <linux/bits.h>

#include "shield.h"

/* Enough for every case, and few enough for a small NR_CPUS. */
#define CPUS	4
#define MASKS	BIT(CPUS)

static struct cpumask *mask(struct cpumask *cpus, unsigned long bits)
{
	cpumask_clear(cpus);
	*cpumask_bits(cpus) = bits;
	return cpus;
}

/* Return the affinity that @asked becomes. */
static unsigned long cut(unsigned long asked, unsigned long shield,
			 unsigned long usable)
{
	static struct cpumask a, s, u;

	irqpath_shield_cut(mask(&a, asked), mask(&s, shield),
			   mask(&u, usable));
	return *cpumask_bits(&a);
}

static bool is_cut(unsigned long cpus, unsigned long asked,
		   unsigned long shield, unsigned long usable)
{
	static struct cpumask c, a, s, u;

	return irqpath_shield_is_cut(mask(&c, cpus), mask(&a, asked),
				     mask(&s, shield), mask(&u, usable));
}

static void shield_takes_its_cpus(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, cut(0xf, 0x8, 0xf), 0x7);
	KUNIT_EXPECT_EQ(test, cut(0x3, 0x2, 0xf), 0x1);
	KUNIT_EXPECT_EQ(test, cut(0xa, 0xc, 0xf), 0x2);
}

static void shield_leaves_others(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, cut(0x7, 0x8, 0xf), 0x7);
	KUNIT_EXPECT_EQ(test, cut(0xf, 0x0, 0xf), 0xf);
}

static void only_shielded_stays(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, cut(0x8, 0x8, 0xf), 0x8);
	KUNIT_EXPECT_EQ(test, cut(0x8, 0xc, 0xf), 0x8);
	KUNIT_EXPECT_EQ(test, cut(0xc, 0xc, 0xf), 0xc);
}

/* CPUs that are offline stay in the affinity, but are not usable. */
static void nothing_usable_left_stays(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, cut(0xa, 0x8, 0xd), 0xa);
	KUNIT_EXPECT_EQ(test, cut(0xb, 0x8, 0xd), 0x3);
	KUNIT_EXPECT_EQ(test, cut(0xf, 0x8, 0x8), 0xf);
}

/* No cut leaves an affinity without a usable CPU, or removes other CPUs. */
static void every_cut_is_sound(struct kunit *test)
{
	unsigned long asked, shield, usable, left;

	for (asked = 1; asked < MASKS; asked++)
		for (shield = 0; shield < MASKS; shield++)
			for (usable = 1; usable < MASKS; usable++) {
				left = cut(asked, shield, usable);
				KUNIT_ASSERT_TRUE(test, left == asked ||
						  left == (asked & ~shield));
				KUNIT_ASSERT_EQ(test, !(asked & usable),
						!(left & usable));
				KUNIT_ASSERT_TRUE(test, is_cut(left, asked,
							       shield, usable));
			}
}

/* is_cut() recognises the cut and nothing else. */
static void only_the_cut_is_a_cut(struct kunit *test)
{
	const unsigned long usable = MASKS - 1;
	unsigned long asked, shield, other;

	for (asked = 1; asked < MASKS; asked++)
		for (shield = 0; shield < MASKS; shield++)
			for (other = 0; other < MASKS; other++)
				KUNIT_ASSERT_EQ(test, is_cut(other, asked,
							     shield, usable),
						other == cut(asked, shield,
							     usable));
}

static struct kunit_case shield_cases[] = {
	KUNIT_CASE(shield_takes_its_cpus),
	KUNIT_CASE(shield_leaves_others),
	KUNIT_CASE(only_shielded_stays),
	KUNIT_CASE(nothing_usable_left_stays),
	KUNIT_CASE(every_cut_is_sound),
	KUNIT_CASE(only_the_cut_is_a_cut),
	{}
};

static int shield_test_init(struct kunit *test)
{
	if (small_cpumask_bits < CPUS)
		kunit_skip(test, "masks of fewer than %d CPUs", CPUS);
	return 0;
}

static struct kunit_suite shield_suite = {
	.name = "irqpath_shield",
	.init = shield_test_init,
	.test_cases = shield_cases,
};

kunit_test_suite(shield_suite);
