// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of who may run a handler: by priority, by the packet behind the
 * interrupt, and by the room on the stack.
 */
#include <kunit/test.h>
#include <linux/in.h>

#include "rules.h"

struct rivals {
	struct task_struct task;
	struct task_struct thread;
	struct irqaction action;
};

/* A task and an interrupt's thread, both with FIFO priorities. */
static struct rivals *make_rivals(struct kunit *test, int task, int thread)
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
	struct rivals *r = make_rivals(test, 50, 50);

	KUNIT_EXPECT_TRUE(test, irqpath_outranks(&r->task, &r->action));
	r->task.normal_prio++;
	KUNIT_EXPECT_FALSE(test, irqpath_outranks(&r->task, &r->action));
}

/* An RR task yields to its equals when its slice ends, the thread does not. */
static void task_with_a_slice_must_be_above(struct kunit *test)
{
	struct rivals *r = make_rivals(test, 50, 50);

	r->task.policy = SCHED_RR;
	KUNIT_EXPECT_FALSE(test, irqpath_outranks(&r->task, &r->action));
	r->task.normal_prio--;
	KUNIT_EXPECT_TRUE(test, irqpath_outranks(&r->task, &r->action));
}

static void lent_priority_does_not_count(struct kunit *test)
{
	struct rivals *r = make_rivals(test, 30, 50);

	r->task.prio = MAX_RT_PRIO - 1 - 60;
	KUNIT_EXPECT_FALSE(test, irqpath_outranks(&r->task, &r->action));
}

/* Not even a thread that selective has made an ordinary task. */
static void ordinary_tasks_outrank_nobody(struct kunit *test)
{
	struct rivals *r = make_rivals(test, 50, 50);

	r->task.policy = SCHED_NORMAL;
	r->task.normal_prio = DEFAULT_PRIO;
	r->thread.normal_prio = DEFAULT_PRIO;
	KUNIT_EXPECT_FALSE(test, irqpath_outranks(&r->task, &r->action));
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
	/* It waits in poll() or the like, perhaps for this packet. */
	socket.protocol = 0;
	KUNIT_EXPECT_TRUE(test, irqpath_waits_for(&socket, &packet));
}

/* Ask at least @bytes further down the stack. */
static noinline bool is_deep_enough_below(int bytes)
{
	char frame[1024];
	bool enough;

	barrier_data(frame);
	enough = bytes <= 0 ? irqpath_stack_is_deep_enough() :
			      is_deep_enough_below(bytes - (int)sizeof(frame));
	/* It is used after the call, so that each call has a frame. */
	barrier_data(frame);
	return enough;
}

/*
 * A handler and its softirqs need as much as they would have had in a thread.
 */
static void stack_has_room_for_a_handler(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, is_deep_enough_below(0));
	KUNIT_EXPECT_FALSE(test, is_deep_enough_below(THREAD_SIZE / 2));
}

/* Nobody makes a hardirq walk a list as long as he likes. */
static void a_crowd_does_not_park(struct kunit *test)
{
	const int nr = IRQPATH_PARKED_MAX + 3;
	struct irqpath_task *t = kunit_kcalloc(test, nr, sizeof(*t), GFP_KERNEL);
	struct irqpath_cpu *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	struct rivals *low = make_rivals(test, 10, 50);
	struct rivals *high = make_rivals(test, 20, 50);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	KUNIT_ASSERT_NOT_NULL(test, c);
	raw_spin_lock_init(&c->lock);
	INIT_LIST_HEAD(&c->parked);
	raw_spin_lock_irq(&c->lock);
	for (i = 0; i < nr; i++) {
		t[i].task = i < nr - 1 ? &low->task : &high->task;
		KUNIT_EXPECT_EQ(test, irqpath_insert_parked(c, &t[i]),
				i < IRQPATH_PARKED_MAX || i == nr - 1);
	}
	raw_spin_unlock_irq(&c->lock);
	KUNIT_EXPECT_EQ(test, list_count_nodes(&c->parked),
			IRQPATH_PARKED_MAX + 1);
	/* The more urgent one is the first to be offered anything. */
	KUNIT_EXPECT_PTR_EQ(test, &t[nr - 1],
			    list_first_entry(&c->parked, struct irqpath_task,
					     node));
	/* It still sleeps, as without migrate. */
	KUNIT_EXPECT_EQ(test, (int)t[nr - 2].state, (int)IRQPATH_IDLE);
}

static struct kunit_case migrate_cases[] = {
	KUNIT_CASE(task_outranks_its_equals),
	KUNIT_CASE(task_with_a_slice_must_be_above),
	KUNIT_CASE(lent_priority_does_not_count),
	KUNIT_CASE(ordinary_tasks_outrank_nobody),
	KUNIT_CASE(packet_names_the_socket),
	KUNIT_CASE(stack_has_room_for_a_handler),
	KUNIT_CASE(a_crowd_does_not_park),
	{}
};

static struct kunit_suite migrate_suite = {
	.name = "irqpath_migrate",
	.test_cases = migrate_cases,
};

kunit_test_suite(migrate_suite);
