// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * devsegment - a task that runs handlers (devlazy.h) and uses a segment of its local descriptor
 * table. The kernel loads the segment when it switches to the task, from the table that is loaded;
 * that of the lender has none.
 */
#define _GNU_SOURCE
#include <sys/syscall.h>

#include "devlazy.h"

#ifdef __x86_64__
#include <asm/ldt.h>

/* Entry 0 of the local table, for user space (SDM 3, 3.4.2). */
#define SELECTOR	(0 << 3 | 1 << 2 | 3)

static volatile uint32_t *segment;

static void make_segment(void)
{
	struct user_desc entry = { .limit = 0, .limit_in_pages = 1, .seg_32bit = 1, .useable = 1 };

	segment = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
		       -1, 0);
	if (segment == MAP_FAILED)
		die("page below 2 GiB");
	entry.base_addr = (uintptr_t)segment;
	if (syscall(SYS_modify_ldt, 1, &entry, sizeof(entry)))
		die("modify_ldt");
}

/*
 * The lender was forked before there is a table, and has no copy. The selector is of the thread that
 * waits.
 */
static void look_at_segment(uint64_t round)
{
	uint32_t seen;

	if (round == 1) {
		make_segment();
		__asm__ volatile("mov %0, %%gs" : : "r"(SELECTOR));
	}
	*segment = round;
	__asm__ volatile("movl %%gs:0, %0" : "=r"(seen) : : "memory");
	expect(seen == round, "round %llu: %u", (unsigned long long)round, seen);
}
#else
static void look_at_segment(uint64_t round)
{
	(void)round;
	quit("segments are x86's");
}
#endif

static void wait_a_little(void)
{
	sleep_ms(1);
}

static void test_segments(void)
{
	look = look_at_segment;
	beside(wait_a_little);
}

static const struct test tests[] = {
	{ "segments", test_segments },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return run_test(tests, argc, argv);
}
