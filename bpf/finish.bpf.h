/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * finish.bpf.h - the end of a path: statistics always, a record if it is worth one.
 *
 * The larger functions are global on purpose: the verifier then checks each once, not once
 * per way that leads to it.
 */
#ifndef IRQPATH_FINISH_BPF_H
#define IRQPATH_FINISH_BPF_H

static __always_inline bool ip_cpu_wanted(__u32 cpu)
{
	return ip_config.cpus[(cpu >> 6) & 127] & (1ULL << (cpu & 63));
}

__noinline int ip_wanted(struct ip_rec_path *r)
{
	bool hit = !ip_config.nr_origins;
	int i;

	if (!r)
		return 0;
	for (i = 0; i < IP_MAX_FILTER && i < ip_config.nr_origins; i++)
		hit |= ip_config.origin_kind[i] == r->chain.origin_kind &&
		       ip_config.origin_nr[i] == r->chain.origin_nr;
	if (!hit)
		return 0;
	hit = !ip_config.nr_tids && !ip_config.nr_comms && r->tgid != ip_config.self_tgid;
	for (i = 0; i < IP_MAX_FILTER && i < ip_config.nr_tids; i++)
		hit |= ip_config.tid[i] == r->tid || ip_config.tid[i] == r->tgid;
	for (i = 0; i < IP_MAX_FILTER && i < ip_config.nr_comms; i++)
		hit |= ip_config.comm[i][0] == r->comm[0] && ip_config.comm[i][1] == r->comm[1];
	if (!hit || !ip_config.filter_cpus)
		return hit;
	return (r->chain.ns[IP_HARDIRQ] && ip_cpu_wanted(r->chain.cpu[IP_HARDIRQ])) ||
	       (r->chain.ns[IP_SWITCH_IN] && ip_cpu_wanted(r->chain.cpu[IP_SWITCH_IN]));
}

/*
 * Keeps the earliest of the times that CPUs ask for at once. Each failed attempt is another CPU's
 * success, so a program that gives up after the last has met more of them in a few nanoseconds than
 * ever finish a path together; the time that it wanted is unexplained then.
 */
static __always_inline void ip_ask_since(__u64 *since_ns, __u64 from_ns)
{
	__u64 seen, asked = *(volatile __u64 *)since_ns;
	int i;

	for (i = 0; i < IP_ASK_ATTEMPTS && (!asked || from_ns < asked); i++) {
		seen = __sync_val_compare_and_swap(since_ns, asked, from_ns);
		if (seen == asked)
			return;
		asked = seen;
	}
}

/* Another CPU delivers its transitions since @from_ns at its next one. */
static __always_inline void ip_ask_cpu(__u32 cpu, __u64 from_ns)
{
	struct ip_cpu *other;
	__u32 zero = 0;

	if (cpu == bpf_get_smp_processor_id())
		return;
	other = bpf_map_lookup_percpu_elem(&ip_cpus, &zero, cpu);
	if (other)
		ip_ask_since(&other->flush_from_ns, from_ns);
}

/* Ask every CPU on the way for its transitions; this one delivers them at once. */
__noinline int ip_deliver_causes(struct ip_cpu *c, struct ip_rec_path *r, __u64 first_ns)
{
	struct ip_chain *ch;
	int i;

	if (!c || !r)
		return 0;
	ch = &r->chain;
	for (i = IP_HARDIRQ; i < IP_NR_POINTS; i++)
		if (ch->ns[i])
			ip_ask_cpu(ch->cpu[i], first_ns);
	if (r->end != IP_END_ALREADY_RUNNING)
		ip_ask_cpu(r->queues.cpu, first_ns);
	for (i = 0; i < IP_MAX_MOVES && i < r->queues.nr_moves; i++)
		ip_ask_cpu(r->queues.move_cpu[i], first_ns);
	/* Nothing else happened until the return to user space: say so, by restating the task. */
	if (ch->ns[IP_USER])
		ip_occ_task(c, true, ch->ns[IP_USER], bpf_get_current_task_btf());
	return ip_occ_flush(c, first_ns);
}

/*
 * The user whose task this is. In a user namespace that is who made the outermost one, as its
 * tasks may take any of the numbers that belong to it; for root's namespaces the numbers count.
 */
static __noinline __u32 ip_user_of(struct task_struct *task)
{
	const struct cred *cred = task->real_cred;
	struct user_namespace *ns = cred->user_ns;
	__u32 owner;
	int i;

	if (ns->level == 0)
		return cred->uid.val;
	for (i = 0; i < 32 && ns->level > 1; i++)
		ns = ns->parent;
	owner = ns->owner.val;
	return owner ?: cred->uid.val;
}

