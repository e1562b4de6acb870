// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * scenes - wakeups by a timer that are delayed by more than the CPU they end on can tell.
 *
 * moved: the task waits on CPU 0 behind hog-a, is moved to CPU 1, and waits there behind hog-b.
 * delayed: it sleeps when it has had more than its share, so that Linux 6.12 and newer leave it on
 *	its run queue, and waits behind hog-c after its wakeup.
 * nmi: an NMI comes between its wakeup and itself (module nmishot).
 *
 * online: no scene, but brings up the CPUs that maxcpus=1 left out.
 *
 * OUT.csv has a line per wakeup: when it was due, and who took how long of the wait by the clock
 * of those who did. That is the truth that `irqpath trace` is compared with.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

static const char usage[] = "usage: scenes -o OUT [-n COUNT] moved | delayed | nmi; scenes online\n";

#define US 1000ULL
#define AHEAD (4000 * US)	/* a round is planned so long before */
#define EARLY (300 * US)	/* the hogs run before the task is due */
#define LENGTH (2000 * US)	/* of each of its waits */
#define WARM_UP 3	/* rounds that are not judged */
#define STILL (25 * US)		/* no hog does less for so long: its CPU stood still */

/* What the processes tell each other; a round begins when its number is written. */
static volatile struct {
	uint64_t round, due_ns, moved_ns;
	uint64_t gap_ns[2];	/* longest time that a hog did not run for */
	pid_t task;
} *shared;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	if (clock_gettime(clock, &ts))
		die("clock");
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void sleep_until(uint64_t ns)
{
	const struct timespec ts = { ns / 1000000000, ns % 1000000000 };

	if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL))
		die("sleep");
}

/* Lets the next virtual CPU have its turn, but not each time: that takes longer than the rest. */
static void relax(uint64_t nr)
{
	if (nr % 64)
		return;
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield");
#endif
}

/*
 * Returns the longest time since begin_ns between two readings of the clock: ticks, or a virtual CPU
 * that had no turn.
 */
static uint64_t spin_until(uint64_t begin_ns, uint64_t ns)
{
	uint64_t last = begin_ns, longest = 0, nr = 0;

	while (last < ns) {
		uint64_t now;

		relax(nr++);
		now = now_ns();
		if (now - last > longest)
			longest = now - last;
		last = now;
	}
	return longest;
}

static void be(const char *name, int cpu, int priority)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (prctl(PR_SET_NAME, name) || sched_setaffinity(0, sizeof(set), &set))
		die("%s", name);
	be_fifo(priority);
}

static void move_task(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(1, &set);
	if (sched_setaffinity(shared->task, sizeof(set), &set))
		die("move");
	shared->moved_ns = now_ns();
}

/* hog-a and hog-b of every round. */
static void hog(const char *name, int cpu)
{
	uint64_t round = 0, begin_ns;

	be(name, cpu, 50);
	for (;;) {
		while (shared->round == round)
			usleep(500);
		round = shared->round;
		begin_ns = shared->due_ns - EARLY;
		sleep_until(begin_ns);
		if (!cpu) {
			shared->gap_ns[0] = spin_until(begin_ns, shared->due_ns + LENGTH + EARLY);
			continue;
		}
		spin_until(begin_ns, shared->due_ns + LENGTH);
		move_task();
		shared->gap_ns[1] = spin_until(shared->moved_ns, shared->moved_ns + LENGTH);
	}
}

/* hog-c: what the task takes in a millisecond, it takes in nine. */
static void compete(const char *name, int cpu)
{
	be(name, cpu, 0);
	if (nice(-10) != -10)
		die("nice");
	for (volatile uint64_t nr = 0;; nr++)
		relax(nr / 64);
}

static pid_t start(void (*work)(const char *, int), const char *name, int cpu)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		work(name, cpu);
	exit(0);
}

