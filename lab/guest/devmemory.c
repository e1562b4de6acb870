// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * devmemory - what others do to the memory and the life of a task that runs handlers while the
 * address space of another one is loaded (devlazy.h).
 */
#define _GNU_SOURCE
#include <linux/membarrier.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "devlazy.h"

#define NR_PAGES	64
#define PAGE		4096UL

/*
 * TLB: a page is replaced by one with a higher number. Who has seen a number published must see no
 * older page.
 */
static uint64_t *page;
static atomic_ulong published;

static void look_at_page(uint64_t round)
{
	uint64_t least = published, seen = *(volatile uint64_t *)page;

	expect(seen >= least, "round %llu: %llu, published %llu", (unsigned long long)round,
	       (unsigned long long)seen, (unsigned long long)least);
}

static uint64_t *new_page(void)
{
	void *new = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (new == MAP_FAILED)
		die("page");
	return new;
}

static void replace_page(void)
{
	uint64_t *new = new_page();

	*new = published + 1;
	if (mprotect(new, PAGE, PROT_READ) ||
	    mremap(new, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page) != page)
		die("replace");
	published++;
	look_at_page(0);
}

static void test_tlb(void)
{
	page = new_page();
	look = look_at_page;
	beside(replace_page);
}

/*
 * membarrier(): two tasks write one variable each and read the other one's; the one that waits has
 * no barrier. One of them must see what the other has written.
 */
#define MAX_BARRIERS	1000000UL

static volatile uint64_t fast, slow;
static uint64_t seen_by_fast[NR_ROUNDS + 1], *seen_by_slow;
static uint64_t nr_barriers;

static void write_and_look(uint64_t round)
{
	fast = round;
	__asm__ volatile("" ::: "memory");
	seen_by_fast[round] = slow;
}

static void barrier_all(void)
{
	static const int commands[] = {
		MEMBARRIER_CMD_PRIVATE_EXPEDITED, MEMBARRIER_CMD_GLOBAL_EXPEDITED,
		MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE,
	};

	if (nr_barriers == MAX_BARRIERS) {
		sleep_ms(1);
		return;
	}
	slow = ++nr_barriers;
	if (syscall(SYS_membarrier, commands[nr_barriers % 3], 0, 0))
		die("membarrier");
	seen_by_slow[nr_barriers] = fast;
}

static void test_membarrier(void)
{
	seen_by_slow = calloc(MAX_BARRIERS + 1, sizeof(*seen_by_slow));
	if (!seen_by_slow ||
	    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) ||
	    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) ||
	    syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0))
		die("membarrier");
	look = write_and_look;
	beside(barrier_all);
	for (uint64_t i = 1; i <= NR_ROUNDS; i++) {
		uint64_t next = seen_by_fast[i] + 1;

		expect(next > nr_barriers || seen_by_slow[next] >= i,
		       "round %llu saw %llu, which saw %llu", (unsigned long long)i,
		       (unsigned long long)next - 1, (unsigned long long)seen_by_slow[next]);
	}
}

/* Swap: what was written comes back, and the task waits for it again and again. */
static unsigned char *pages;

static void look_at_pages(uint64_t round)
{
	for (size_t i = 0; i < NR_PAGES; i++) {
		expect(pages[i * PAGE] == (unsigned char)(round - 1 + i), "page %zu: %u", i,
		       pages[i * PAGE]);
		pages[i * PAGE] = round + i;
	}
}

static void page_out(void)
{
	if (madvise(pages, NR_PAGES * PAGE, MADV_PAGEOUT))
		die("page out");
}

static void test_swap(void)
{
	struct rusage usage;

	pages = mmap(NULL, NR_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		     -1, 0);
	if (pages == MAP_FAILED)
		die("pages");
	for (size_t i = 0; i < NR_PAGES; i++)
		pages[i * PAGE] = i;
	look = look_at_pages;
	beside(page_out);
	/* Kernels without CONFIG_VM_EVENT_COUNTERS do not say it in /proc/vmstat. */
	getrusage(RUSAGE_SELF, &usage);
	printf("# swapped in %ld\n", usage.ru_majflt);
}

/* ptrace(): stopped, read and let go by another process, wherever it is. */
static uint64_t secret = 0x5ec4e7;

static void trace_once(int memory, pid_t tid)
{
	uint64_t found;
	int status;

	if (pread(memory, &found, sizeof(found), (uintptr_t)&secret) != sizeof(found))
		die("read");
	expect(found == secret, "read %llx", (unsigned long long)found);
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) || ptrace(PTRACE_INTERRUPT, tid, 0, 0) ||
	    waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
		die("stop");
	found = ptrace(PTRACE_PEEKDATA, tid, &secret, 0);
	expect(found == secret, "peeked %llx", (unsigned long long)found);
	if (ptrace(PTRACE_DETACH, tid, 0, 0))
		die("let go");
}