static __always_inline struct ip_path_stat *ip_path_stat_of(struct ip_cpu *c,
							    struct ip_rec_path *r,
							    struct task_struct *task,
							    __u64 cgroup)
{
	struct ip_path_key key = {
		.comm = { cgroup ?: r->comm[0], cgroup ? 0 : r->comm[1] },
		.origin_nr = r->chain.origin_nr,
		.origin_kind = r->chain.origin_kind,
		.via = r->chain.via,
		.normal_prio = r->normal_prio,
		.policy = r->policy,
	};
	struct ip_path_stat *stat = ip_row_of(&key);
	__u32 uid;

	if (stat)
		return stat;
	uid = ip_user_of(task);
	if (ip_may_have_row(r, uid)) {
		if (!ip_add_row(c, &key, r, uid))
			ip_charge_row(r, uid);
		stat = ip_row_of(&key);
	}
	if (!stat)
		stat = ip_others_of(c, r);
	if (!stat)
		ip_lose(c, IP_LOSS_PATH_TABLE_FULL);
	return stat;
}

/* First stamp to the switch-in. What follows, the target does itself. */
static __noinline __u64 ip_until_running(struct ip_chain *ch)
{
	__u64 last = 0;
	int i;

	for (i = 0; i < IP_USER; i++)
		if (ch->ns[i] > last)
			last = ch->ns[i];
	return last - ip_first_ns(ch);
}

/* Statistics of every stage and of the whole; returns the length of the whole. */
__noinline __u64 ip_account(struct ip_cpu *c, struct ip_chain *ch, struct ip_path_stat *stat)
{
	__u64 first = 0, prev = 0;
	__u32 keep;
	int i;

	if (!c || !ch || !stat)
		return 0;
	keep = stat->keep_pages;
	for (i = 0; i < IP_NR_POINTS; i++) {
		__u64 ns = ch->ns[i];

		if (!ns)
			continue;
		if (!prev) {
			first = prev = ns;
			continue;
		}
		if (ns < prev) {
			ip_lose(c, IP_LOSS_CLOCK_SKEW);
			ns = prev;
		}
		ip_hist_add(c, &stat->hist[i], ns - prev, keep);
		prev = ns;
	}
	ip_hist_add(c, &stat->hist[0], prev - first, keep);
	return prev - first;
}

/*
 * Finish the path of @task. Everything a record needs is in @chain and, if the task waited, in
 * @queues by now; they stay as they are.
 *
 * The record is too large for the stack: with what it calls, compilers from clang 19 on would need
 * more than the 512 bytes that a kernel allows. A CPU has two. An interrupt in the return of a system
 * call may finish the path of a task that did not wait, and nothing interrupts that.
 */
static __noinline int ip_finish(struct ip_cpu *c, struct ip_chain *chain,
				struct ip_queues *queues, __u32 end, struct task_struct *task)
{
	struct ip_path_stat *stat;
	struct ip_rec_path *r;
	__u64 total, slow, slowest = 0, cgroup = 0;

	if (!c || !chain)
		return 0;
	r = queues ? &c->waited : &c->found_running;
	r->type = IP_REC_PATH;
	r->end = end;
	__builtin_memcpy(&r->chain, chain, sizeof(r->chain));
	if (queues)
		__builtin_memcpy(&r->queues, queues, sizeof(r->queues));
	r->tid = task->pid;
	r->tgid = task->tgid;
	r->prio = ip_signed(task, prio);
	r->normal_prio = ip_signed(task, normal_prio);
	r->policy = task->policy;
	ip_comm(r->comm, task);
	if (!ip_wanted(r))
		return 0;
	if (ip_config.by_cgroup)
		cgroup = r->cgroup = task->cgroups->dfl_cgrp->kn->id;
	if (ip_config.nr_kept_paths)
		ip_keep_path(c, r);
	if (ip_config.only_keeps)
		return 0;
	stat = ip_path_stat_of(c, r, task, cgroup);
	total = stat ? ip_account(c, &r->chain, stat) : ip_length(&r->chain);
	slow = ip_until_running(&r->chain);
	if (stat) {
		if (stat->tid != r->tid)
			stat->several_tids = 1;
		slowest = stat->slowest_ns;
		ip_raise_max(&stat->slowest_ns, slow);
	}
	if ((ip_config.threshold_ns ? total >= ip_config.threshold_ns : stat && slow > slowest) ||
	    (ip_config.nr_kept_paths && ip_is_over(&r->chain)))
		ip_deliver_causes(c, r, ip_first_ns(&r->chain));
	else if (!ip_config.record_all)
		return 0;
	if (bpf_ringbuf_output(&ip_records, r, sizeof(*r), BPF_RB_NO_WAKEUP))
		ip_lose(c, IP_LOSS_RINGBUF_FULL);
	return 0;
}

#endif /* IRQPATH_FINISH_BPF_H */