static void moved(FILE *csv, uint64_t count)
{
	start(hog, "hog-a", 0);
	start(hog, "hog-b", 1);
	for (uint64_t i = 1; i <= count; i++) {
		uint64_t ran_ns;

		be("scenes", 0, 10);
		shared->due_ns = now_ns() + AHEAD;
		shared->round = i;
		sleep_until(shared->due_ns);
		ran_ns = now_ns();
		fprintf(csv, "%lu,%lu,%d,thread:hog-a:%lu thread:hog-b:%lu\n", i, shared->due_ns,
			shared->gap_ns[0] < STILL && shared->gap_ns[1] < STILL,
			shared->moved_ns - shared->due_ns, ran_ns - shared->moved_ns);
	}
}

static void delayed(FILE *csv, uint64_t count)
{
	pid_t hog_c = start(compete, "hog-c", 0);
	clockid_t hog_c_clock;

	be("warm-up", 0, 0);	/* irqpath looks on by name */
	if (prctl(PR_SET_TIMERSLACK, 1) || clock_getcpuclockid(hog_c, &hog_c_clock))
		die("clocks");
	/* hog-c's clock has interrupts in it, and the first ones of a guest take long. */
	for (uint64_t i = 1; i <= count + WARM_UP; i++) {
		uint64_t begin_ns = now_ns(), due_ns, ran_ns, hog_c_ns;

		spin_until(begin_ns, begin_ns + LENGTH / 2);
		hog_c_ns = clock_ns(hog_c_clock);
		due_ns = now_ns() + EARLY;
		sleep_until(due_ns);
		ran_ns = now_ns();
		/* Without what it ran before the task was due. */
		hog_c_ns = clock_ns(hog_c_clock) - hog_c_ns - EARLY;
		if (i == WARM_UP)
			be("scenes", 0, 0);
		if (i <= WARM_UP)
			continue;
		fprintf(csv, "%lu,%lu,%d,thread:hog-c:%lu\n", i - WARM_UP, due_ns,
			ran_ns > due_ns + LENGTH / 2, hog_c_ns);
	}
}

static void nmi(FILE *csv, uint64_t count)
{
	int fd = open("/dev/nmishot", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		die("/dev/nmishot");
	be("scenes", 0, 10);
	for (uint64_t i = 1; i <= count; i++) {
		uint64_t shot[2];

		if (read(fd, shot, sizeof(shot)) != sizeof(shot))
			die("read");
		fprintf(csv, "%lu,%lu,1,nmi:NMI:%lu\n", i, shot[0], shot[1]);
	}
}

static void take_turns(const char *name, int cpu)
{
	be(name, cpu, 0);
	for (uint64_t nr = 0;; nr++)
		relax(nr);
}

/*
 * Linux before 6.5 calls schedule() until the CPU has come, and never pauses. Under QEMU before 8.1,
 * which gives CPU 1 what CPU 0 left of a turn, it would not come. Another task that pauses helps.
 */
static void bring_up_cpus(void)
{
	pid_t helper = start(take_turns, "take-turns", 0);
	char path[64];

	for (int cpu = 1;; cpu++) {
		int fd;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			break;
		if (write(fd, "1", 1) != 1)
			die("%s", path);
		close(fd);
	}
	kill(helper, SIGKILL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*play)(FILE *csv, uint64_t count);
	} scenes[] = { { "moved", moved }, { "delayed", delayed }, { "nmi", nmi } };
	const char *out = NULL;
	uint64_t count = 50;
	char path[512];
	FILE *csv;

	for (int opt; (opt = getopt(argc, argv, "o:n:")) != -1;) {
		switch (opt) {
		case 'o': out = optarg; break;
		case 'n': count = number(optarg); break;
		default: quit(usage);
		}
	}
	if (optind == argc - 1 && !strcmp(argv[optind], "online")) {
		bring_up_cpus();
		return 0;
	}
	if (!out || optind != argc - 1)
		quit(usage);
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	snprintf(path, sizeof(path), "%s.csv", out);
	csv = fopen(path, "w");
	if (shared == MAP_FAILED || !csv)
		die("%s", path);
	lock_memory();
	shared->task = getpid();
	fprintf(csv, "seq,due_ns,disturbed,expected\n");
	for (size_t i = 0; i < sizeof(scenes) / sizeof(*scenes); i++) {
		if (!strcmp(scenes[i].name, argv[optind])) {
			scenes[i].play(csv, count);
			if (fclose(csv))
				die("%s", path);
			return 0;
		}
	}
	quit(usage);
}
