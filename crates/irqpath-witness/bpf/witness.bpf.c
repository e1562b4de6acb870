// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * witness.bpf.c - writes down every event of a machine, one record each, and judges nothing.
 *
 * Unlike the programs under bpf/ there is no state, no filter and no join in the kernel: whatever
 * a record does not say, the comparison in Rust works out from the records around it. What did
 * not fit into the ring buffer is counted, and a test that sees a count above 0 fails.
 *
 * A record carries the pid that is current, so that a switch of which this kernel did not tell is
 * seen at the next event of that CPU, and the time that the hypervisor has stolen from the CPU.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "GPL";

#define PF_KTHREAD	0x00200000	/* include/linux/sched.h */
#define IRQ_WAKE_THREAD	2		/* include/linux/irqreturn.h */

/* src/event.rs reads these by number and by offset. */
enum kind {
	WAKING = 1,
	WAKEUP,
	SWITCH,
	MIGRATE,
	IRQ_ENTRY,
	IRQ_EXIT,
	VECTOR_ENTRY,
	VECTOR_EXIT,
	SOFTIRQ_RAISE,
	SOFTIRQ_ENTRY,
	SOFTIRQ_EXIT,
	HRTIMER_ENTRY,
	HRTIMER_EXIT,
	WORK_QUEUE,
	WORK_START,
	WORK_END,
	IPI_SEND,
	SYS_EXIT,
	TASK_EXIT,
	NMI,
	HRTIMER_START,
};

enum flag {
	ON_CPU		= 1,
	ON_RQ		= 2,
	DELAYED		= 4,
	KTHREAD		= 8,
	IN_SYSCALL	= 16,
	PREEMPTED	= 32,
	CALLBACK	= 64,
};

struct event {
	__u64 ns;
	__u64 steal_ns;
	__u16 cpu;
	__u8 kind;
	__u8 flags;
	__u32 current;
	union {
		struct {
			__u32 tid;
			__u32 nr;
		};
		__u64 address;
	};
	__u64 value;
	__s16 prio;
	__s16 normal_prio;
	__u32 tgid;
	char comm[16];
};

_Static_assert(sizeof(struct event) == 64, "src/event.rs has the same layout");

/*
 * From a CPU's struct rq to its struct kvm_steal_time, both per-CPU variables; 0 where the kernel
 * has none. Its symbol is not in every kallsyms, its offset is in BTF.
 */
const volatile __s64 rq_to_steal = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 128 << 20);
} events SEC(".maps");

/* Per CPU: events that found no room. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

/* Per CPU: a task was switched in and has not returned from a system call since. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} fresh SEC(".maps");

static __always_inline __u64 stolen_ns(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 rq, ns = 0;

	if (!rq_to_steal || !bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	rq = (__u64)BPF_CORE_READ(task, se.cfs_rq, rq);
	bpf_probe_read_kernel(&ns, sizeof(ns), (void *)(rq + rq_to_steal));
	return ns;
}

static __always_inline void count_lost(void)
{
	__u32 zero = 0;
	__u64 *nr = bpf_map_lookup_elem(&lost, &zero);

	if (nr)
		++*nr;
}

static __always_inline struct event *begin(enum kind kind)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	__u64 before;

	if (!e) {
		count_lost();
		return NULL;
	}
	__builtin_memset(e, 0, sizeof(*e));
	before = stolen_ns();
	e->ns = bpf_ktime_get_ns();
	e->steal_ns = stolen_ns();
	/* Both belong to one moment. */
	if (e->steal_ns != before)
		e->ns = bpf_ktime_get_ns();
	e->cpu = bpf_get_smp_processor_id();
	e->kind = kind;
	e->current = (__u32)bpf_get_current_pid_tgid();
	return e;
}

