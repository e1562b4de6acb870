/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * print.h - the ring buffer and the maps at the end, as lines of text.
 *
 * A path is `path ORIGIN COMM:TID via=... END POINT@CPU=NS POINT@CPU+STAGE_NS ...`: the first
 * point with its time, every other with the length of the stage that it ends.
 */
#ifndef PRINT_H
#define PRINT_H

static char *point_names[] = { "raise", "hardirq", "irq_thread", "softirq_raise", "softirq",
	"work_queue", "work", "waking", "switch_in", "user" };
static char *vector_names[] = { "local_timer", "reschedule", "call_function",
	"call_function_single", "irq_work", "x86_platform_ipi", "error_apic", "spurious_apic",
	"thermal_apic", "threshold_apic", "deferred_error_apic", "ipi" };
static char *end_names[] = { "user", "switch_in", "slept_again", "already_running" };
static char *via_names[] = { "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9",
	"irq_thread", "ksoftirqd", "napi_thread", "work", "remote", "migrated", "ktimers" };
static char *loss_names[] = { "ringbuf_full", "path_table_full", "hist_table_full",
	"nesting_too_deep", "task_slot", "work_slot", "stale_wakeup", "task_exit", "coalesced",
	"clock_skew", "range", "program_missed", "occ_overrun", "switch_unseen", "path_unseen" };
_Static_assert(sizeof(loss_names) / sizeof(char *) == IP_NR_LOSS, "enum ip_loss");
_Static_assert(sizeof(point_names) / sizeof(char *) == IP_NR_POINTS, "enum ip_point");
_Static_assert(sizeof(vector_names) / sizeof(char *) == IP_NR_VECTORS, "enum ip_vector");

static void print_origin(__u32 kind, __u32 nr)
{
	if (kind == IP_ORIGIN_VECTOR)
		printf(" %s", vector_names[nr]);
	else
		printf(" %s:%u", kind == IP_ORIGIN_IRQ ? "irq" :
		       kind == IP_ORIGIN_SOFTIRQ ? "softirq" : "none", nr);
}

static void print_via(__u32 via)
{
	__u32 i, first = 1;

	printf(" via=%s", via ? "" : "-");
	for (i = 0; i < sizeof(via_names) / sizeof(char *); i++)
		if (via & 1 << i) {
			printf("%s%s", first ? "" : "+", via_names[i]);
			first = 0;
		}
}

/*
 * `carried=CPU,CPU+NS`: the last move of the thread that carried, since the hardirq.
 * `on=CPU,CPU+NS`: the run queues since the wakeup, unless it is that of the switch-in alone.
 */
static void print_queues(struct ip_rec_path *r)
{
	__u64 woken = r->chain.ns[IP_WAKING];
	int i;

	if (r->chain.carried_ns)
		printf(" carried=%u,%u+%llu", r->chain.carried_from, r->chain.cpu[IP_IRQ_THREAD],
		       r->chain.carried_ns - r->chain.ns[IP_HARDIRQ]);

	if (r->end == IP_END_ALREADY_RUNNING || !r->chain.ns[IP_SWITCH_IN] ||
	    (!r->queues.nr_moves && r->queues.cpu == r->chain.cpu[IP_SWITCH_IN]))
		return;
	printf(" on=%u", r->queues.cpu);
	for (i = 0; i < r->queues.nr_moves; i++)
		printf(",%u+%llu", r->queues.move_cpu[i], r->queues.move_ns[i] - woken);
}

static void print_path(struct ip_rec_path *r)
{
	__u64 prev = 0;
	int i;

	printf("path");
	print_origin(r->chain.origin_kind, r->chain.origin_nr);
	printf(" %.16s:%u", (char *)r->comm, r->tid);
	print_via(r->chain.via);
	printf(" %s", end_names[r->end]);
	for (i = 0; i < IP_NR_POINTS; i++) {
		if (!r->chain.ns[i])
			continue;
		printf(" %s@%u", point_names[i], r->chain.cpu[i]);
		if (prev)
			printf("%+lld", r->chain.ns[i] - prev);
		else
			printf("=%llu", r->chain.ns[i]);
		prev = r->chain.ns[i];
	}
	print_queues(r);
	if (r->chain.timer_fn)
		printf(" fn=%llx", r->chain.timer_fn);
	printf("\n");
}

/* Entries as ns:kind:flags:id:prio:comm; one that is older than its chunk is not written yet. */
static void print_chunk(char *what, struct ip_occ_chunk *chunk)
{
	int i;

	printf("%s %u %llu %llu", what, chunk->cpu, chunk->seq, chunk->begin_ns);
	for (i = 0; i < IP_CHUNK_LEN; i++) {
		struct ip_occ *e = &chunk->e[i];

		if (e->ns < chunk->begin_ns || !e->ns)
			break;
		printf(" %llu:%u:%u:%u", e->ns, e->kind, e->flags, e->id);
		if (e->kind == IP_OCC_SWITCH_IN || e->kind == IP_OCC_UNSEEN)
			printf(":%d:%.16s", e->prio + IP_PRIO_BIAS, (char *)e->comm);
	}
	printf("\n");
}

long bpf_ringbuf_output(void *ring, void *data, __u64 size, __u64 flags)
{
	struct ip_rec_nmi *nmi = data;

	if (sim_ring_full)
		return -1;
	switch (*(__u32 *)data) {
	case IP_REC_PATH:
		print_path(data);
		break;
	case IP_REC_OCC:
		print_chunk("occ", data);
		break;
	case IP_REC_NMI:
		printf("nmi %u end=%llu run=%llu\n", nmi->cpu, nmi->end_ns, nmi->duration_ns);
		break;
	default:
		sim_die("unknown record", "bpf_ringbuf_output");
	}
	return 0;
}

