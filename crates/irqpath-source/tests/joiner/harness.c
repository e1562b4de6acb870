// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * harness.c - the programs in bpf/ as an ordinary executable: events in, records out.
 *
 * Compiles the very sources that the kernel gets, against the shims beside it. Each line of
 * stdin is a setting (`task 10 app`, `config threshold_ns 100`) or an event
 * (`CPU NS EVENT ARGUMENTS`); docs/life-of-an-interrupt.md says what an event means.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../../bpf/irqpath.bpf.c"
#include "sim.h"
#include "print.h"
#include "race.h"

#define MAX_ARGS	8

static char *arg[MAX_ARGS];
static int nr_args;

static char *word(int i)
{
	return i < nr_args ? arg[i] : "";
}

static __u64 num(int i)
{
	char *end;
	__u64 v = i < nr_args ? strtoull(arg[i], &end, 0) : 0;

	if (i < nr_args && *end)
		sim_die("not a number", arg[i]);
	return v;
}

static bool is(int i, char *name)
{
	return !strcmp(word(i), name);
}

/* task TID COMM [kernel|user|fault] [PRIO] [TGID] */
static void set_task(void)
{
	struct sim_task *s = sim_task(num(1));

	memset(s->t.comm, 0, sizeof(s->t.comm));
	snprintf(s->t.comm, sizeof(s->t.comm), "%s", word(2));
	s->t.flags = is(3, "kernel") ? PF_KTHREAD : 0;
	s->regs.orig_ax = is(3, "fault") ? -1 : 0;
	if (nr_args > 4)
		s->t.prio = s->t.normal_prio = num(4);
	if (nr_args > 5)
		s->t.tgid = num(5);
}

/* uid TID UID [OWNER]: the owner of the outer one of its two user namespaces */
static void set_uid(void)
{
	struct sim_task *s = sim_task(num(1));

	s->cred.uid.val = num(2);
	s->ns.level = nr_args > 3 ? 2 : 0;
	s->ns.owner.val = num(2);
	s->outermost.level = 1;
	s->outermost.owner.val = nr_args > 3 ? num(3) : 0;
}

/* sched TID POLICY NORMAL_PRIO [PRIO]: the last where it is boosted */
static void set_sched(void)
{
	struct task_struct *t = &sim_task(num(1))->t;

	t->policy = num(2);
	t->normal_prio = num(3);
	t->prio = nr_args > 4 ? num(4) : num(3);
}

/* action ID THREAD_TID [NEXT_ID] */
static void set_action(void)
{
	struct irqaction *a = sim_action(num(1));

	a->thread = num(2) ? &sim_task(num(2))->t : NULL;
	a->next = nr_args > 3 ? sim_action(num(3)) : NULL;
}

static void sim_fill_pool(__u32 at)
{
	struct ip_pool *p = &ip_pool;
	__u32 nr;

	p->rows_taken = p->rows_put = p->pages_taken = p->pages_put = at;
	for (nr = 1; nr <= IP_MAX_PATHS + IP_MAX_OTHERS; nr++)
		p->row[p->rows_put++ % IP_ROW_RING] = nr;
	for (nr = 1; nr < IP_MAX_PAGES; nr++)
		p->page[p->pages_put++ % IP_PAGE_RING] = nr;
}

static void set_config(void)
{
	volatile struct ip_config *c = &ip_config;
	char comm[IP_COMM_LEN] = {};

	if (is(1, "threshold_ns"))
		c->threshold_ns = num(2);
	else if (is(1, "record_all"))
		c->record_all = num(2);
	else if (is(1, "stolen"))
		c->rq_to_stolen = num(2) ? sizeof(sim_rqs[0].queue) : 0;
	else if (is(1, "slot_salt"))
		c->slot_salt = num(2);
	else if (is(1, "no_user"))
		c->no_user = num(2);
	else if (is(1, "hardirqs_only"))
		c->hardirqs_only = num(2);
	else if (is(1, "self_tgid"))
		c->self_tgid = num(2);
	else if (is(1, "tid"))
		c->tid[c->nr_tids++] = num(2);
	else if (is(1, "max_paths"))
		sim_map(&ip_paths)->max = num(2);
	else if (is(1, "pages_taken"))
		ip_pool.pages_taken = num(2);
	else if (is(1, "pool_at"))	/* as after months of taking and putting back */
		sim_fill_pool(num(2));
	else if (is(1, "max_chunks"))
		c->nr_chunks = num(2);
	else if (is(1, "kept"))		/* at most SIM_KEPT */
		c->nr_kept_paths = num(2), c->only_keeps = 1;
	else if (is(1, "beside"))	/* statistics beside what is kept */
		c->nr_kept_paths = num(2), c->only_keeps = 0;
	else if (is(1, "kept_ns"))
		c->kept_ns = num(2);
	else if (is(1, "stack_ns"))
		c->stack_ns = num(2);
	else if (is(1, "stage_ns"))	/* POINT NS */
		c->stage_ns[num(2)] = num(3);
	else if (is(1, "origin")) {
		c->origin_kind[c->nr_origins] = num(2);
		c->origin_nr[c->nr_origins++] = num(3);
	} else if (is(1, "comm")) {
		memcpy(comm, word(2), strnlen(word(2), IP_COMM_LEN - 1));
		memcpy((void *)c->comm[c->nr_comms++], comm, sizeof(comm));
	} else if (is(1, "cpu")) {
		c->filter_cpus = 1;
		c->cpus[num(2) >> 6] |= 1ULL << (num(2) & 63);
	} else
		sim_die("no such setting", word(1));
}

