// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * devmisuse - what /dev/intsight0 must survive: requests that are wrong, in the wrong state or from
 * several tasks at once, signals, and files that are closed under a sleeper.
 *
 * One test per call (devtest.h); the module has just been loaded and nobody else uses the device.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/syscall.h>

#include "devtest.h"

/* All that user space can see of a device. */
struct state {
	struct intsight_info info;
	struct intsight_counts counts;
	struct intsight_disturb disturbs[INTSIGHT_NR_DISTURB];
};

static struct state state_of(int fd)
{
	struct state state;

	memset(&state, 0, sizeof(state));
	state.info = info_of(fd);
	state.counts = counts_of(fd);
	for (int kind = 0; kind < INTSIGHT_NR_DISTURB; kind++)
		state.disturbs[kind] = disturbed(fd, kind);
	return state;
}

/* A field of a request, and what makes it wrong. */
struct wrong {
	const char *name;
	size_t offset, width;
	uint64_t value;
};

#define WRONG(type, field, value) \
	{ #type "." #field, offsetof(struct type, field), sizeof(((struct type *)0)->field), value }
#define HEAD(type) \
	WRONG(type, size, 0), WRONG(type, size, sizeof(struct type) - 1), \
	WRONG(type, size, sizeof(struct type) + 8), WRONG(type, size, ~0U), \
	WRONG(type, flags, 1), WRONG(type, flags, 1U << 31)

static void refuse_each(int fd, unsigned long what, const void *good, size_t size,
			const struct wrong *wrong)
{
	struct state before = state_of(fd), after;
	uint64_t request[32];

	for (; wrong->name; wrong++) {
		memcpy(request, good, size);
		memcpy((char *)request + wrong->offset, &wrong->value, wrong->width);
		errno = 0;
		expect(ioctl(fd, what, request) < 0 && errno == EINVAL, "%s = %llx: errno %d",
		       wrong->name, (unsigned long long)wrong->value, errno);
		after = state_of(fd);
		expect(!memcmp(&before, &after, sizeof(before)), "%s = %llx changed something",
		       wrong->name, (unsigned long long)wrong->value);
	}
	/* Nowhere, nearly nowhere, and only its first half. */
	refused(ioctl(fd, what, NULL), EFAULT);
	refused(ioctl(fd, what, (void *)-4096L), EFAULT);
	memcpy(request, good, size);
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED || munmap(page + 4096, 4096))
		die("memory");
	memcpy(page + 4096 - size / 2, good, size / 2);
	refused(ioctl(fd, what, page + 4096 - size / 2), EFAULT);
	after = state_of(fd);
	expect(!memcmp(&before, &after, sizeof(before)), "a bad address changed something");
}

static void test_bad_info(void)
{
	static const struct wrong wrong[] = {
		HEAD(intsight_info), WRONG(intsight_info, reserved[0], 1),
		WRONG(intsight_info, reserved[1], 1ULL << 63), { }
	};
	static const struct wrong wrong_counts[] = { HEAD(intsight_counts), { } };
	struct intsight_counts counts = { .size = sizeof(counts) };
	struct intsight_info info = { .size = sizeof(info) };
	int fd = open_device(0);

	refuse_each(fd, INTSIGHT_IOC_INFO, &info, sizeof(info), wrong);
	refuse_each(fd, INTSIGHT_IOC_COUNTS, &counts, sizeof(counts), wrong_counts);
}

