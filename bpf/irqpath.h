/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * irqpath.h - the contract between the programs in this directory and user space.
 *
 * The only header that both sides see: user space gets these types through the BTF of the
 * compiled object (crates/irqpath-source/build.rs), so there is nothing to mirror by hand.
 * Everything here is fixed width and naturally aligned. Times are CLOCK_MONOTONIC ns.
 */
#ifndef IRQPATH_H
#define IRQPATH_H

#define IP_NR_POINTS	10	/* enum ip_point */
#define IP_NR_SOFTIRQS	10	/* NR_SOFTIRQS, include/linux/interrupt.h */
#define IP_SOFTIRQ_SLOTS	16	/* the same, rounded up to a power of two */
#define IP_NR_VECTORS	12	/* enum ip_vector */
#define IP_MAX_IRQS	4096	/* lines with statistics of their own */
#define IP_MAX_OVERDUE	4	/* timers of a CPU that were due when set; a power of two */
#define IP_MAX_NEST	4	/* nested hardirqs followed; a power of two */
#define IP_TASK_SLOT_BITS	15
#define IP_TASK_SLOTS	(1 << IP_TASK_SLOT_BITS)	/* tasks on their way at one time */
#define IP_SAVED_SLOTS	4096	/* tasks preempted inside a softirq; a power of two */
#define IP_WORK_SLOTS	8192	/* work items on their way; a power of two */
#define IP_MAX_PATHS	1024	/* distinct paths with statistics of their own */
#define IP_MAX_OTHERS	320	/* rows for the rest: one for each origin */
#define IP_SHARES	32	/* parts of ip_config.max_paths: ... */
#define IP_USERS_SHARE	20	/* ... for all users but root, half of what is left for one ... */
#define IP_NAME_SHARE	4	/* ... for one name ... */
#define IP_TASK_SHARE	3	/* ... and for one task */
#define IP_MAX_SHARES	4096	/* accounts: at most a user, a name and a task for each row */
#define IP_MAX_PAGES	12288	/* of all histograms; page 0 is never used */
#define IP_PAGE_RING	16384	/* room for the numbers of all of them; a power of two */
#define IP_ROW_RING	2048	/* the same for rows */
#define IP_KEPT_PAGES	3	/* rows of users leave one page in this many to root and the kernel */
#define IP_HIST_PAGES	8	/* of one histogram: up to 2^36 ns; a power of two */
#define IP_PAGE_BUCKETS	128	/* four powers of two; a power of two */
#define IP_HIST_LIMIT	(1ULL << 36)
#define IP_CHUNK_LEN	64	/* transitions per chunk; a power of two */
#define IP_FLUSH_CHUNKS	4	/* delivered with a path at most; user space fetches the rest */
#define IP_MAX_FILTER	32	/* entries per filter list */
#define IP_ASK_ATTEMPTS	8	/* at a request that other CPUs change at the same time */
#define IP_STACKS	128	/* of blockers, kept for each CPU; a power of two */
#define IP_MAX_MOVES	8	/* of a waiting task between run queues; see ip_queues */
#define IP_COMM_LEN	16	/* TASK_COMM_LEN */

/* Numbers that user space needs too: an enum, so that they reach it through BTF. */
enum ip_scale {
	IP_HIST_BITS	= 5,	/* sub-buckets per power of two: 2^5, error below 3.2 % */
	IP_PRIO_BIAS	= 64,	/* -1 (deadline) .. 140 (idle) fits into 8 bits with it */
	IP_CPU_UNKNOWN	= 0xffff,
	IP_SKETCH_BITS	= 10,
	IP_SKETCH_LEN	= 1 << IP_SKETCH_BITS,	/* error 3 %, one standard deviation */
	IP_STACK_LEN	= 40,	/* functions of a blocker's stack */
};

/* In the order in which a path meets them; irqpath_model::Point. */
enum ip_point {
	IP_RAISE,
	IP_HARDIRQ,
	IP_IRQ_THREAD,
	IP_SOFTIRQ_RAISE,
	IP_SOFTIRQ,
	IP_WORK_QUEUE,
	IP_WORK,
	IP_WAKING,
	IP_SWITCH_IN,
	IP_USER,
};

