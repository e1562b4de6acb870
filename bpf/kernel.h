/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel.h - the kernel types that the programs read, each with the fields they read.
 *
 * Offsets do not matter: libbpf relocates every access by name on the kernel that runs (CO-RE), and
 * refuses a program whose field is not there. The test every_field_is_one_of_the_kernel compares
 * this file with the running kernel; it lists the fields that only some kernels have, for which the
 * programs ask with bpf_core_field_exists(). A signed field is read with ip_signed().
 */
#ifndef IRQPATH_KERNEL_H
#define IRQPATH_KERNEL_H

/* libbpf's headers take these for granted. */
typedef signed char __s8;
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

#if __STDC_VERSION__ < 202311L
typedef _Bool bool;
enum {
	false = 0,
	true = 1,
};
#endif

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_RINGBUF = 27,
};

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq;

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	__u8 sched_delayed; /* since 6.12 */
	struct cfs_rq *cfs_rq;
};

struct kvm_steal_time {
	__u64 steal;
};

struct thread_info {
	__u32 cpu;
};

typedef struct {
	__u32 val;
} kuid_t;

struct user_namespace {
	struct user_namespace *parent;
	__s32 level;
	kuid_t owner;
};

struct cred {
	kuid_t uid;
	struct user_namespace *user_ns;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	__s32 pid;
	__s32 tgid;
	char comm[16];
	__s32 prio;
	__s32 normal_prio;
	__u32 policy;
	__u32 flags;
	__u32 __state;
	__s32 on_cpu;
	__s32 on_rq;
	struct thread_info thread_info;
	struct sched_entity se;
	struct cred *real_cred;
	struct css_set *cgroups;
};

struct irqaction {
	struct irqaction *next;
	struct task_struct *thread;
};

struct timerqueue_node {
	__s64 expires;
};

struct hrtimer_clock_base {
	__s64 offset;
};

struct hrtimer {
	struct timerqueue_node node;
	struct hrtimer_clock_base *base;
	void *function;
};

struct timer_list {
	void *function;
};

struct pt_regs {
	__u64 orig_ax; /* x86 */
};

/* Known by their address only. */
struct work_struct {};
struct pool_workqueue {};
struct napi_struct {};

#pragma clang attribute pop

#endif /* IRQPATH_KERNEL_H */
