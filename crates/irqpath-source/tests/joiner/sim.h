/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sim.h - the kernel that the programs see: CPUs, tasks, maps, helpers.
 *
 * One thread plays all CPUs, one event at a time. Time and CPU are those of the current line
 * of the script. The ring buffer is ../joiner/print.h.
 */
#ifndef SIM_H
#define SIM_H

#define SIM_CPUS	4
#define SIM_TASKS	64
#define SIM_ACTIONS	8
#define SIM_KEPT	8

struct sim_task {
	struct task_struct t;	/* first: programs get a pointer to it */
	struct pt_regs regs;
	struct cred cred;
	struct user_namespace ns, outermost;
};

/* What a CPU has at known distances of each other. */
struct sim_rq {
	__u64 queue;
	__u64 stolen_ns;
};

struct sim_map {
	void *map;
	__u32 key_size, value_size, max, nr_cpus;
	__u32 nr_keys;		/* a hash has as many as were added; an array has none */
	char *keys, *values;
};

static __u64 sim_ns;
static __u32 sim_cpu;
static int sim_ring_full;
static struct sim_task sim_idle[SIM_CPUS], sim_tasks[SIM_TASKS];
static __u32 sim_nr_tasks;
static struct task_struct *sim_current[SIM_CPUS];
static struct irqaction sim_actions[SIM_ACTIONS];
static struct sim_rq sim_rqs[SIM_CPUS];
static struct cfs_rq sim_cfs_rqs[SIM_CPUS];
static struct sim_map sim_maps[16];
static __u32 sim_nr_maps;

static void sim_die(char *what, char *which)
{
	fprintf(stderr, "joiner: %s: %s\n", what, which);
	exit(2);
}

/* The user namespace of the host; a test may make it an inner one. */
static void sim_give_cred(struct sim_task *s)
{
	s->t.real_cred = &s->cred;
	s->cred.user_ns = &s->ns;
	s->ns.parent = &s->outermost;
}

static struct sim_task *sim_task(__u32 tid)
{
	struct sim_task *s;
	__u32 i;

	if (!tid)
		return &sim_idle[sim_cpu];
	for (i = 0; i < sim_nr_tasks; i++)
		if ((__u32)sim_tasks[i].t.pid == tid)
			return &sim_tasks[i];
	if (sim_nr_tasks == SIM_TASKS)
		sim_die("too many tasks", "SIM_TASKS");
	s = &sim_tasks[sim_nr_tasks++];
	s->t.pid = s->t.tgid = tid;
	s->t.prio = s->t.normal_prio = 120;
	sim_give_cred(s);
	snprintf(s->t.comm, sizeof(s->t.comm), "t%u", tid);
	return s;
}

static struct irqaction *sim_action(__u64 id)
{
	if (id >= SIM_ACTIONS)
		sim_die("no such action", "SIM_ACTIONS");
	return &sim_actions[id];
}

static void sim_map_add(void *map, __u32 key_size, __u32 value_size, __u32 max, __u32 nr_cpus,
			bool hash)
{
	struct sim_map *m = &sim_maps[sim_nr_maps++];

	*m = (struct sim_map){ map, key_size, value_size, max, nr_cpus };
	m->values = calloc((__u64)max * nr_cpus, value_size);
	m->keys = hash ? calloc(max, key_size) : NULL;
	if (!m->values || (hash && !m->keys))
		sim_die("out of memory", "map");
}

static struct sim_map *sim_map(void *map)
{
	__u32 i;

	for (i = 0; i < sim_nr_maps; i++)
		if (sim_maps[i].map == map)
			return &sim_maps[i];
	sim_die("no such map", "sim_start");
	return NULL;
}

/* Entry @i as @cpu sees it. */
static void *sim_entry(struct sim_map *m, __u32 i, __u32 cpu)
{
	__u64 base = m->nr_cpus > 1 ? (__u64)cpu * m->max : 0;

	return i < m->max ? m->values + (base + i) * m->value_size : NULL;
}

void *bpf_map_lookup_elem(void *map, void *key)
{
	struct sim_map *m = sim_map(map);
	__u32 i;

	if (!m->keys)
		return sim_entry(m, *(__u32 *)key, sim_cpu);
	for (i = 0; i < m->nr_keys; i++)
		if (!memcmp(m->keys + i * m->key_size, key, m->key_size))
			return sim_entry(m, i, 0);
	return NULL;
}

void *bpf_map_lookup_percpu_elem(void *map, void *key, __u32 cpu)
{
	return cpu < SIM_CPUS ? sim_entry(sim_map(map), *(__u32 *)key, cpu) : NULL;
}

/* Hashes only, with BPF_NOEXIST: what bpf/ uses. */
long bpf_map_update_elem(void *map, void *key, void *value, __u64 flags)
{
	struct sim_map *m = sim_map(map);

	if (!m->keys || flags != 1)
		sim_die("update not simulated", "array or flags");
	if (bpf_map_lookup_elem(map, key) || m->nr_keys == m->max)
		return -1;
	memcpy(m->keys + m->nr_keys * m->key_size, key, m->key_size);
	memcpy(sim_entry(m, m->nr_keys++, 0), value, m->value_size);
	return 0;
}

long bpf_probe_read_kernel(void *dst, __u32 size, void *src)
{
	memcpy(dst, src, size);
	return 0;
}

__u64 bpf_ktime_get_ns(void)
{
	return sim_ns;
}

__u32 bpf_get_smp_processor_id(void)
{
	return sim_cpu;
}

struct task_struct *bpf_get_current_task_btf(void)
{
	return sim_current[sim_cpu];
}

__u64 bpf_get_current_pid_tgid(void)
{
	struct task_struct *t = sim_current[sim_cpu];

	return (__u64)t->tgid << 32 | (__u32)t->pid;
}

long bpf_task_pt_regs(struct task_struct *task)
{
	return (long)&((struct sim_task *)task)->regs;
}

/* One function: the task's own number. */
long bpf_get_task_stack(struct task_struct *task, void *to, __u32 size, __u64 flags)
{
	*(__u64 *)to = task->pid;
	return sizeof(__u64);
}

#endif /* SIM_H */