/* counted N: as if months had passed, every bucket in use has counted that much. */
static void set_counted(void)
{
	__u32 nr, i;

	for (nr = 1; nr <= ip_pool.pages_taken; nr++) {
		struct ip_hist_page *page = bpf_map_lookup_elem(&ip_hist_pages, &nr);

		for (i = 0; i < IP_PAGE_BUCKETS; i++)
			if (page->bucket[i])
				page->bucket[i] = num(1);
	}
}

/* The row that the table has for its path number NR from 0 on. */
static __u32 *sim_row(__u32 nr)
{
	return sim_entry(sim_map(&ip_paths), nr, 0);
}

/* retired NR: its path leaves the table, and its row and pages are empty and free. */
static void set_retired(void)
{
	struct sim_map *m = sim_map(&ip_paths);
	__u32 row = *sim_row(num(1)), last = --m->nr_keys, i, j;
	struct ip_path_stat *s = bpf_map_lookup_elem(&ip_rows, &row);
	struct ip_pool *p = &ip_pool;

	for (i = 0; i < IP_NR_POINTS; i++)
		for (j = 0; j < IP_HIST_PAGES; j++)
			if (s->hist[i].page[j]) {
				memset(bpf_map_lookup_elem(&ip_hist_pages, &s->hist[i].page[j]), 0,
				       sizeof(struct ip_hist_page));
				p->page[p->pages_put++ % IP_PAGE_RING] = s->hist[i].page[j];
			}
	memset(s, 0, sizeof(*s));
	p->row[p->rows_put++ % IP_ROW_RING] = row;
	memcpy(m->keys + num(1) * m->key_size, m->keys + last * m->key_size, m->key_size);
	*sim_row(num(1)) = *sim_row(last);
}

/* stale NR OTHER: a program finds the entry of a path as another one uses it again. */
static void set_stale(void)
{
	*sim_row(num(1)) = *sim_row(num(2));
}

/* A task that comes on another CPU was moved there first; this script leaves out when. */
static void sim_place(struct task_struct *p)
{
	int on_rq = p->on_rq;

	if (p->pid && p->thread_info.cpu != sim_cpu) {
		p->on_rq = 0;
		ip_sched_migrate_task(p, sim_cpu);
		p->on_rq = on_rq;
	}
	p->thread_info.cpu = sim_cpu;
}

/* switch NEXT_TID [PREV_STATE|preempt]: the program runs while the old task is still current. */
static void do_switch(void)
{
	struct task_struct *prev = sim_current[sim_cpu], *next = &sim_task(num(3))->t;
	bool preempt = is(4, "preempt");

	if (!preempt)
		prev->__state = num(4);
	next->on_cpu = 1;	/* as prepare_task does, before the tracepoint */
	next->on_rq = 1;
	sim_place(next);
	prev->on_rq = preempt || !prev->__state;
	ip_sched_switch(preempt, prev, next, prev->__state);
	prev->on_cpu = 0;
	sim_current[sim_cpu] = next;
}

/* hidden NEXT_TID [PREV_STATE|preempt]: a switch for which the kernel runs no program. */
static void do_hidden_switch(void)
{
	struct task_struct *prev = sim_current[sim_cpu], *next = &sim_task(num(3))->t;

	if (!is(4, "preempt"))
		prev->__state = num(4);
	prev->on_rq = is(4, "preempt") || !prev->__state;
	prev->on_cpu = 0;
	next->on_cpu = 1;
	next->on_rq = 1;
	next->thread_info.cpu = sim_cpu;
	sim_current[sim_cpu] = next;
}

/* leave [delayed]: the current task leaves its run queue and is on its CPU for a little longer. */
static void do_leave(void)
{
	struct task_struct *p = sim_current[sim_cpu];

	p->__state = TASK_INTERRUPTIBLE;
	p->se.sched_delayed = is(3, "delayed");
	p->on_rq = p->se.sched_delayed;
}