enum ip_origin_kind {
	IP_ORIGIN_NONE,
	IP_ORIGIN_IRQ,		/* nr is the Linux irq number */
	IP_ORIGIN_VECTOR,	/* nr is enum ip_vector */
	IP_ORIGIN_SOFTIRQ,	/* raised by a task; nr is the softirq vector */
	IP_ORIGIN_UNSEEN,	/* of a pending softirq: an interrupt, but which was not seen */
};

/* irqpath_model::Vector. */
enum ip_vector {
	IP_LOCAL_TIMER,
	IP_RESCHEDULE,
	IP_CALL_FUNCTION,
	IP_CALL_FUNCTION_SINGLE,
	IP_IRQ_WORK,
	IP_PLATFORM_IPI,
	IP_ERROR_APIC,
	IP_SPURIOUS_APIC,
	IP_THERMAL_APIC,
	IP_THRESHOLD_APIC,
	IP_DEFERRED_ERROR_APIC,
	IP_GENERIC_IPI,
};

/* Bits above the softirq vectors in ip_chain.via; irqpath_model::Via. */
enum ip_via {
	IP_VIA_IRQ_THREAD	= 1 << 10,
	IP_VIA_KSOFTIRQD	= 1 << 11,
	IP_VIA_NAPI_THREAD	= 1 << 12,
	IP_VIA_WORK		= 1 << 13,
	IP_VIA_REMOTE		= 1 << 14,
	IP_VIA_MIGRATED		= 1 << 15,
	IP_VIA_KTIMERS		= 1 << 16,
};

/* irqpath_model::PathEnd. */
enum ip_end {
	IP_END_USER,
	IP_END_SWITCH_IN,
	IP_END_SLEPT_AGAIN,
	IP_END_ALREADY_RUNNING,
};

/* irqpath_model::LossReason; user space adds the ones that it alone can see. */
enum ip_loss {
	IP_LOSS_RINGBUF_FULL,
	IP_LOSS_PATH_TABLE_FULL,
	IP_LOSS_HIST_TABLE_FULL,
	IP_LOSS_NESTING_TOO_DEEP,
	IP_LOSS_TASK_SLOT,
	IP_LOSS_WORK_SLOT,
	IP_LOSS_STALE_WAKEUP,
	IP_LOSS_TASK_EXIT,
	IP_LOSS_COALESCED,
	IP_LOSS_CLOCK_SKEW,
	IP_LOSS_RANGE,
	IP_LOSS_PROGRAM_MISSED,
	IP_LOSS_OCC_OVERRUN,
	IP_LOSS_SWITCH_UNSEEN,
	IP_LOSS_PATH_UNSEEN,
	IP_NR_LOSS,
};

/* Where a path has been so far. A point that was not met is 0. */
struct ip_chain {
	__u64 ns[IP_NR_POINTS];
	__u64 timer_fn;			/* callback of the expired timer */
	__u64 carried_ns;		/* the irq or NAPI thread's last move while it waited */
	__u16 cpu[IP_NR_POINTS];
	__u16 origin_kind;
	__u16 carried_from;		/* and the CPU that it waited for until then */
	__u32 origin_nr;
	__u32 via;
};

enum ip_occ_kind {
	IP_OCC_NONE,
	IP_OCC_HARDIRQ_ENTRY,	/* flags: ip_origin_kind, id: nr */
	IP_OCC_HARDIRQ_EXIT,
	IP_OCC_SOFTIRQ_ENTRY,	/* id: vector */
	IP_OCC_SOFTIRQ_EXIT,
	IP_OCC_SWITCH_IN,	/* id: tid, prio, normal_prio, comm */
	IP_OCC_UNSEEN,		/* the same; the switch to it was not seen */
	IP_OCC_STOLEN,		/* id and above it flags: ns that the hypervisor took until now */
};

/* One transition. ns is written last: an entry older than its chunk is not written yet. */
struct ip_occ {
	__u64 ns;
	__u32 id;
	__u8 kind;
	__u8 flags;
	__s8 prio;		/* task_struct::prio - IP_PRIO_BIAS */
	__s8 normal_prio;
	__u64 comm[2];
};


