// SPDX-License-Identifier: GPL-2.0-only
/* KUnit tests of which actions get an origin, on lines that nothing raises. */
#include <kunit/test.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>

#include "origin.h"

static void leave_alone(struct irq_data *data)
{
}

static int accept_nmi(struct irq_data *data)
{
	return 0;
}

/* The chip of a line that can be an NMI. */
static struct irq_chip chip = {
	.name = "irqpath_test",
	.irq_mask = leave_alone,
	.irq_unmask = leave_alone,
	.irq_nmi_setup = accept_nmi,
	.irq_nmi_teardown = leave_alone,
	.flags = IRQCHIP_SUPPORTS_NMI,
};

static irqreturn_t handler(int irq, void *data)
{
	return IRQ_HANDLED;
}

static unsigned int make_line(struct kunit *test)
{
	int irq = irq_alloc_desc(NUMA_NO_NODE);

	KUNIT_ASSERT_GT(test, irq, 0);
	irq_set_chip_and_handler(irq, &chip, handle_simple_irq);
	irq_clear_status_flags(irq, IRQ_NOREQUEST);
	return irq;
}

static void handler_is_origin_until_freed(struct kunit *test)
{
	unsigned int irq = make_line(test);

	KUNIT_EXPECT_NULL(test, irqpath_find_origin(irq));
	KUNIT_ASSERT_EQ(test, request_irq(irq, handler, 0, NULL, test), 0);
	KUNIT_EXPECT_NOT_NULL(test, irqpath_find_origin(irq));
	free_irq(irq, test);
	KUNIT_EXPECT_NULL(test, irqpath_find_origin(irq));
	irq_free_desc(irq);
}

/*
 * Without a name there is no directory in /proc, which free_nmi() would leave.
 */
static void nmi_is_no_origin(struct kunit *test)
{
	unsigned int irq = make_line(test);

	KUNIT_ASSERT_EQ(test, request_nmi(irq, handler,
					  IRQF_PERCPU | IRQF_NO_AUTOEN, NULL,
					  test), 0);
	KUNIT_EXPECT_NULL(test, irqpath_find_origin(irq));
	free_nmi(irq, test);
	/* An origin of the NMI would still be there, with a freed action. */
	KUNIT_EXPECT_NULL(test, irqpath_find_origin(irq));
	irq_free_desc(irq);
}

static struct kunit_case irqpath_origin_cases[] = {
	KUNIT_CASE(handler_is_origin_until_freed),
	KUNIT_CASE(nmi_is_no_origin),
	{}
};

static struct kunit_suite irqpath_origin_suite = {
	.name = "irqpath_origin",
	.test_cases = irqpath_origin_cases,
};

kunit_test_suite(irqpath_origin_suite);
