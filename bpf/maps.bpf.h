/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * maps.bpf.h - every map, and how to reach an entry.
 *
 * Tables that the hot path touches are arrays with a computed index: a lookup is a few
 * instructions that the JIT inlines. Tasks and work items share slots by number; the loser of
 * a collision is counted, never silently mixed up.
 */
#ifndef IRQPATH_MAPS_BPF_H
#define IRQPATH_MAPS_BPF_H

const volatile struct ip_config ip_config = {};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ip_cpu);
} ip_cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, IP_MAX_IRQS);
	__type(key, __u32);
	__type(value, struct ip_line);
} ip_lines SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IP_TASK_SLOTS);
	__type(key, __u32);
	__type(value, struct ip_tag);
} ip_tags SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IP_TASK_SLOTS);
	__type(key, __u32);
	__type(value, struct ip_slot);
} ip_slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IP_SAVED_SLOTS);
	__type(key, __u32);
	__type(value, struct ip_saved_softirq);
} ip_saved_softirqs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IP_WORK_SLOTS);
	__type(key, __u32);
	__type(value, struct ip_work);
} ip_works SEC(".maps");

/* max_entries is set to ip_config.nr_chunks per possible CPU before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ip_occ_chunk);
} ip_chunks SEC(".maps");

/* max_entries is set to ip_config.nr_kept_paths per possible CPU before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ip_kept_path);
} ip_kept_paths SEC(".maps");

/* max_entries is set to IP_STACKS per possible CPU before loading, if stacks are taken. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ip_stack);
} ip_stacks SEC(".maps");

/*
 * The number of each path's row. User space takes a path out when it retires the row, and uses the
 * row again when every program has ended that may have found it here: see rows.rs.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IP_MAX_PATHS + IP_MAX_OTHERS);
	__type(key, struct ip_path_key);
	__type(value, __u32);
} ip_paths SEC(".maps");

/* Row 0 means "none". max_entries is set before loading, here and for the pages. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IP_ROW_RING);
	__type(key, __u32);
	__type(value, struct ip_path_stat);
} ip_rows SEC(".maps");

/* Rows that a task, a name, a user and so on have: see share.bpf.h. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, IP_MAX_SHARES);
	__type(key, struct ip_share_key);
	__type(value, __u32);
} ip_shares SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ip_folded);
} ip_folded SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, IP_MAX_PAGES);
	__type(key, __u32);
	__type(value, struct ip_hist_page);
} ip_hist_pages SEC(".maps");

/* max_entries is set from the --buffer option before loading. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} ip_records SEC(".maps");

/* Page 0 stays unused and means "none". */
struct ip_pool ip_pool;

/* Never read: it makes the types of the contract part of the skeleton that user space gets. */
struct ip_contract {
	struct ip_rec_path path;
	struct ip_kept_path kept;
	struct ip_stack stack;
	struct ip_rec_nmi nmi;
	struct ip_occ_chunk chunk;
	struct ip_path_key key;
	struct ip_path_stat stat;
	struct ip_share_key share_key;
	enum ip_share share;
	struct ip_folded folded;
	struct ip_hist_page page;
	struct ip_line line;
	struct ip_cpu cpu;
	enum ip_record record;
	enum ip_scale scale;
	enum ip_point point;
	enum ip_vector vector;
	enum ip_origin_kind origin_kind;
	enum ip_via via;
	enum ip_end end;
	enum ip_loss loss;
	enum ip_occ_kind occ_kind;
	enum ip_blocked blocked;
} ip_contract;

static __always_inline struct ip_cpu *ip_this_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&ip_cpus, &zero);
}

static __always_inline void ip_lose(struct ip_cpu *c, enum ip_loss reason)
{
	c->loss[reason]++;
}

/*
 * A signed field as this kernel declares it, whatever its size: on_cpu was an int and is a u8 in
 * Linux 7. libbpf adapts a plain load only where both types are unsigned (relo_core.c), and
 * refuses the program otherwise. pid and tgid may be loaded plainly, since the ABI fixes their size.
 */
#define ip_signed(record, field) ({					\
	typeof(record) _record = (record);	/* the macro has a p of its own */ \
	(__s64)BPF_CORE_READ_BITFIELD(_record, field);			\
})

/* A task's name as two words: direct loads, where a helper would cost more than the rest. */
static __always_inline void ip_comm(__u64 *to, struct task_struct *task)
{
	const __u64 *comm = (const __u64 *)task->comm;

	to[0] = comm[0];
	to[1] = comm[1];
}

/*
 * Tasks of one block of numbers share no slot, nor does the first block, where all are unless
 * pid_max is raised, need the salt. A task of another block shares one with each task of this: with
 * which one must not be known, or it could be made to keep that one's slot.
 */
static __always_inline __u32 ip_slot_index(__u32 tid)
{
	__u32 block = tid / IP_TASK_SLOTS;
	__u32 shift = block * ip_config.slot_salt >> (32 - IP_TASK_SLOT_BITS);

	return (tid ^ shift) & (IP_TASK_SLOTS - 1);
}

static __always_inline struct ip_tag *ip_tag_of(__u32 tid)
{
	__u32 i = ip_slot_index(tid);

	return bpf_map_lookup_elem(&ip_tags, &i);
}

static __always_inline struct ip_slot *ip_slot_of(__u32 tid)
{
	__u32 i = ip_slot_index(tid);

	return bpf_map_lookup_elem(&ip_slots, &i);
}

static __always_inline struct ip_saved_softirq *ip_saved_softirq_of(__u32 tid)
{
	__u32 i = ip_slot_index(tid) & (IP_SAVED_SLOTS - 1);

	return bpf_map_lookup_elem(&ip_saved_softirqs, &i);
}

static __always_inline struct ip_work *ip_work_of(__u64 work)
{
	/* work_structs are embedded in larger objects: fold the page bits in. */
	__u32 i = ((work >> 3) ^ (work >> 16)) & (IP_WORK_SLOTS - 1);

	return bpf_map_lookup_elem(&ip_works, &i);
}

/* A softirq vector as an index that the verifier can see is in range. */
static __always_inline __u64 ip_softirq_index(__u64 vec)
{
	asm volatile("%0 &= 15" : "+r"(vec));
	return vec;
}

#endif /* IRQPATH_MAPS_BPF_H */
