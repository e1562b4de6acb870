/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * devlazy.h - a task that runs handlers while the address space of another one is loaded (migrate,
 * direct, las), for devmemory.c and devsegment.c.
 *
 * Such a task waits for the second device, and the first one raises three interrupts meanwhile,
 * which it is known to wait for at other times: it runs their handlers and sleeps on. Then its own
 * interrupts come. After each it looks at its memory. It is FIFO 80, on CPU 0, where ordinary tasks
 * lend it their address spaces; everything else runs where it likes.
 */
#ifndef DEVLAZY_H
#define DEVLAZY_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "devtest.h"

#define SECOND_DEVICE	"/dev/intsight1"
#define US		1000ULL
#define NR_ROUNDS	300

/* What the waiting task looks at, and who looks for the task. */
static void (*look)(uint64_t round);
static atomic_bool over, may_end;
static atomic_int waiter_tid;

/* Whether it waits with a limit of time, which is far away. */
static bool limited;

static inline void wait_and_read(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	if (limited)
		expect(poll(&pollfd, 1, FAR_MS) == 1, "events %x", pollfd.revents);
	read_event(fd);
}

/* Three wrong interrupts and a right one, then one that it has waited for before. */
static inline void round_of(int fds[2])
{
	must_arm(fds[1], 2000 * US, 0, 1);
	must_arm(fds[0], 400 * US, 400 * US, 3);
	wait_and_read(fds[1]);
	settled(fds[0]);
	must_arm(fds[0], 300 * US, 0, 1);
	wait_and_read(fds[0]);
}

static inline void be_waiter(void)
{
	on_cpu0();
	be_fifo(80);
	waiter_tid = gettid();
}

static inline void wait_rounds(int fds[2], uint64_t nr)
{
	for (uint64_t round = 1; round <= nr; round++) {
		round_of(fds);
		if (look)
			look(round);
	}
}

static inline void open_devices(int fds[2])
{
	fds[0] = open(DEVICE, O_RDWR);
	fds[1] = open(SECOND_DEVICE, O_RDWR);
	if (fds[0] < 0 || fds[1] < 0)
		die("devices");
}

static inline void balanced(int fds[2])
{
	settled(fds[0]);
	settled(fds[1]);
}

static inline void *waiting_thread(void *fds)
{
	be_waiter();
	wait_rounds(fds, NR_ROUNDS);
	over = true;
	while (!may_end)
		sleep_ms(1);
	return NULL;
}

/* An ordinary task on CPU 0 that never sleeps: the address space that is loaded. */
static inline pid_t start_lender(void)
{
	pid_t child = start();

	if (child)
		return child;
	on_cpu0();
	for (;;)
		__asm__ volatile("" ::: "memory");
}

static inline void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Waits in a thread of this process, while the calling thread does this until it is over. */
static inline void beside(void (*one)(void))
{
	pid_t lender = start_lender();
	pthread_t thread;
	int fds[2];

	open_devices(fds);
	over = false;
	if (pthread_create(&thread, NULL, waiting_thread, fds))
		die("thread");
	while (!waiter_tid)
		sleep_ms(1);
	while (!over)
		one();
	may_end = true;
	pthread_join(thread, NULL);
	waiter_tid = 0;
	balanced(fds);
	end(lender);
}

#endif /* DEVLAZY_H */