static __always_inline int note(enum kind kind, __u32 nr, __u64 value)
{
	struct event *e = begin(kind);

	if (!e)
		return 0;
	e->nr = nr;
	e->value = value;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline void describe(struct event *e, struct task_struct *p)
{
	const __u64 *comm = (const __u64 *)p->comm;

	e->tid = p->pid;
	e->tgid = p->tgid;
	e->prio = p->prio;
	e->normal_prio = p->normal_prio;
	((__u64 *)e->comm)[0] = comm[0];
	((__u64 *)e->comm)[1] = comm[1];
	if (p->flags & PF_KTHREAD)
		e->flags |= KTHREAD;
	if (p->on_cpu)
		e->flags |= ON_CPU;
	if (p->on_rq)
		e->flags |= ON_RQ;
	if (bpf_core_field_exists(p->se.sched_delayed) && p->se.sched_delayed)
		e->flags |= DELAYED;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *p)
{
	struct event *e = begin(WAKING);

	if (!e)
		return 0;
	describe(e, p);
	e->nr = p->thread_info.cpu;
	e->value = p->__state;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *p)
{
	struct event *e = begin(WAKEUP);

	if (!e)
		return 0;
	describe(e, p);
	e->nr = p->thread_info.cpu;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(on_migrate, struct task_struct *p, int to)
{
	struct event *e = begin(MIGRATE);

	if (!e)
		return 0;
	describe(e, p);
	e->nr = to;
	e->value = p->thread_info.cpu;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline bool in_syscall(struct task_struct *p)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(p);

#if defined(__TARGET_ARCH_x86)
	return (__s64)regs->orig_ax >= 0;
#else
	return regs->syscallno >= 0;
#endif
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	__u32 zero = 0;
	__u64 *wanted = bpf_map_lookup_elem(&fresh, &zero);
	struct event *e;

	if (wanted)
		*wanted = 1;
	e = begin(SWITCH);	/* last: Linux 6.1 does not follow it through a further branch */
	if (!e)
		return 0;
	describe(e, next);
	e->nr = prev->pid;
	e->value = prev_state;
	if (preempt)
		e->flags |= PREEMPTED;
	if (!(next->flags & PF_KTHREAD) && in_syscall(next))
		e->flags |= IN_SYSCALL;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

/* The first return from a system call after each switch; nobody asks for the others. */
SEC("tp_btf/sys_exit")
int on_sys_exit(void *ctx)
{
	__u32 zero = 0;
	__u64 *wanted = bpf_map_lookup_elem(&fresh, &zero);

	if (!wanted || !*wanted)
		return 0;
	*wanted = 0;
	return note(SYS_EXIT, 0, 0);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_task_exit, struct task_struct *p)
{
	struct event *e = begin(TASK_EXIT);

	if (!e)
		return 0;
	describe(e, p);
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(on_irq_entry, int irq, struct irqaction *action)
{
	return note(IRQ_ENTRY, irq, 0);
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(on_irq_exit, int irq, struct irqaction *action, int ret)
{
	struct event *e = begin(IRQ_EXIT);

	if (!e)
		return 0;
	e->nr = irq;
	if (ret == IRQ_WAKE_THREAD && action->thread)
		e->tid = action->thread->pid;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Numbered as they are listed in irqpath_model::Vector::ALL. */
#define ON_VECTOR(name, nr)						\
SEC("tp_btf/" #name "_entry")						\
int on_##name##_entry(void *ctx) { return note(VECTOR_ENTRY, nr, 0); }	\
SEC("tp_btf/" #name "_exit")						\
int on_##name##_exit(void *ctx) { return note(VECTOR_EXIT, nr, 0); }

ON_VECTOR(local_timer, 0)
ON_VECTOR(reschedule, 1)
ON_VECTOR(call_function, 2)
ON_VECTOR(call_function_single, 3)
ON_VECTOR(irq_work, 4)
ON_VECTOR(x86_platform_ipi, 5)
ON_VECTOR(error_apic, 6)
ON_VECTOR(spurious_apic, 7)
ON_VECTOR(thermal_apic, 8)
ON_VECTOR(threshold_apic, 9)
ON_VECTOR(deferred_error_apic, 10)
ON_VECTOR(ipi, 11)

SEC("tp_btf/softirq_raise")
int BPF_PROG(on_softirq_raise, unsigned int vec)
{
	return note(SOFTIRQ_RAISE, vec, 0);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(on_softirq_entry, unsigned int vec)
{
	return note(SOFTIRQ_ENTRY, vec, 0);
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(on_softirq_exit, unsigned int vec)
{
	return note(SOFTIRQ_EXIT, vec, 0);
}

SEC("tp_btf/hrtimer_start")
int BPF_PROG(on_hrtimer_start, struct hrtimer *timer)
{
	return note(HRTIMER_START, 0, (__u64)timer);
}

SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(on_hrtimer_entry, struct hrtimer *timer)
{
	struct event *e = begin(HRTIMER_ENTRY);

	if (!e)
		return 0;
	/* Whole: the verifier refuses to shift a pointer. */
	e->address = (__u64)timer;
	e->value = timer->node.expires - timer->base->offset;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int on_hrtimer_exit(void *ctx)
{
	return note(HRTIMER_EXIT, 0, 0);
}

SEC("tp_btf/workqueue_queue_work")
int BPF_PROG(on_work_queue, int cpu, struct pool_workqueue *pwq, struct work_struct *work)
{
	return note(WORK_QUEUE, 0, (__u64)work);
}

SEC("tp_btf/workqueue_execute_start")
int BPF_PROG(on_work_start, struct work_struct *work)
{
	return note(WORK_START, 0, (__u64)work);
}

SEC("tp_btf/workqueue_execute_end")
int BPF_PROG(on_work_end, struct work_struct *work)
{
	return note(WORK_END, 0, (__u64)work);
}

SEC("tp_btf/ipi_send_cpu")
int BPF_PROG(on_ipi_send, unsigned int cpu, unsigned long callsite, void *callback)
{
	struct event *e = begin(IPI_SEND);

	if (!e)
		return 0;
	e->nr = cpu;
	if (callback)
		e->flags |= CALLBACK;
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/nmi_handler")
int BPF_PROG(on_nmi, void *handler, __s64 delta_ns, int handled)
{
	return note(NMI, 0, delta_ns);
}