static void test_bad_arm(void)
{
	static const struct wrong wrong[] = {
		HEAD(intsight_arm),
		WRONG(intsight_arm, delay_ns, INTSIGHT_MAX_DELAY_NS + 1),
		WRONG(intsight_arm, delay_ns, ~0ULL),
		WRONG(intsight_arm, period_ns, 1),
		WRONG(intsight_arm, period_ns, INTSIGHT_MIN_PERIOD_NS - 1),
		WRONG(intsight_arm, period_ns, INTSIGHT_MAX_DELAY_NS + 1),
		WRONG(intsight_arm, period_ns, ~0ULL),
		WRONG(intsight_arm, count, 2),
		WRONG(intsight_arm, count, ~0ULL),
		WRONG(intsight_arm, reserved[0], 1),
		WRONG(intsight_arm, reserved[1], 1),
		{ }
	};
	static const struct wrong wrong_event[] = {
		WRONG(intsight_arm_wait, event.size, 0),
		WRONG(intsight_arm_wait, event.size, sizeof(struct intsight_event) + 1),
		WRONG(intsight_arm_wait, event.flags, INTSIGHT_EVENT_HARDIRQ),
		{ }
	};
	static const struct wrong wrong_wait[] = { HEAD(intsight_event), { } };
	struct intsight_event event = { .size = sizeof(event) };
	struct intsight_arm_wait both = { .arm = arm_of(0, 0, 1), .event = event };
	int fd = open_device(O_NONBLOCK);

	refuse_each(fd, INTSIGHT_IOC_ARM, &both.arm, sizeof(both.arm), wrong);
	refuse_each(fd, INTSIGHT_IOC_ARM_WAIT, &both, sizeof(both), wrong);
	refuse_each(fd, INTSIGHT_IOC_ARM_WAIT, &both, sizeof(both), wrong_event);
	refuse_each(fd, INTSIGHT_IOC_WAIT, &event, sizeof(event), wrong_wait);
	expect(!comes(fd, 100), "one of them has armed it");
	expect(!settled(fd).expired, "one of them has armed it");
}

static void test_bad_disturb(void)
{
	static const struct wrong wrong[] = {
		HEAD(intsight_disturb),
		WRONG(intsight_disturb, kind, INTSIGHT_NR_DISTURB),
		WRONG(intsight_disturb, kind, ~0U),
		WRONG(intsight_disturb, reserved, 1),
		WRONG(intsight_disturb, busy_ns, INTSIGHT_MAX_BUSY_NS + 1),
		WRONG(intsight_disturb, busy_ns, ~0ULL),
		WRONG(intsight_disturb, first, 0),
		WRONG(intsight_disturb, first, 1),
		WRONG(intsight_disturb, done, 1),
		WRONG(intsight_disturb, cycles, 1),
		{ }
	};
	static const struct wrong wrong_get[] = {
		HEAD(intsight_disturb), WRONG(intsight_disturb, kind, INTSIGHT_NR_DISTURB),
		WRONG(intsight_disturb, reserved, 1), { }
	};
	struct intsight_disturb good = { .size = sizeof(good), .kind = INTSIGHT_DISTURB_TASKLET,
					 .busy_ns = 1000, .first = 2, .every = 3 };
	int fd = open_device(0);

	must_arm(fd, 0, 0, 1);
	read_event(fd);
	request(fd, INTSIGHT_IOC_DISTURB, &good, "disturb");
	refuse_each(fd, INTSIGHT_IOC_DISTURB, &good, sizeof(good), wrong);
	refuse_each(fd, INTSIGHT_IOC_DISTURBED, &good, sizeof(good), wrong_get);
}

static void test_bad_calls(void)
{
	struct intsight_event events[2];
	int fd = open_device(0);
	struct state before = state_of(fd), after;
	char small[sizeof(events[0]) - 1];

	refused(ioctl(fd, INTSIGHT_IOC_MODE, INTSIGHT_MODE_TIMER + 1), EINVAL);
	refused(ioctl(fd, INTSIGHT_IOC_MODE, ~0UL), EINVAL);
	refused(ioctl(fd, INTSIGHT_IOC_MODE, 1UL << 32), EINVAL);
	refused(ioctl(fd, INTSIGHT_IOC_DISARM, 1), EINVAL);
	refused(ioctl(fd, _IO('i', 0xc9), 0), ENOTTY);
	refused(ioctl(fd, _IOW('i', 0xc2, char[8]), events), ENOTTY);
	refused(ioctl(fd, _IOR('i', 0xc2, struct intsight_arm), events), ENOTTY);
	refused(ioctl(fd, _IO('t', 0xc3), 0), ENOTTY);
	refused(ioctl(fd, 0, 0), ENOTTY);
	refused(read(fd, small, sizeof(small)), EINVAL);
	refused(read(fd, small, 0), EINVAL);
	refused(write(fd, events, sizeof(events)), EINVAL);
	refused(lseek(fd, 0, SEEK_SET), ESPIPE);
	refused(pread(fd, events, sizeof(events), 0), ESPIPE);
	expect(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == ENODEV,
	       "errno %d", errno);
	after = state_of(fd);
	expect(!memcmp(&before, &after, sizeof(before)), "something changed");
	/* One event at a time, however much room there is. */
	must_arm(fd, 0, 0, 1);
	expect(read(fd, events, sizeof(events)) == sizeof(events[0]), "read");
	must_arm(fd, 0, 0, 1);
	sleep_ms(20);
	refused(read(fd, (void *)-4096L, sizeof(events[0])), EFAULT);
}

