// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests for the parts of irqpath that need no interrupt: which slot an
 * association gets, how long a prediction is trusted, who may run a handler,
 * whose packet it is, which interrupts are real-time work, and how names are
 * shown. In the guests of the lab and wherever CONFIG_IRQPATH_KUNIT_TEST is set
 * they run at boot.
 */
#include <kunit/test.h>
#include <linux/in.h>
#include <linux/jiffies.h>

#include "irqpath.h"

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
	KUNIT_EXPECT_PTR_EQ(test, irqpath_slot_pick(s->slot, 2000),
			    &s->slot[IRQPATH_NR_SLOTS - 1]);
}

static void slot_oldest_is_forgotten(struct kunit *test)
{
	struct slots *s = full_slots(test, 1000);

	KUNIT_EXPECT_PTR_EQ(test, irqpath_slot_pick(s->slot, 2000),
			    &s->slot[0]);
	s->slot[0].last = 2000;
	KUNIT_EXPECT_PTR_EQ(test, irqpath_slot_pick(s->slot, 2000),
			    &s->slot[1]);
}

static void slot_pinned_stays(struct kunit *test)
{
	struct slots *s = full_slots(test, 1000);
	int i;

	s->slot[0].pinned = true;
	KUNIT_EXPECT_PTR_EQ(test, irqpath_slot_pick(s->slot, 2000),
			    &s->slot[1]);
	for (i = 0; i < IRQPATH_NR_SLOTS; i++)
		s->slot[i].pinned = true;
	KUNIT_EXPECT_NULL(test, irqpath_slot_pick(s->slot, 2000));
}

static void slot_age_survives_jiffies_wrap(struct kunit *test)
{
	/* The first two were hit before the wrap, the others after it. */
	struct slots *s = full_slots(test, ULONG_MAX - 1);

	KUNIT_EXPECT_PTR_EQ(test, irqpath_slot_pick(s->slot, 100),
			    &s->slot[0]);
}

static void credit_ends_after_mispredictions(struct kunit *test)
{
	unsigned int credit = IRQPATH_CREDIT_START;
	int i;

	for (i = 0; i < IRQPATH_CREDIT_START; i++) {
		KUNIT_EXPECT_GT(test, credit, 0);
		credit = irqpath_credit(credit, false);
	}
	KUNIT_EXPECT_EQ(test, credit, 0);
	KUNIT_EXPECT_EQ(test, irqpath_credit(credit, false), 0);
}

static void credit_comes_back_with_wakeups(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, irqpath_credit(0, true), IRQPATH_CREDIT_GAIN);
	KUNIT_EXPECT_EQ(test, irqpath_credit(IRQPATH_CREDIT_MAX, true),
			IRQPATH_CREDIT_MAX);
}

/* One right prediction in five is enough to go on, one in eight is not. */
static unsigned int credit_after(unsigned int every, unsigned int nr)
{
	unsigned int credit = IRQPATH_CREDIT_START;
	unsigned int i;

	for (i = 1; i <= nr; i++)
		credit = irqpath_credit(credit, i % every == 0);
	return credit;
}

static void credit_asks_for_one_in_five(struct kunit *test)
{
	KUNIT_EXPECT_GT(test, credit_after(5, 1000), 0);
	KUNIT_EXPECT_EQ(test, credit_after(8, 999), 0);
}

/* An interrupt serves while it is heard of; the administrator's word is final. */
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

struct rivals {
	struct task_struct task;
	struct task_struct thread;
	struct irqaction action;
};