static void do_waking(void)
{
	struct task_struct *p = &sim_task(num(3))->t;

	ip_sched_waking(p);
	p->__state = 0;
	p->on_rq = 1;
	p->se.sched_delayed = 0;
}

/* migrate TID CPU [placed]: to another run queue, or to its first one after a wakeup. */
static void do_migrate(void)
{
	struct task_struct *p = &sim_task(num(3))->t;
	int on_rq = p->on_rq;

	p->on_rq = is(5, "placed") ? 0 : 2;
	ip_sched_migrate_task(p, num(4));
	p->on_rq = on_rq;
	p->thread_info.cpu = num(4);
}

static void do_hrtimer(void)
{
	struct hrtimer_clock_base base = { .offset = num(4) };
	struct hrtimer timer = { .node.expires = num(3), .base = &base };

	timer.function = (void *)num(5);
	ip_hrtimer_expire_entry(&timer);
}

/* Timers of these scripts that are set have one address each, by NR. */
static struct hrtimer set_timers[8];
static struct hrtimer_clock_base set_base;

static void do_set_timer(bool expires)
{
	struct hrtimer *timer = &set_timers[num(3) & 7];

	timer->base = &set_base;
	if (expires) {
		ip_hrtimer_expire_entry(timer);
		return;
	}
	timer->node.expires = num(4);
	ip_hrtimer_start(timer);
}

static void do_timer(void)
{
	struct timer_list timer = { .function = (void *)num(3) };

	ip_timer_expire_entry(&timer);
}

#define VECTOR(tp) { #tp, ip_##tp##_entry, ip_##tp##_exit }
static struct {
	char *name;
	int (*entry)(void *ctx);
	int (*exit)(void *ctx);
} vectors[] = {
	VECTOR(local_timer), VECTOR(reschedule), VECTOR(call_function),
	VECTOR(call_function_single), VECTOR(irq_work), VECTOR(x86_platform_ipi),
	VECTOR(error_apic), VECTOR(spurious_apic), VECTOR(thermal_apic),
	VECTOR(threshold_apic), VECTOR(deferred_error_apic), VECTOR(ipi),
};

static void do_vector(bool entry)
{
	__u32 i;

	for (i = 0; i < IP_NR_VECTORS; i++)
		if (is(3, vectors[i].name)) {
			(entry ? vectors[i].entry : vectors[i].exit)(NULL);
			return;
		}
	sim_die("no such vector", word(3));
}

static void event_of_interrupt(void)
{
	if (is(2, "irq_entry"))		/* IRQ ACTION */
		ip_irq_handler_entry(num(3), sim_action(num(4)));
	else if (is(2, "irq_exit"))	/* IRQ ACTION [RET] */
		ip_irq_handler_exit(num(3), sim_action(num(4)), num(5));
	else if (is(2, "vector_entry"))	/* NAME */
		do_vector(true);
	else if (is(2, "vector_exit"))
		do_vector(false);
	else if (is(2, "ipi"))		/* CPU [CALLBACK] */
		ip_ipi_send_cpu(num(3), 0, (void *)num(4));
	else if (is(2, "nmi"))		/* DURATION */
		ip_nmi_handler(NULL, num(3), 1);
	else if (is(2, "softirq_raise"))	/* VECTOR */
		ip_softirq_raise(num(3));
	else if (is(2, "softirq_entry"))
		ip_softirq_entry(num(3));
	else if (is(2, "softirq_exit"))
		ip_softirq_exit(num(3));
	else if (is(2, "napi"))		/* WORK BUDGET */
		ip_napi_poll(NULL, num(3), num(4));
	else if (is(2, "hrtimer_entry"))	/* EXPIRES [OFFSET] [FUNCTION] */
		do_hrtimer();
	else if (is(2, "timer_set"))		/* NR EXPIRES */
		do_set_timer(false);
	else if (is(2, "timer_expires"))	/* NR; ends with hrtimer_exit */
		do_set_timer(true);
	else if (is(2, "hrtimer_exit"))
		ip_hrtimer_expire_exit(NULL);
	else if (is(2, "timer_entry"))	/* [FUNCTION] */
		do_timer();
	else if (is(2, "timer_exit"))
		ip_timer_expire_exit(NULL);
	else
		sim_die("no such event", word(2));
}

