// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * devwaits - what /dev/intsight0 promises to the tasks that wait for it: every kind of wait, stamps
 * in order, counts that agree, delays of the size that was asked for, waiters by priority.
 *
 * One test per call (devtest.h); the module has just been loaded and nobody else uses the device.
 */
#define _GNU_SOURCE
#include <sys/utsname.h>

#include "devtest.h"

#define PRIORITY	30	/* below the interrupt's thread, above all else */

static bool is_rt(void)
{
	struct utsname name;

	uname(&name);
	return strstr(name.version, "PREEMPT_RT");
}

/* What /proc/interrupts counts for the device, on all CPUs. */
static uint64_t interrupts(unsigned int irq)
{
	FILE *file = fopen("/proc/interrupts", "r");
	char line[4096], *at;
	uint64_t sum = 0;

	if (!file)
		die("/proc/interrupts");
	while (fgets(line, sizeof(line), file)) {
		if (strtoul(line, &at, 10) != irq || *at != ':')
			continue;
		for (at++; *at; ) {
			char *end;
			uint64_t count = strtoull(at, &end, 10);

			if (end == at)
				break;
			sum += count;
			at = end;
		}
	}
	fclose(file);
	return sum;
}

static void check_event(const struct intsight_event *e, uint64_t user, enum intsight_mode mode)
{
	bool hardirq = e->flags & INTSIGHT_EVENT_HARDIRQ;
	bool line = mode != INTSIGHT_MODE_TIMER;

	expect(e->size == sizeof(*e) && !e->reserved, "size %u", e->size);
	expect(!(e->flags & ~INTSIGHT_EVENT_HARDIRQ), "flags %x", e->flags);
	expect(hardirq == (mode != INTSIGHT_MODE_DRIVER || !is_rt()), "in hardirq: %d", hardirq);
	expect(e->raise && (e->raise <= e->primary) == line, "raise %llu primary %llu", e->raise, e->primary);
	expect(e->primary <= e->handler && e->raise <= e->handler, "primary %llu handler %llu",
	       e->primary, e->handler);
	expect(e->handler <= e->wake, "handler %llu wake %llu", e->handler, e->wake);
	expect(!e->resumed || (e->wake <= e->resumed && e->resumed <= e->task),
	       "wake %llu resumed %llu task %llu", e->wake, e->resumed, e->task);
	expect(e->wake <= e->task, "wake %llu task %llu", e->wake, e->task);
	expect(e->task <= user, "task %llu user %llu", e->task, (unsigned long long)user);
	expect(!e->raise_cpu && !e->handler_cpu && !e->task_cpu, "CPUs %u %u %u", e->raise_cpu,
	       e->handler_cpu, e->task_cpu);
}

/* Returns the cycles at the return to user space. */
static uint64_t wait_once(int fd, const char *how, struct intsight_event *event)
{
	struct intsight_arm_wait both = { .arm = arm_of(5 * MS, 0, 1),
					  .event = { .size = sizeof(both.event) } };
	uint64_t before = now_ns(), armed, user;

	if (!strcmp(how, "arm and wait")) {
		request(fd, INTSIGHT_IOC_ARM_WAIT, &both, how);
		user = cycles();
		armed = now_ns();
		*event = both.event;
	} else {
		must_arm(fd, 5 * MS, 0, 0);
		armed = now_ns();
		if (!strcmp(how, "poll"))
			expect(comes(fd, FAR_MS), "no event");
		if (!strcmp(how, "wait")) {
			*event = (struct intsight_event){ .size = sizeof(*event) };
			request(fd, INTSIGHT_IOC_WAIT, event, how);
		} else {
			*event = read_event(fd);
		}
		user = cycles();
	}
	expect(event->due_ns >= before + 5 * MS && event->due_ns <= armed + 5 * MS,
	       "due %llu, armed at %llu", event->due_ns, (unsigned long long)armed);
	expect(now_ns() >= event->due_ns, "too early");
	return user;
}

