// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of the names in the files that show associations. */
#include <kunit/test.h>

#include "show.h"

static void expect_name(struct kunit *test, const char *name, const char *want)
{
	char shown[IRQPATH_SHOWN_NAME];

	irqpath_escape_name(shown, sizeof(shown), name);
	KUNIT_EXPECT_STREQ(test, shown, want);
}

/* One field of one line, and nothing that a terminal obeys. */
static void names_are_printable(struct kunit *test)
{
	expect_name(test, "irq/24-eth0:rx", "irq/24-eth0:rx");
	expect_name(test, "", "");
	expect_name(test, "a b", "a b");
	expect_name(test, "a\tb\nc", "a\\tb\\nc");
	expect_name(test, "a\\tb", "a\\\\tb");
	expect_name(test, "\x1b[2J", "\\e[2J");
	expect_name(test, "\x9b\xc3\xa9", "\\233\\303\\251");
	/* All that a task can have, at its longest. */
	expect_name(test, "\1\1\1\1\1\1\1\1\1\1\1\1\1\1\1",
		    "\\001\\001\\001\\001\\001\\001\\001\\001"
		    "\\001\\001\\001\\001\\001\\001\\001");
}

static struct kunit_case show_cases[] = {
	KUNIT_CASE(names_are_printable),
	{}
};

static struct kunit_suite show_suite = {
	.name = "irqpath_show",
	.test_cases = show_cases,
};

kunit_test_suite(show_suite);