/* What is refused while the device is armed or somebody sleeps, and changes nothing. */
static void test_busy(void)
{
	struct intsight_disturb off = { .size = sizeof(off) };
	int fd = open_device(0), other = open_device(0);
	struct state before, after;
	pid_t child;

	must_arm(fd, 3600000 * MS, 0, 1);
	before = state_of(fd);
	refused(arm(fd, 0, 0, 1), EBUSY);
	refused(arm(other, 0, 0, 1), EBUSY);
	refused(ioctl(other, INTSIGHT_IOC_MODE, INTSIGHT_MODE_DIRECT), EBUSY);
	refused(ioctl(other, INTSIGHT_IOC_DISTURB, &off), EBUSY);
	after = state_of(fd);
	expect(!memcmp(&before, &after, sizeof(before)), "something changed");
	settled(other);

	set_mode(fd, INTSIGHT_MODE_DIRECT);
	child = start();
	if (!child) {
		read_event(fd);
		end_child();
	}
	until_asleep(child);
	refused(ioctl(fd, INTSIGHT_IOC_MODE, INTSIGHT_MODE_DRIVER), EBUSY);
	/* One task at a time in direct mode, but as many as like to poll. */
	refused(read(other, &(struct intsight_event){}, sizeof(struct intsight_event)), EBUSY);
	must_arm(fd, 50 * MS, 0, 1);
	expect(comes(other, FAR_MS), "no event for poll");
	join(child);
	set_mode(fd, INTSIGHT_MODE_DRIVER);
	expect(settled(fd).raised == 1, "raised %llu", counts_of(fd).raised);
}

static void nothing(int signal)
{
	(void)signal;
}

static void on_signal(int flags)
{
	struct sigaction action = { .sa_handler = nothing, .sa_flags = flags };

	sigaction(SIGUSR1, &action, NULL);
}

static void test_signals(void)
{
	struct intsight_arm_wait both = { .arm = arm_of(3600000 * MS, 0, 1),
					  .event = { .size = sizeof(both.event) } };
	struct intsight_event event = { .size = sizeof(event) };

	for (int mode = 0; mode < 2; mode++) {
		for (int how = 0; how < 4; how++) {
			int fd = open_device(0);
			pid_t child;

			set_mode(fd, mode);
			on_signal(how == 3 ? SA_RESTART : 0);
			child = start();
			if (!child) {
				if (how == 0)
					refused(read(fd, &event, sizeof(event)), EINTR);
				else if (how == 1)
					refused(ioctl(fd, INTSIGHT_IOC_WAIT, &event), EINTR);
				else if (how == 2)
					refused(ioctl(fd, INTSIGHT_IOC_ARM_WAIT, &both), EINTR);
				else
					read_event(fd);
				end_child();
			}
			until_asleep(child);
			kill(child, SIGUSR1);
			if (how < 3)
				join(child);
			if (how == 2)
				/* Still armed, by our file: no second time, not yet an event. */
				refused(arm(fd, 0, 0, 1), EBUSY);
			request(fd, INTSIGHT_IOC_DISARM, NULL, "disarm");
			must_arm(fd, 10 * MS, 0, 1);
			if (how == 3)
				join(child); /* restarted, and got it */
			else
				read_event(fd);
			settled(fd);
			close(fd);
		}
	}
}

static int shared_fd;