/* The kernel begins the interrupted read() again. */
static void trace_from_another(void)
{
	pid_t pid = getpid(), tid = waiter_tid, child = start();
	char path[32];
	int memory;

	if (child) {
		join(child);
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	memory = open(path, O_RDONLY);
	if (memory < 0)
		die("%s", path);
	for (int i = 0; i < 20; i++)
		trace_once(memory, tid);
	end_child();
}

static void test_ptrace(void)
{
	beside(trace_from_another);
}

/* Lenders that come and go: forked, another program, and the end. */
static void pass_away(void)
{
	char *const nothing[] = { "devmemory", "nothing", NULL };
	pid_t child = start();

	if (!child) {
		on_cpu0();
		execv("/proc/self/exe", nothing);
		die("exec");
	}
	join(child);
}

static void test_lenders(void)
{
	beside(pass_away);
}

/* Threads that share the address space end, and so does it, wherever it is loaded. */
static void *short_thread(void *unused)
{
	on_cpu0();
	sched_yield();
	return unused;
}

static void pass_away_in_threads(void)
{
	pthread_t threads[4];
	pid_t child = start();

	if (!child) {
		for (size_t i = 0; i < 4; i++)
			if (pthread_create(&threads[i], NULL, short_thread, NULL))
				die("thread");
		end_child();
	}
	join(child);
}

static void test_threads(void)
{
	beside(pass_away_in_threads);
}

/*
 * With a limit of time the task is running when the kernel has slept: whether a handler woke it
 * must be seen nevertheless, or no prediction ever proves wrong.
 */
static void pause_a_little(void)
{
	sleep_ms(1);
}

static void test_limited(void)
{
	limited = true;
	beside(pause_a_little);
}

/* The task itself is killed, after longer and longer. */
static void test_killed(void)
{
	pid_t lender = start_lender(), child;
	int fds[2];

	open_devices(fds);
	for (unsigned int i = 0; i < 100; i++) {
		struct timespec pause = { .tv_nsec = 5 * MS + i * 37 * US };

		child = start();
		if (!child) {
			be_waiter();
			wait_rounds(fds, UINT64_MAX);
		}
		nanosleep(&pause, NULL);
		end(child);
		balanced(fds);
	}
	end(lender);
}

/* Or becomes another program, which goes on with the devices: execs to come, descriptors. */
static void go_on(int nr, int fds[2])
{
	char text[3][16];
	char *const next[] = { "devmemory", text[0], text[1], text[2], NULL };

	be_waiter();
	wait_rounds(fds, 5);
	if (!nr)
		return;
	snprintf(text[0], sizeof(text[0]), "%d", nr - 1);
	snprintf(text[1], sizeof(text[1]), "%d", fds[0]);
	snprintf(text[2], sizeof(text[2]), "%d", fds[1]);
	execv("/proc/self/exe", next);
	die("exec");
}

/*
 * In every other life another thread than the first one waits and executes, which takes the number
 * of the first one with it.
 */
struct life {
	int nr, fds[2];
};

static void *go_on_in_thread(void *life)
{
	struct life *its = life;

	go_on(its->nr, its->fds);
	return NULL;
}

static void live(struct life *life)
{
	pthread_t thread;

	if (life->nr % 2 == 0) {
		go_on(life->nr, life->fds);
		return;
	}
	if (pthread_create(&thread, NULL, go_on_in_thread, life))
		die("thread");
	pthread_join(thread, NULL);
}

static void test_exec(void)
{
	pid_t lender = start_lender(), child;
	int fds[2];

	open_devices(fds);
	child = start();
	if (!child)
		go_on(60, fds);
	else
		join(child);
	if (!child)
		return;
	balanced(fds);
	end(lender);
}

static void test_nothing(void)
{
}

static const struct test tests[] = {
	{ "tlb", test_tlb },
	{ "membarrier", test_membarrier },
	{ "swap", test_swap },
	{ "ptrace", test_ptrace },
	{ "lenders", test_lenders },
	{ "threads", test_threads },
	{ "limited", test_limited },
	{ "killed", test_killed },
	{ "exec", test_exec },
	{ "nothing", test_nothing },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	if (argc == 4) {
		struct life life = { number(argv[1]), { number(argv[2]), number(argv[3]) } };

		live(&life);
		return 0;
	}
	return run_test(tests, argc, argv);
}