/* Record types in the ring buffer: the first word of each record. */
enum ip_record {
	IP_REC_PATH = 1,
	IP_REC_OCC,
	IP_REC_NMI,
};

/*
 * A run of transitions. The first ones always restate the running task and softirq, so that a
 * chunk can be understood without the one before it.
 */
struct ip_occ_chunk {
	__u32 type;		/* IP_REC_OCC */
	__u32 cpu;
	__u64 seq;		/* number of e[0] */
	__u64 begin_ns;
	__u64 delivered;	/* entries that have left the kernel */
	struct ip_occ e[IP_CHUNK_LEN];
};

/*
 * The run queues that a task was on since its wakeup. The last move that finds room leads to
 * IP_CPU_UNKNOWN, as there may be more.
 */
struct ip_queues {
	__u64 move_ns[IP_MAX_MOVES];
	__u16 move_cpu[IP_MAX_MOVES];
	__u16 cpu;		/* where it was put by its wakeup */
	__u16 nr_moves;
	__u32 pad;
};

struct ip_rec_path {
	__u32 type;		/* IP_REC_PATH */
	__u32 end;		/* enum ip_end */
	struct ip_chain chain;
	__u32 tid;
	__u32 tgid;
	__s16 prio;
	__s16 normal_prio;
	__u32 policy;
	__u64 comm[2];
	struct ip_queues queues;
	__u64 cgroup;		/* of the target, with ip_config.by_cgroup; otherwise 0 */
};

/*
 * The flight recorder's memory of a path. @nr is written last: one more than the paths that this CPU
 * kept before it, 0 while it is written.
 */
struct ip_kept_path {
	__u64 nr;
	struct ip_rec_path r;
};

/* How a path was blocked; irqpath_model::Blocked. */
enum ip_blocked {
	IP_BLOCKED_IRQS,	/* the interrupt came late: interrupts were off */
	IP_BLOCKED_SOFTIRQS,	/* the softirq did */
	IP_BLOCKED_CPU,		/* the woken task had no CPU */
	IP_BLOCKED_LOCK,	/* what carries the path waited for a lock */
};

/* The kernel stack of who blocked a path, taken where the block ends. @nr as in ip_kept_path. */
struct ip_stack {
	__u64 nr;
	__u64 from_ns;
	__u64 until_ns;
	__u32 why;		/* enum ip_blocked */
	__u32 tid;		/* whose stack it is */
	__u64 comm[2];
	__u32 waiter;		/* the task that waited, where there is one */
	__u32 nr_ips;
	__u64 ip[IP_STACK_LEN];	/* the innermost function first */
};

struct ip_rec_nmi {
	__u32 type;		/* IP_REC_NMI */
	__u32 cpu;
	__u64 end_ns;
	__u64 duration_ns;
};

struct ip_path_key {
	__u64 comm[2];
	__u32 origin_nr;
	__u32 via;
	__u16 origin_kind;
	__s16 normal_prio;	/* without a boost, which would make a row of its own */
	__u8 policy;
	__u8 others;		/* all paths of this origin without a row; the rest is 0 */
	__u8 pad[2];
};

/* Accounts of one path, the widest first. */
enum ip_share {
	IP_SHARE_TABLE,
	IP_SHARE_USERS,
	IP_SHARE_USER,
	IP_SHARE_NAME,
	IP_SHARE_TASK,
	IP_NR_SHARES,
};

struct ip_share_key {
	__u64 comm[2];
	__u32 which;		/* enum ip_share */
	__u32 id;		/* uid or tid */
};

/* What the rows "others" hold. */
struct ip_folded {
	__u64 nr_paths;
	__u8 names[IP_SKETCH_LEN];
	__u8 tasks[IP_SKETCH_LEN];
};

/* A histogram has pages only where it has times: few where those are alike. */
struct ip_hist {
	__u64 nr;
	__u64 sum_ns;
	__u64 min_ns_inverted;	/* ~min, so that zeroed memory means "none" */
	__u64 max_ns;
	__u64 nr_overflow;
	__u32 page[IP_HIST_PAGES];	/* 0 is none */
};