/* A task and an interrupt's thread, both with FIFO priorities. */
static struct rivals *rivals(struct kunit *test, int task, int thread)
{
	struct rivals *r = kunit_kzalloc(test, sizeof(*r), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->task.policy = SCHED_FIFO;
	r->task.normal_prio = MAX_RT_PRIO - 1 - task;
	r->task.prio = r->task.normal_prio;
	r->thread.normal_prio = MAX_RT_PRIO - 1 - thread;
	r->thread.prio = r->thread.normal_prio;
	r->action.thread = &r->thread;
	return r;
}

static void task_outranks_its_equals(struct kunit *test)
{
	struct rivals *r = rivals(test, 50, 50);

	KUNIT_EXPECT_TRUE(test, irqpath_outranks(&r->task, &r->action));
	r->task.normal_prio++;
	KUNIT_EXPECT_FALSE(test, irqpath_outranks(&r->task, &r->action));
}

/* The thread does not go behind its equals when a slice ends; a task of RR does. */
static void task_with_a_slice_must_be_above(struct kunit *test)
{
	struct rivals *r = rivals(test, 50, 50);

	r->task.policy = SCHED_RR;
	KUNIT_EXPECT_FALSE(test, irqpath_outranks(&r->task, &r->action));
	r->task.normal_prio--;
	KUNIT_EXPECT_TRUE(test, irqpath_outranks(&r->task, &r->action));
}

static void lent_priority_does_not_count(struct kunit *test)
{
	struct rivals *r = rivals(test, 30, 50);

	r->task.prio = MAX_RT_PRIO - 1 - 60;
	KUNIT_EXPECT_FALSE(test, irqpath_outranks(&r->task, &r->action));
}

/* Not even a thread that selective has made one. */
static void ordinary_tasks_outrank_nobody(struct kunit *test)
{
	struct rivals *r = rivals(test, 50, 50);

	r->task.policy = SCHED_NORMAL;
	r->task.normal_prio = DEFAULT_PRIO;
	r->thread.normal_prio = DEFAULT_PRIO;
	KUNIT_EXPECT_FALSE(test, irqpath_outranks(&r->task, &r->action));
}

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

static void packet_names_the_socket(struct kunit *test)
{
	static const struct irqpath_flow packet = {
		.protocol = IPPROTO_TCP, .port = htons(80), .peer = htons(999),
	};
	struct irqpath_flow socket = packet;

	KUNIT_EXPECT_TRUE(test, irqpath_waits_for(&socket, &packet));
	/* Bound, and not connected. */
	socket.peer = 0;
	KUNIT_EXPECT_TRUE(test, irqpath_waits_for(&socket, &packet));
	socket.peer = htons(998);
	KUNIT_EXPECT_FALSE(test, irqpath_waits_for(&socket, &packet));
	socket.peer = packet.peer;
	socket.port = htons(81);
	KUNIT_EXPECT_FALSE(test, irqpath_waits_for(&socket, &packet));
	socket.port = packet.port;
	socket.protocol = IPPROTO_UDP;
	KUNIT_EXPECT_FALSE(test, irqpath_waits_for(&socket, &packet));
	/* It waits for something else, such as poll(): perhaps for this. */
	socket.protocol = 0;
	KUNIT_EXPECT_TRUE(test, irqpath_waits_for(&socket, &packet));
}

/* So many bytes of the stack further down, and some more. */
static noinline bool is_deep_enough_below(int bytes)
{
	char frame[1024];
	bool enough;

	barrier_data(frame);
	enough = bytes <= 0 ? irqpath_stack_is_deep_enough() :
			      is_deep_enough_below(bytes - (int)sizeof(frame));
	/* Used after the call: there is a frame for each. */
	barrier_data(frame);
	return enough;
}

/* A handler and its softirqs need as much as they would have had in a thread. */
static void stack_has_room_for_a_handler(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, is_deep_enough_below(0));
	KUNIT_EXPECT_FALSE(test, is_deep_enough_below(THREAD_SIZE / 2));
}

static struct kunit_case irqpath_cases[] = {
	KUNIT_CASE(slot_free_is_taken),
	KUNIT_CASE(slot_oldest_is_forgotten),
	KUNIT_CASE(slot_age_survives_jiffies_wrap),
	KUNIT_CASE(slot_pinned_stays),
	KUNIT_CASE(credit_ends_after_mispredictions),
	KUNIT_CASE(credit_comes_back_with_wakeups),
	KUNIT_CASE(credit_asks_for_one_in_five),
	KUNIT_CASE(serves_while_not_quiet),
	KUNIT_CASE(task_outranks_its_equals),
	KUNIT_CASE(task_with_a_slice_must_be_above),
	KUNIT_CASE(lent_priority_does_not_count),
	KUNIT_CASE(ordinary_tasks_outrank_nobody),
	KUNIT_CASE(names_are_printable),
	KUNIT_CASE(packet_names_the_socket),
	KUNIT_CASE(stack_has_room_for_a_handler),
	{}
};

static struct kunit_suite irqpath_suite = {
	.name = "irqpath",
	.test_cases = irqpath_cases,
};

kunit_test_suite(irqpath_suite);