static void waits(enum intsight_mode mode)
{
	static const char *const hows[] = { "read", "poll", "wait", "arm and wait" };
	int fd = open_device(0);
	struct intsight_counts counts;
	struct intsight_event event;
	uint64_t before, slept = 0, by_line = mode == INTSIGHT_MODE_TIMER ? 0 : 80;
	unsigned int irq;

	on_cpu0();
	be_fifo(PRIORITY);
	set_mode(fd, mode);
	irq = info_of(fd).irq;
	before = interrupts(irq);
	for (uint64_t i = 0; i < 80; i++) {
		uint64_t user = wait_once(fd, hows[i / 20], &event);

		check_event(&event, user, mode);
		expect(event.seq == i + 1 && !event.missed, "seq %llu missed %llu", event.seq,
		       event.missed);
		expect(!event.resumed || i / 20 != 1, "poll: resumed %llu", event.resumed);
		slept += !!event.resumed;
	}
	/* Three of four sleep in the call that gets the event, unless the host is busy elsewhere. */
	expect(slept >= (getenv("EXACT") ? 40 : 1), "only %llu of 60 slept", (unsigned long long)slept);
	counts = settled(fd);
	expect(counts.raised == 80 && counts.read == 80, "raised %llu read %llu", counts.raised,
	       counts.read);
	expect(interrupts(irq) - before == by_line, "%llu interrupts",
	       (unsigned long long)(interrupts(irq) - before));
}

static void test_driver(void)
{
	waits(INTSIGHT_MODE_DRIVER);
}

static void test_direct(void)
{
	waits(INTSIGHT_MODE_DIRECT);
}

/* No line is in between. */
static void test_timer(void)
{
	waits(INTSIGHT_MODE_TIMER);
}

static void test_nonblocking(void)
{
	struct intsight_arm_wait both = { .arm = arm_of(20 * MS, 0, 1),
					  .event = { .size = sizeof(both.event) } };
	struct intsight_event event = { .size = sizeof(event) };
	int fd = open_device(O_NONBLOCK);

	expect(!comes(fd, 0), "an event before the first raise");
	refused(read(fd, &event, sizeof(event)), EAGAIN);
	refused(ioctl(fd, INTSIGHT_IOC_WAIT, &event), EAGAIN);
	/* It does arm: the event can be polled for. */
	refused(ioctl(fd, INTSIGHT_IOC_ARM_WAIT, &both), EAGAIN);
	expect(comes(fd, FAR_MS), "no event");
	event = read_event(fd);
	expect(event.seq == 1 && event.task >= event.wake, "seq %llu", event.seq);
	expect(!comes(fd, 0), "the same event again");
	refused(read(fd, &event, sizeof(event)), EAGAIN);
}

/* What was not read in time is counted in the event that is read. */
static void test_missed(void)
{
	int fd = open_device(0), other = open_device(0);
	struct intsight_event event;

	must_arm(fd, MS, 10 * MS, 10);
	sleep_ms(300);
	event = read_event(fd);
	expect(event.missed + 1 == event.seq && event.seq == settled(fd).raised,
	       "seq %llu missed %llu", event.seq, event.missed);
	event = read_event(other);
	expect(event.missed + 1 == event.seq, "other file: missed %llu", event.missed);
	/* Arming forgets for the caller, and for nobody else. */
	must_arm(fd, MS, 0, 1);
	event = read_event(fd);
	expect(!event.missed, "missed %llu", event.missed);
	must_arm(fd, MS, 0, 1);
	sleep_ms(50);
	event = read_event(other);
	expect(event.missed == 1, "other file: missed %llu", event.missed);
}

/* Reads until nothing comes. Returns how many events there were, missed ones included. */
static uint64_t read_all(int fd, uint64_t *nr_read)
{
	uint64_t sum = 0;

	for (*nr_read = 0; comes(fd, FAR_MS / 4); ++*nr_read)
		sum += 1 + read_event(fd).missed;
	return sum;
}

