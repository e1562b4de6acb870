// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * learn.bpf.c - an object of its own: which kernel threads wake which real-time tasks, and nothing
 * else. `irqpath tune --watch` attaches it beside the tasks that it serves, so this must cost little.
 *
 * One tracepoint, and most wakeups leave at the first test: the task is not real-time. No map is
 * looked up: a pair has a slot in the object's data, which user space reads every few seconds. It
 * frees the slots that were not used meanwhile. From the name of the thread user space knows the
 * interrupt. A wakeup that cannot wait for that look is counted apart: an interrupt's thread that is
 * ordinary serves somebody. User space reads that count ten times a second; a ring buffer would
 * interrupt the path that is to be served.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define IP_PAIR_BITS	10
#define IP_MAX_PAIRS	(1 << IP_PAIR_BITS)
#define IP_PAIR_TRIES	4
#define IP_FIRST_NORMAL	100		/* MAX_RT_PRIO (include/linux/sched/prio.h) */
#define IP_HARD_MASK	0x00ff0000	/* HARDIRQ_MASK | NMI_MASK (include/linux/preempt.h) */

char LICENSE[] SEC("license") = "GPL";

struct ip_pair {
	__u64 key;	/* the thread's number above that of the task that it wakes; 0: free */
	__u32 nr;	/* wakeups since user space looked */
	__u32 unused;
};

struct ip_pair ip_pairs[IP_MAX_PAIRS];
__u64 ip_pairs_lost;	/* wakeups that found no slot */
__u64 ip_news;		/* pairs whose thread should become real-time again, since the start */

/* Tell of kernel threads that are woken, too: whom an interrupt thread serves (--selective). */
const volatile __u8 ip_kernel_wakees;

#if defined(__TARGET_ARCH_x86)
/* A variable of its own before Linux 6.2 and since 6.15, a field of pcpu_hot in between. */
struct pcpu_hot___irqpath {
	int preempt_count;
} __attribute__((preserve_access_index));

extern const struct pcpu_hot___irqpath pcpu_hot __ksym __weak;
extern const int __preempt_count __ksym __weak;

static __always_inline __u32 ip_preempt_count(struct task_struct *current)
{
	if (&pcpu_hot)
		return ((const struct pcpu_hot___irqpath *)bpf_this_cpu_ptr(&pcpu_hot))->preempt_count;
	if (&__preempt_count)
		return *(const int *)bpf_this_cpu_ptr(&__preempt_count);
	return IP_HARD_MASK;	/* unknown: learn nothing rather than something wrong */
}
#else
struct thread_info___preempt {
	__u64 preempt_count;
} __attribute__((preserve_access_index));

static __always_inline __u32 ip_preempt_count(struct task_struct *current)
{
	struct thread_info___preempt *info = (void *)&current->thread_info;

	return info->preempt_count;	/* the upper half says whether to reschedule */
}
#endif

/* Returns true for the first wakeup since user space looked. */
static __always_inline bool ip_count_pair(__u64 key)
{
	/* Fibonacci hashing: the upper bits of the product depend on all of the key. */
	__u64 at = key * 0x9e3779b97f4a7c15ULL >> (64 - IP_PAIR_BITS);
	int i;

#pragma unroll
	for (i = 0; i < IP_PAIR_TRIES; i++) {
		struct ip_pair *pair = &ip_pairs[(at + i) & (IP_MAX_PAIRS - 1)];
		__u64 found = *(volatile __u64 *)&pair->key;

		if (!found)
			found = __sync_val_compare_and_swap(&pair->key, 0, key);
		if (!found || found == key)
			return !__sync_fetch_and_add(&pair->nr, 1);
	}
	__sync_fetch_and_add(&ip_pairs_lost, 1);
	return false;
}

/* An interrupt's thread, or one that polls a network device, by the name that the kernel gave it. */
static __always_inline bool ip_serves_device(struct task_struct *thread)
{
	const char *comm = thread->comm;
	bool is_irq = comm[0] == 'i' && comm[1] == 'r' && comm[2] == 'q' && comm[3] == '/';
	bool is_napi = comm[0] == 'n' && comm[1] == 'a' && comm[2] == 'p' && comm[3] == 'i';

	return is_irq || is_napi;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(ip_sched_waking, struct task_struct *task)
{
	struct task_struct *current;
	__u64 key;

	/* A boost by a lock makes no real-time task. */
	if ((__s64)BPF_CORE_READ_BITFIELD(task, normal_prio) >= IP_FIRST_NORMAL)
		return 0;
	if (task->flags & PF_KTHREAD && !ip_kernel_wakees)
		return 0;
	current = bpf_get_current_task_btf();
	if (!(current->flags & PF_KTHREAD) || !current->pid)
		return 0;
	/* An interrupt woke it, which the thread has nothing to do with. */
	if (ip_preempt_count(current) & IP_HARD_MASK)
		return 0;
	key = (__u64)(__u32)current->pid << 32 | (__u32)task->pid;
	if (!ip_count_pair(key))
		return 0;
	if (current->normal_prio < IP_FIRST_NORMAL || !ip_serves_device(current))
		return 0;
	/* A kernel thread is served if it serves a device itself. */
	if (!(task->flags & PF_KTHREAD) || ip_serves_device(task))
		__sync_fetch_and_add(&ip_news, 1);
	return 0;
}