static void print_hist(char *stage, struct ip_hist *h)
{
	struct ip_hist_page *page;
	int i;

	if (!h->nr)
		return;
	printf("hist %s nr=%llu sum=%llu min=%llu max=%llu over=%llu", stage, h->nr, h->sum_ns,
	       ~h->min_ns_inverted, h->max_ns, h->nr_overflow);
	for (i = 0; i < IP_HIST_PAGES * IP_PAGE_BUCKETS; i++) {
		page = bpf_map_lookup_elem(&ip_hist_pages, &h->page[i / IP_PAGE_BUCKETS]);
		if (h->page[i / IP_PAGE_BUCKETS] && page->bucket[i % IP_PAGE_BUCKETS])
			printf(" %d:%llu", i, page->bucket[i % IP_PAGE_BUCKETS]);
	}
	printf("\n");
}

static void print_stats(void)
{
	struct sim_map *m = sim_map(&ip_paths);
	__u32 i, j;

	for (i = 0; i < m->nr_keys; i++) {
		struct ip_path_key *key = (void *)(m->keys + i * m->key_size);
		__u32 *nr = sim_entry(m, i, 0);
		struct ip_path_stat *s = bpf_map_lookup_elem(&ip_rows, nr);

		printf("stat");
		print_origin(key->origin_kind, key->origin_nr);
		printf(" %.16s", key->others ? "(others)" : (char *)key->comm);
		print_via(key->via);
		if (!key->others && (key->policy || key->normal_prio != 120))
			printf(" sched=%u:%d", key->policy, key->normal_prio);
		printf(" tid=%u several=%u slowest=%llu\n", s->tid, s->several_tids,
		       s->slowest_ns);
		print_hist("total", &s->hist[0]);
		for (j = 1; j < IP_NR_POINTS; j++)
			print_hist(point_names[j], &s->hist[j]);
	}
}

static void print_line(char *what, __u32 nr, struct ip_line *l)
{
	if (l->nr || l->run_ns)
		printf("line %s:%u nr=%llu run=%llu max=%llu\n", what, nr, l->nr, l->run_ns,
		       l->max_run_ns);
}

static void print_cpu(__u32 cpu, __u64 *loss)
{
	__u32 zero = 0, i;
	struct ip_cpu *c = bpf_map_lookup_percpu_elem(&ip_cpus, &zero, cpu);

	for (i = 0; i < IP_MAX_IRQS; i++)
		print_line("irq", i, bpf_map_lookup_percpu_elem(&ip_lines, &i, cpu));
	for (i = 0; i < IP_NR_VECTORS; i++)
		print_line(vector_names[i], cpu, &c->vectors[i]);
	for (i = 0; i < IP_NR_SOFTIRQS; i++) {
		struct ip_softirq *s = &c->softirqs[i];

		if (s->nr || s->run_ns)
			printf("softirq %u cpu=%u nr=%llu run=%llu delay=%llu max_delay=%llu\n", i, cpu,
			       s->nr, s->run_ns, s->delay_ns, s->max_delay_ns);
	}
	if (c->napi.nr)
		printf("napi cpu=%u nr=%llu packets=%llu exhausted=%llu\n", cpu, c->napi.nr,
		       c->napi.nr_packets, c->napi.nr_exhausted);
	printf("head %u %llu\n", cpu, c->occ_head);
	for (i = 0; i < IP_NR_LOSS; i++)
		loss[i] += c->loss[i];
}

/* The flight recorder's paths, as `kept NR` before each. */
static void print_kept(void)
{
	__u32 i;

	for (i = 0; i < SIM_CPUS * ip_config.nr_kept_paths; i++) {
		struct ip_kept_path *kept = bpf_map_lookup_elem(&ip_kept_paths, &i);

		if (!kept->nr)
			continue;
		printf("kept %llu\n", kept->nr);
		print_path(&kept->r);
	}
}

static void print_stacks(void)
{
	static char *why_names[] = { "irqs", "softirqs", "cpu", "lock" };
	__u32 i;

	for (i = 0; i < SIM_CPUS * IP_STACKS; i++) {
		struct ip_stack *s = bpf_map_lookup_elem(&ip_stacks, &i);

		if (s->nr)
			printf("stack %s of %.16s:%u for %u from=%llu+%llu n=%u\n",
			       why_names[s->why], (char *)s->comm, s->tid, s->waiter,
			       s->from_ns, s->until_ns - s->from_ns, s->nr_ips);
	}
}

/* Everything that user space would read from the maps, and the chunks still in the rings. */
static void print_final(void)
{
	__u64 loss[IP_NR_LOSS] = {};
	__u32 i;

	for (i = 0; i < SIM_CPUS; i++)
		print_cpu(i, loss);
	for (i = 0; i < SIM_CPUS * ip_config.nr_chunks; i++) {
		struct ip_occ_chunk *chunk = bpf_map_lookup_elem(&ip_chunks, &i);

		if (chunk->begin_ns)
			print_chunk("left", chunk);
	}
	print_kept();
	print_stacks();
	print_stats();
	printf("pages %u\n", ip_pool.pages_taken);
	i = 0;
	printf("folded %llu\n", ((struct ip_folded *)bpf_map_lookup_elem(&ip_folded, &i))->nr_paths);
	for (i = 0; i < IP_NR_LOSS; i++)
		if (loss[i])
			printf("loss %s %llu\n", loss_names[i], loss[i]);
}

#endif /* PRINT_H */