static void test_periodic(void)
{
	int fd = open_device(0);
	struct intsight_counts counts;
	uint64_t seen, nr_read;

	be_fifo(PRIORITY);
	must_arm(fd, MS, MS, 200);
	seen = read_all(fd, &nr_read);
	counts = settled(fd);
	expect(counts.expired == 200, "expired %llu", counts.expired);
	expect(seen == counts.handled, "seen %llu handled %llu", (unsigned long long)seen,
	       counts.handled);
	expect(counts.read == nr_read, "read %llu", counts.read);
	/* Until disarmed; the file can then be armed again at once. */
	must_arm(fd, 0, 100000, 0);
	sleep_ms(20);
	refused(arm(fd, 0, 0, 1), EBUSY);
	counts = settled(fd);
	expect(counts.raised > 210, "raised %llu", counts.raised);
	sleep_ms(20);
	expect(counts_of(fd).raised == counts.raised, "raised after disarm");
	must_arm(fd, 0, 0, 0);
	read_event(fd);
	/* The longest delay can be taken back. */
	must_arm(fd, INTSIGHT_MAX_DELAY_NS, INTSIGHT_MAX_DELAY_NS, ~0ULL);
	expect(settled(fd).raised == counts.raised + 1, "raised while disarmed");
}

/* Raises that come while the last one is handled are not made, and counted. */
static void test_overruns(void)
{
	int fd = open_device(0);
	struct intsight_counts counts;
	uint64_t seen, nr_read;

	set_disturb(fd, INTSIGHT_DISTURB_HANDLER, 3 * MS, 1, 1);
	must_arm(fd, MS, MS, 60);
	seen = read_all(fd, &nr_read);
	counts = settled(fd);
	expect(counts.expired == 60, "expired %llu", counts.expired);
	expect(counts.overruns >= 20, "overruns %llu", counts.overruns);
	expect(seen == counts.handled, "seen %llu handled %llu", (unsigned long long)seen,
	       counts.handled);
	expect(disturbed(fd, INTSIGHT_DISTURB_HANDLER).done == counts.handled, "not all disturbed");
}

/* Every second raise of ten is late by what was asked for, and the others need not be. */
static void disturb_one(int fd, int kind, uint64_t busy)
{
	/* There softirqs have threads of their own, and no priority. */
	bool spared = kind == INTSIGHT_DISTURB_TASKLET && is_rt() &&
		      info_of(fd).mode != INTSIGHT_MODE_DRIVER;
	uint64_t before = counts_of(fd).raised, least = ~0ULL;
	struct intsight_disturb got;

	set_disturb(fd, kind, 2 * MS, before + 2, 2);
	for (int i = 0; i < 10; i++) {
		struct intsight_event event;
		uint64_t late;

		must_arm(fd, 10 * MS, 0, 1);
		event = read_event(fd);
		late = event.task - event.raise;
		if (i % 2)
			expect(late >= busy || spared, "%s: only %llu cycles late", kinds[kind],
			       (unsigned long long)late);
		else if (late < least)
			least = late;
		if (kind == INTSIGHT_DISTURB_HANDLER && i % 2)
			expect(event.wake - event.handler >= busy, "not in the handler");
	}
	expect(least < busy, "%s: never less than %llu cycles late", kinds[kind],
	       (unsigned long long)least);
	settled(fd);
	got = disturbed(fd, kind);
	expect(got.busy_ns == 2 * MS && got.first == before + 2 && got.every == 2, "%s was lost",
	       kinds[kind]);
	expect(got.done == 5 && got.cycles >= 5 * busy, "%s: %llu done, %llu cycles", kinds[kind],
	       got.done, got.cycles);
	/* Off is off, and once is once. */
	set_disturb(fd, kind, 0, 0, 0);
	must_arm(fd, MS, 0, 1);
	read_event(fd);
	set_disturb(fd, kind, MS, before + 13, 0);
	must_arm(fd, MS, 5 * MS, 4);
	sleep_ms(100);
	settled(fd);
	expect(disturbed(fd, kind).done == 1, "%s: %llu done", kinds[kind],
	       disturbed(fd, kind).done);
	set_disturb(fd, kind, 0, 0, 0);
}