static void event(void)
{
	sim_cpu = num(0);
	sim_ns = num(1);
	if (sim_cpu >= SIM_CPUS)
		sim_die("no such CPU", word(0));
	sim_current[sim_cpu]->se.cfs_rq = &sim_cfs_rqs[sim_cpu];
	if (is(2, "stolen"))		/* NS until now */
		sim_rqs[sim_cpu].stolen_ns += num(3);
	else if (is(2, "waking"))	/* TID */
		do_waking();
	else if (is(2, "switch"))	/* NEXT_TID [PREV_STATE|preempt] */
		do_switch();
	else if (is(2, "hidden"))	/* NEXT_TID [PREV_STATE|preempt] */
		do_hidden_switch();
	else if (is(2, "migrate"))	/* TID CPU [placed] */
		do_migrate();
	else if (is(2, "leave"))	/* [delayed] */
		do_leave();
	else if (is(2, "sys_exit"))
		ip_sys_exit(NULL);
	else if (is(2, "exit"))		/* of the current task */
		ip_sched_process_exit(sim_current[sim_cpu]);
	else if (is(2, "state"))	/* STATE of the current task, without a switch */
		sim_current[sim_cpu]->__state = num(3);
	else if (is(2, "queue_work"))	/* ADDRESS */
		ip_workqueue_queue_work(-1, NULL, (struct work_struct *)num(3));
	else if (is(2, "work_start"))
		ip_workqueue_execute_start((struct work_struct *)num(3));
	else if (is(2, "work_end"))
		ip_workqueue_execute_end(NULL);
	else if (is(2, "cpuhp"))	/* CPU */
		ip_cpuhp_enter(num(3));
	else if (is(2, "race"))		/* HISTOGRAMS */
		race_for_pages(num(3));
	else if (is(2, "race_ask"))	/* ROUNDS */
		race_to_ask(num(3));
	else if (is(2, "ring"))		/* full|free */
		sim_ring_full = is(3, "full");
	else
		event_of_interrupt();
}

#define ADD(map, max, nr_cpus, hash) \
	sim_map_add(&map, sizeof(*map.key), sizeof(*map.value), max, nr_cpus, hash)

static void sim_start(void)
{
	__u32 i;

	ip_config.nr_chunks = 64;
	ip_config.max_paths = IP_MAX_PATHS;
	ip_config.keep_pages = IP_MAX_PAGES / IP_KEPT_PAGES;
	sim_fill_pool(0);
	ADD(ip_cpus, 1, SIM_CPUS, false);
	ADD(ip_lines, IP_MAX_IRQS, SIM_CPUS, false);
	ADD(ip_tags, IP_TASK_SLOTS, 1, false);
	ADD(ip_slots, IP_TASK_SLOTS, 1, false);
	ADD(ip_saved_softirqs, IP_SAVED_SLOTS, 1, false);
	ADD(ip_works, IP_WORK_SLOTS, 1, false);
	ADD(ip_chunks, ip_config.nr_chunks * SIM_CPUS, 1, false);
	ADD(ip_kept_paths, SIM_KEPT * SIM_CPUS, 1, false);
	ADD(ip_stacks, IP_STACKS * SIM_CPUS, 1, false);
	ADD(ip_paths, IP_MAX_PATHS + IP_MAX_OTHERS, 1, true);
	ADD(ip_rows, IP_MAX_PATHS + IP_MAX_OTHERS + 1, 1, false);
	ADD(ip_shares, IP_MAX_SHARES, 1, true);
	ADD(ip_folded, 1, 1, false);
	ADD(ip_hist_pages, IP_MAX_PAGES, 1, false);
	for (i = 0; i < SIM_CPUS; i++) {
		sim_cfs_rqs[i].rq = (struct rq *)&sim_rqs[i];
		snprintf(sim_idle[i].t.comm, sizeof(sim_idle[i].t.comm), "swapper/%u", i);
		sim_idle[i].t.flags = PF_KTHREAD;
		sim_idle[i].t.prio = sim_idle[i].t.normal_prio = 120;
		sim_give_cred(&sim_idle[i]);
		sim_current[i] = &sim_idle[i].t;
	}
}

int main(void)
{
	char line[256];

	sim_start();
	while (fgets(line, sizeof(line), stdin)) {
		char *next;

		nr_args = 0;
		for (next = strtok(line, " \n"); next && nr_args < MAX_ARGS;
		     next = strtok(NULL, " \n"))
			arg[nr_args++] = next;
		if (!nr_args || *arg[0] == '#')
			continue;
		if (is(0, "task"))
			set_task();
		else if (is(0, "sched"))
			set_sched();
		else if (is(0, "uid"))
			set_uid();
		else if (is(0, "action"))
			set_action();
		else if (is(0, "config"))
			set_config();
		else if (is(0, "retired"))
			set_retired();
		else if (is(0, "stale"))
			set_stale();
		else if (is(0, "counted"))
			set_counted();
		else
			event();
	}
	print_final();
	return 0;
}
