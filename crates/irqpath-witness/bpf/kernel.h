/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel.h - the few kernel types that the witness reads, found by CO-RE.
 *
 * Written by hand and not shared with bpf/kernel.h: a mistake there must not be repeated here.
 * Integers are unsigned, because libbpf then follows a field whose width differs between kernels.
 */
#ifndef WITNESS_KERNEL_H
#define WITNESS_KERNEL_H

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;

#define false	0
#define true	1
#define NULL	((void *)0)

enum bpf_map_type {
	BPF_MAP_TYPE_PERCPU_ARRAY	= 6,
	BPF_MAP_TYPE_RINGBUF		= 27,
};

#define BPF_RB_NO_WAKEUP	1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq;

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	__u8 sched_delayed;
	struct cfs_rq *cfs_rq;
};

struct thread_info {
	__u32 cpu;
};

struct task_struct {
	struct thread_info thread_info;
	__u32 __state;
	__u32 flags;
	__u32 on_cpu;
	__u32 on_rq;
	__s32 prio;
	__s32 normal_prio;
	__u32 policy;
	struct sched_entity se;
	__s32 pid;
	__s32 tgid;
	char comm[16];
};

struct irqaction {
	struct task_struct *thread;
};

struct timerqueue_node {
	__u64 expires;
};

struct hrtimer_clock_base {
	__u64 offset;
};

struct hrtimer {
	struct timerqueue_node node;
	struct hrtimer_clock_base *base;
	void *function;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long orig_ax;
};
#else
struct pt_regs {
	__s32 syscallno;
};
#endif

#pragma clang attribute pop

/* Only pointers to these are passed on. */
struct work_struct;
struct pool_workqueue;

#endif /* WITNESS_KERNEL_H */