struct ip_hist_page {
	__u64 bucket[IP_PAGE_BUCKETS];	/* 32 bits would wrap within hours */
};

/*
 * A row: one path. hist[0] is the whole of it; hist[i] the stage that ends at point i. What comes
 * before that is written before anybody can find the row.
 */
struct ip_path_stat {
	struct ip_path_key key;
	__u64 born_ns;
	__u64 comm[2];		/* whom it is charged to, with uid and tid; see share.bpf.h */
	__u32 uid;
	__u32 tid;		/* of the first target */
	__u32 keep_pages;	/* this row leaves so many to others */
	__u32 several_tids;
	__u64 slowest_ns;	/* until the target ran */
	struct ip_hist hist[IP_NR_POINTS];
};

/*
 * Numbers of rows and pages that nobody has. User space puts them, when it starts and when it has
 * retired a row; the programs take them. A number is in it once at most.
 */
struct ip_pool {
	__u32 rows_taken;
	__u32 rows_put;
	__u32 pages_taken;
	__u32 pages_put;
	__u32 row[IP_ROW_RING];
	__u32 page[IP_PAGE_RING];
};

struct ip_line {
	__u64 nr;
	__u64 run_ns;
	__u64 max_run_ns;
};

struct ip_softirq {
	__u64 nr;
	__u64 run_ns;
	__u64 max_run_ns;
	__u64 delay_ns;
	__u64 max_delay_ns;
};

struct ip_napi {
	__u64 nr;
	__u64 nr_packets;
	__u64 nr_exhausted;	/* polls that used up their budget */
};

/* A timer that was due when it was set. */
struct ip_overdue {
	__u64 timer;		/* its address; 0 is free */
	__u64 set_ns;
};

/*
 * What one CPU is doing; touched by that CPU alone but for the fields marked remote. What each event
 * touches comes first, so that it is in few cache lines; of the remote ones, what each event reads.
 */
struct ip_cpu {
	__u64 occ_head;		/* transitions so far */
	__u64 flush_from_ns;	/* remote: another CPU wants the transitions since then */
	__u64 nr_events;
	__u64 stolen_at;	/* address of the hypervisor's count, see steal.bpf.h */
	__u64 stolen_ns;	/* and what it was when this CPU last looked */
	__u32 hard_depth;
	__u32 cur_tid;
	__u32 softirqd_via;	/* the running task is ksoftirqd or ktimers */
	__u8 await_user;	/* the running task's path waits for its return to user space */
	__u8 carrier;		/* the running task carries a path (irq thread, work item) */
	__u8 softirq_active;
	__u8 task_known;	/* cur_tid is from a switch that was seen */
	__u8 leaver_woken;	/* remote: a task was woken on its way out of this CPU */
	__u8 fresh;		/* no system call has returned since the last switch */
	__u8 pad;
	__u32 spare_page;	/* taken for a histogram that another CPU gave one meanwhile */
	__u32 spare_row;	/* the same for a path */
	__u32 softirq_vec;
	__u32 pad2;
	__u64 softirq_entry_ns;	/* as ip_run_ns tells */
	__u64 shared_next;	/* next irqaction of a shared line: not a new interrupt */
	__u32 wake_tid;		/* irq thread that the last handler asked to wake */
	__u32 wake_migrates;	/* no thread: a task that will run the handler */
	__u64 hard_entry_ns[IP_MAX_NEST];	/* the same */
	struct ip_chain hard[IP_MAX_NEST];
	struct ip_chain wake_chain;
	struct ip_chain scratch;
	struct ip_rec_path waited;	/* by ip_finish: of a target that waited, ... */
	struct ip_rec_path found_running;	/* ... and of one that did not */
	struct ip_overdue overdue[IP_MAX_OVERDUE];
	__u64 nr_overdue;
	__u64 outer_raise_ns[2];	/* raise outside of an hrtimer's callback: softirq, hardirq */
	struct ip_chain softirq;
	struct ip_chain pending[IP_SOFTIRQ_SLOTS];
	struct ip_line vectors[IP_NR_VECTORS];
	struct ip_softirq softirqs[IP_SOFTIRQ_SLOTS];
	struct ip_napi napi;
	__u64 nr_kept;		/* paths, by the flight recorder */
	__u64 nr_stacks;
	__u64 stacks_ns;	/* time that taking them took */
	__u64 loss[IP_NR_LOSS];
	__u64 ipi_raise_ns[2];	/* remote: reschedule, call function; not beside what each event writes */
};