static void disturbances(unsigned long mode)
{
	int fd = open_device(0);
	uint64_t busy = 2 * info_of(fd).cycles_khz;

	on_cpu0();
	be_fifo(PRIORITY);
	set_mode(fd, mode);
	for (int kind = 0; kind < INTSIGHT_NR_DISTURB; kind++)
		disturb_one(fd, kind, busy);
}

static void test_disturb_driver(void)
{
	disturbances(INTSIGHT_MODE_DRIVER);
}

static void test_disturb_direct(void)
{
	disturbances(INTSIGHT_MODE_DIRECT);
}

static void test_disturb_timer(void)
{
	disturbances(INTSIGHT_MODE_TIMER);
}

/* Several kinds meet one raise. */
static void test_disturb_all(void)
{
	int fd = open_device(0);
	uint64_t busy = info_of(fd).cycles_khz;
	struct intsight_event event;

	on_cpu0();
	be_fifo(PRIORITY);
	for (int kind = 0; kind < INTSIGHT_NR_DISTURB; kind++)
		set_disturb(fd, kind, MS, 1, 1);
	for (int i = 0; i < 5; i++) {
		must_arm(fd, 20 * MS, 0, 1);
		event = read_event(fd);
		expect(event.task - event.raise >= INTSIGHT_NR_DISTURB * busy,
		       "only %llu cycles late", event.task - event.raise);
	}
	settled(fd);
	for (int kind = 0; kind < INTSIGHT_NR_DISTURB; kind++)
		expect(disturbed(fd, kind).done == 5, "%s: %llu done", kinds[kind],
		       disturbed(fd, kind).done);
}

#define NR_WAITERS	4

/* Written by the children. */
struct seen {
	struct intsight_event event;
	uint64_t user;
};

/* All get the event; the one with the highest priority is first, though it came last. */
static void test_priorities(void)
{
	struct seen *seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				 -1, 0);
	pid_t children[NR_WAITERS];
	int fd = open_device(0);

	if (seen == MAP_FAILED)
		die("mmap");
	on_cpu0();
	for (int i = 0; i < NR_WAITERS; i++) {
		children[i] = start();
		if (!children[i]) {
			int own = open_device(0);

			be_fifo(10 * (i + 1));
			lock_memory();
			seen[i].event = read_event(own);
			seen[i].user = cycles();
			end_child();
		}
		until_asleep(children[i]);
	}
	must_arm(fd, 20 * MS, 0, 1);
	for (int i = 0; i < NR_WAITERS; i++)
		join(children[i]);
	for (int i = 0; i < NR_WAITERS; i++)
		expect(seen[i].event.seq == 1 && seen[i].event.resumed, "waiter %d: seq %llu", i,
		       seen[i].event.seq);
	for (int i = 1; i < NR_WAITERS; i++)
		expect(seen[i].user < seen[i - 1].event.task, "FIFO %d was after FIFO %d",
		       10 * (i + 1), 10 * i);
	expect(settled(fd).read == NR_WAITERS, "read");
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "driver", test_driver },
		{ "direct", test_direct },
		{ "timer", test_timer },
		{ "nonblocking", test_nonblocking },
		{ "missed", test_missed },
		{ "periodic", test_periodic },
		{ "overruns", test_overruns },
		{ "disturb_driver", test_disturb_driver },
		{ "disturb_direct", test_disturb_direct },
		{ "disturb_timer", test_disturb_timer },
		{ "disturb_all", test_disturb_all },
		{ "priorities", test_priorities },
		{ }
	};

	return run_test(tests, argc, argv);
}
