// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A path in user space, for the test of the flame graph (../flame.rs): over a system call, a sleep,
 * memory that is touched for the first time, and long enough for timer ticks. Prints what each run
 * took by the clock that counts instructions.
 */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define stamp(id)								\
({										\
	uint32_t low, high;							\
										\
	__asm__ volatile(".byte 0x0f, 0x1f, 0x80\n\t.long 0x51a70000 | %c2\n\trdtsc" \
			 : "=a" (low), "=d" (high) : "i" (id) : "memory");	\
	(uint64_t)high << 32 | low;						\
})
#elif defined(__aarch64__)
/* The module lets user space read the cycle counter. */
#define stamp(id)								\
({										\
	uint64_t now;								\
										\
	__asm__ volatile("movz xzr, #(0x5a00 | %c1)\n\tmrs %0, pmccntr_el0"	\
			 : "=r" (now) : "i" (id) : "memory");			\
	now;									\
})
#endif

static void nothing(void)
{
}

static void call_system(void)
{
	getppid();
}

static void wait_a_little(void)
{
	struct timespec time = { .tv_nsec = 100000 };

	nanosleep(&time, NULL);
}

static void touch(void)
{
	char *memory = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 1 << 16; i += 1024)
		memory[i] = 1;
	munmap(memory, 1 << 16);
}

static void last(void)
{
	for (volatile int i = 0; i < 2000000; i++)
		;
}

int main(void)
{
	void (*const works[])(void) = { nothing, call_system, wait_a_little, touch, last };
	uint64_t took[5];

	for (int i = 0; i < 5; i++) {
		uint64_t began = stamp(40);

		works[i]();
		took[i] = stamp(41) - began;
	}
	for (int i = 0; i < 5; i++)
		printf("%llu\n", (unsigned long long)took[i]);
	return 0;
}
