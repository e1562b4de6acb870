// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of associations: which slot a new one gets, and how long one is
 * trusted that mispredicts.
 */
#include <kunit/test.h>
#include <linux/jiffies.h>

#include "assoc.h"

struct slots {
	struct irqpath_slot slot[IRQPATH_NR_SLOTS];
	struct irqpath_origin origin[IRQPATH_NR_SLOTS];
};

/* All slots taken, each hit one jiffy after the one before it. */
static struct slots *full_slots(struct kunit *test, unsigned long first)
{
	struct slots *s = kunit_kzalloc(test, sizeof(*s), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, s);
	for (i = 0; i < IRQPATH_NR_SLOTS; i++) {
		s->slot[i].origin = &s->origin[i];
		s->slot[i].last = first + i;
	}
	return s;
}

static void slot_free_is_taken(struct kunit *test)
{
	struct slots *s = full_slots(test, 1000);

	/* The newest: free all the same. */
	s->slot[IRQPATH_NR_SLOTS - 1].origin = NULL;
	KUNIT_EXPECT_PTR_EQ(test, irqpath_pick_slot(s->slot, 2000),
			    &s->slot[IRQPATH_NR_SLOTS - 1]);
}

static void slot_oldest_is_forgotten(struct kunit *test)
{
	struct slots *s = full_slots(test, 1000);

	KUNIT_EXPECT_PTR_EQ(test, irqpath_pick_slot(s->slot, 2000),
			    &s->slot[0]);
	s->slot[0].last = 2000;
	KUNIT_EXPECT_PTR_EQ(test, irqpath_pick_slot(s->slot, 2000),
			    &s->slot[1]);
}

static void slot_pinned_stays(struct kunit *test)
{
	struct slots *s = full_slots(test, 1000);
	int i;

	s->slot[0].pinned = true;
	KUNIT_EXPECT_PTR_EQ(test, irqpath_pick_slot(s->slot, 2000),
			    &s->slot[1]);
	for (i = 0; i < IRQPATH_NR_SLOTS; i++)
		s->slot[i].pinned = true;
	KUNIT_EXPECT_NULL(test, irqpath_pick_slot(s->slot, 2000));
}

static void slot_age_survives_jiffies_wrap(struct kunit *test)
{
	/* The first two were hit before the wrap, the others after it. */
	struct slots *s = full_slots(test, ULONG_MAX - 1);

	KUNIT_EXPECT_PTR_EQ(test, irqpath_pick_slot(s->slot, 100),
			    &s->slot[0]);
}

static void credit_ends_after_mispredictions(struct kunit *test)
{
	unsigned int credit = IRQPATH_CREDIT_START;
	int i;

	for (i = 0; i < IRQPATH_CREDIT_START; i++) {
		KUNIT_EXPECT_GT(test, credit, 0);
		credit = irqpath_update_credit(credit, false);
	}
	KUNIT_EXPECT_EQ(test, credit, 0);
	KUNIT_EXPECT_EQ(test, irqpath_update_credit(credit, false), 0);
}

static void credit_comes_back_with_wakeups(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, irqpath_update_credit(0, true),
			IRQPATH_CREDIT_GAIN);
	KUNIT_EXPECT_EQ(test, irqpath_update_credit(IRQPATH_CREDIT_MAX, true),
			IRQPATH_CREDIT_MAX);
}

/* One right prediction in five is enough to go on, one in eight is not. */
static unsigned int credit_after(unsigned int every, unsigned int nr)
{
	unsigned int credit = IRQPATH_CREDIT_START;
	unsigned int i;

	for (i = 1; i <= nr; i++)
		credit = irqpath_update_credit(credit, i % every == 0);
	return credit;
}

static void credit_asks_for_one_in_five(struct kunit *test)
{
	KUNIT_EXPECT_GT(test, credit_after(5, 1000), 0);
	KUNIT_EXPECT_EQ(test, credit_after(8, 999), 0);
}

static struct kunit_case assoc_cases[] = {
	KUNIT_CASE(slot_free_is_taken),
	KUNIT_CASE(slot_oldest_is_forgotten),
	KUNIT_CASE(slot_pinned_stays),
	KUNIT_CASE(slot_age_survives_jiffies_wrap),
	KUNIT_CASE(credit_ends_after_mispredictions),
	KUNIT_CASE(credit_comes_back_with_wakeups),
	KUNIT_CASE(credit_asks_for_one_in_five),
	{}
};

static struct kunit_suite assoc_suite = {
	.name = "irqpath_assoc",
	.test_cases = assoc_cases,
};

kunit_test_suite(assoc_suite);
