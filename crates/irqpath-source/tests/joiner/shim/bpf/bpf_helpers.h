/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf_helpers.h - stands in for libbpf's header when bpf/ is compiled natively.
 *
 * Only what bpf/ uses; an unknown helper is a compile error, never a silent no-op. Programs
 * become plain C functions with typed arguments, maps become tables that ../../sim.h keeps.
 */
#ifndef SHIM_BPF_HELPERS_H
#define SHIM_BPF_HELPERS_H

#undef __always_inline
#undef __noinline
#define __always_inline	inline __attribute__((always_inline))
#define __noinline	__attribute__((noinline))
#define barrier()	__asm__ __volatile__("" ::: "memory")

#define SEC(name)
#define bpf_ksym_exists(name)	1
#define __uint(name, val)	int (*name)[val]
#define __type(name, val)	typeof(val) *name

/* The one piece of BPF assembler, "%0 &= 15", in the C of this machine. */
#define asm
#define volatile(...)	(vec &= 15)

/* User space writes the settings before loading; the simulation does it between two lines. */
#define const

void *bpf_map_lookup_elem(void *map, void *key);
void *bpf_map_lookup_percpu_elem(void *map, void *key, __u32 cpu);
long bpf_map_update_elem(void *map, void *key, void *value, __u64 flags);
long bpf_ringbuf_output(void *ring, void *data, __u64 size, __u64 flags);
long bpf_probe_read_kernel(void *dst, __u32 size, void *src);
__u64 bpf_ktime_get_ns(void);
__u32 bpf_get_smp_processor_id(void);
__u64 bpf_get_current_pid_tgid(void);
struct task_struct *bpf_get_current_task_btf(void);
long bpf_task_pt_regs(struct task_struct *task);
long bpf_get_task_stack(struct task_struct *task, void *to, __u32 size, __u64 flags);

#endif /* SHIM_BPF_HELPERS_H */