enum ip_slot_state {
	IP_SLOT_NONE,
	IP_SLOT_WOKEN,		/* waits for its switch-in */
	IP_SLOT_AWAIT_USER,	/* waits for its return to user space */
	IP_SLOT_CARRIER,	/* hands the path on to what it wakes */
};

enum ip_task_kind {
	IP_TASK_TARGET,
	IP_TASK_IRQ_THREAD,
	IP_TASK_NAPI_THREAD,
	IP_TASK_KSOFTIRQD,	/* carries nothing itself: the pending softirq does */
	IP_TASK_KTIMERS,	/* neither does this one, PREEMPT_RT's for timers */
	IP_TASK_KWORKER,	/* the work item carries the path */
	IP_TASK_MIGRATED,	/* a target that runs the handler */
};

/* A task on its way: what every switch looks at, in a table indexed by tid ... */
struct ip_tag {
	__u32 tid;
	__u8 state;		/* enum ip_slot_state */
	__u8 kind;		/* enum ip_task_kind */
	__u8 work;		/* the carrier runs a work item */
	__u8 softirq_saved;	/* preempted inside a softirq (PREEMPT_RT) */
};

/* ... and what only tasks with a path need, in a table beside it. */
struct ip_slot {
	struct ip_chain chain;
	__u64 blocked_ns;	/* since then a carrier waits for a lock */
	struct ip_queues queues;
};

/* The softirq that a task was preempted in; only few are at one time. */
struct ip_saved_softirq {
	struct ip_chain chain;
	__u64 entry_ns;
	__u32 tid;		/* 0 is free */
	__u32 vec;
};

struct ip_work {
	__u64 work;		/* address of the work_struct; 0 is free */
	struct ip_chain chain;
};

/* Settings, written before the programs are loaded. */
struct ip_config {
	__u64 threshold_ns;	/* 0: report new maxima instead */
	__s64 rq_to_stolen;	/* from a CPU's struct rq to that count; 0 is none */
	__u64 stack_ns;		/* take the stack of who blocks a path so long; 0 is nobody's */
	__u64 kept_ns;		/* flight recorder: report paths so long; 0 is none */
	__u64 stage_ns[IP_NR_POINTS];	/* flight recorder: report paths with such a stage; 0 is none */
	__u8 record_all;
	__u8 filter_cpus;
	__u8 nr_origins;
	__u8 nr_tids;
	__u8 nr_comms;
	__u8 no_user;
	__u8 hardirqs_only;	/* a context that may interrupt the others is not followed */
	__u8 by_cgroup;		/* one row for all targets of a cgroup, which is in comm[0] of the key */
	__u8 only_keeps;	/* flight recorder: without statistics */
	__u32 slot_salt;	/* odd and secret, see ip_slot_index */
	__u32 nr_chunks;	/* per CPU; a power of two */
	__u32 max_paths;	/* with a row of their own; at most IP_MAX_PATHS */
	__u32 keep_pages;	/* left by rows of users to root and the kernel */
	__u32 self_tgid;	/* the tracer's own paths are left out unless asked for */
	__u32 nr_kept_paths;	/* flight recorder: per CPU; 0 where there is none */
	__u32 origin_nr[IP_MAX_FILTER];
	__u16 origin_kind[IP_MAX_FILTER];
	__u32 tid[IP_MAX_FILTER];
	__u64 comm[IP_MAX_FILTER][2];
	__u64 cpus[128];	/* bitmap, 8192 CPUs */
};

#endif /* IRQPATH_H */