static void *read_shared(void *tid)
{
	static struct intsight_event event;

	__atomic_store_n((pid_t *)tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	return read(shared_fd, &event, sizeof(event)) == sizeof(event) ? &event : NULL;
}

/* The file is closed, and its number used again, while a thread sleeps in read(). */
static void test_close_asleep(void)
{
	pthread_t thread;
	pid_t tid = 0;
	void *event;
	int fd;

	for (int mode = 0; mode < 2; mode++) {
		fd = open_device(0);
		set_mode(fd, mode);
		shared_fd = open_device(0);
		/* It goes on for ever: only the file's end stops it. */
		must_arm(shared_fd, 1500 * MS, MS, 0);
		tid = 0;
		if (pthread_create(&thread, NULL, read_shared, &tid))
			die("thread");
		while (!__atomic_load_n(&tid, __ATOMIC_ACQUIRE))
			sleep_ms(1);
		until_asleep(tid);
		close(shared_fd);
		expect(open("/dev/null", O_RDONLY) == shared_fd, "another number");
		pthread_join(thread, &event);
		expect(event, "read failed");
		close(shared_fd);
		/* The last user of the closed file was that read. */
		must_arm(fd, 10 * MS, 0, 1);
		read_event(fd);
		settled(fd);
		close(fd);
	}
}

/* Whoever armed it is killed in his sleep: the device is silent and others can have it. */
static void test_killed_owner(void)
{
	for (int mode = 0; mode < 2; mode++) {
		int fd = open_device(0), status;
		uint64_t raised;
		pid_t child;

		set_mode(fd, mode);
		child = start();
		if (!child) {
			int own = open_device(0);

			/* Some come, then there is a long sleep. */
			must_arm(own, MS, 50 * MS, 0);
			for (;;)
				read_event(own);
		}
		expect(comes(fd, FAR_MS), "no event");
		until_asleep(child);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		expect(WIFSIGNALED(status), "status %x", status);
		raised = counts_of(fd).raised;
		sleep_ms(150);
		expect(counts_of(fd).raised == raised, "still armed");
		set_mode(fd, !mode);
		must_arm(fd, MS, 0, 1);
		read_event(fd);
		settled(fd);
		set_mode(fd, INTSIGHT_MODE_DRIVER);
		close(fd);
	}
}

static uint32_t seed;

static uint32_t chance(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

/* Any request at any time; only errors that the device may answer with. */
static void act(int *fd)
{
	struct intsight_event event = { .size = sizeof(event) };
	struct intsight_disturb set = { .size = sizeof(set), .kind = chance(INTSIGHT_NR_DISTURB),
					.busy_ns = chance(2) * 50000, .every = chance(3) };
	int ret = 0;

	switch (chance(8)) {
	case 0:
	case 1:
		ret = arm(*fd, chance(1000000), chance(2) * 100000, 1);
		break;
	case 2:
		ret = ioctl(*fd, INTSIGHT_IOC_DISARM, 0);
		break;
	case 3:
		ret = ioctl(*fd, INTSIGHT_IOC_MODE, chance(INTSIGHT_MODE_TIMER + 1));
		break;
	case 4:
		set.first = counts_of(*fd).raised + 1 + chance(3);
		ret = ioctl(*fd, INTSIGHT_IOC_DISTURB, &set);
		break;
	case 5:
		ret = read(*fd, &event, sizeof(event));
		break;
	case 6:
		comes(*fd, 1);
		break;
	case 7:
		close(*fd);
		*fd = open_device(chance(2) ? O_NONBLOCK : 0);
		break;
	}
	/* EINVAL: somebody raised between our look at the counts and our request. */
	expect(ret >= 0 || errno == EBUSY || errno == EAGAIN || errno == EINTR ||
	       (errno == EINVAL && set.first), "errno %d", errno);
}

static void test_many(void)
{
	struct itimerspec often = { .it_value.tv_nsec = 2 * MS, .it_interval.tv_nsec = 2 * MS };
	struct sigevent signal = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	pid_t children[4];
	timer_t timer;
	int fd;

	on_signal(0);
	for (int i = 0; i < 4; i++) {
		children[i] = start();
		if (children[i])
			continue;
		seed = i;
		/* No read lasts longer. */
		if (timer_create(CLOCK_MONOTONIC, &signal, &timer) ||
		    timer_settime(timer, 0, &often, NULL))
			die("timer");
		fd = open_device(O_NONBLOCK);
		for (int nr = 0; nr < 1000; nr++)
			act(&fd);
		end_child();
	}
	for (int i = 0; i < 4; i++)
		join(children[i]);
	fd = open_device(0);
	settled(fd);
	for (int kind = 0; kind < INTSIGHT_NR_DISTURB; kind++)
		set_disturb(fd, kind, 0, 0, 0);
	must_arm(fd, MS, 0, 1);
	read_event(fd);
	expect(settled(fd).raised > 20, "raised %llu", counts_of(fd).raised);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = {
		{ "bad_info", test_bad_info },
		{ "bad_arm", test_bad_arm },
		{ "bad_disturb", test_bad_disturb },
		{ "bad_calls", test_bad_calls },
		{ "busy", test_busy },
		{ "signals", test_signals },
		{ "close_asleep", test_close_asleep },
		{ "killed_owner", test_killed_owner },
		{ "many", test_many },
		{ }
	};

	return run_test(tests, argc, argv);
}
