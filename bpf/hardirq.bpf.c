// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hardirq.bpf.c - stage: raise -> hardirq. Device lines and CPU vectors.
 *
 * irq_handler_entry fires once per irqaction; a second action of a shared line is the same
 * interrupt. Vector interrupts have no irq_desc and therefore tracepoints of their own
 * (arch/x86/include/asm/trace/irq_vectors.h); a kernel that lacks one is told by user space.
 */

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(ip_irq_handler_entry, int irq, struct irqaction *action)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_line *line;
	__u32 nr = irq;

	if (!c)
		return 0;
	ip_hard_enter(c, IP_ORIGIN_IRQ, nr, NULL);
	if (c->shared_next == (__u64)action)
		return 0;
	line = bpf_map_lookup_elem(&ip_lines, &nr);
	if (line)
		line->nr++;
	else
		ip_lose(c, IP_LOSS_RANGE);
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(ip_irq_handler_exit, int irq, struct irqaction *action, int ret)
{
	struct ip_cpu *c = ip_this_cpu();
	struct ip_line *line;
	__u32 nr = irq, depth;
	bool followed;
	__u64 run_ns;

	if (!c)
		return 0;
	followed = c->hard_depth;
	run_ns = ip_hard_exit(c);
	c->shared_next = (__u64)action->next;
	line = bpf_map_lookup_elem(&ip_lines, &nr);
	if (line)
		ip_line_add(line, run_ns);
	depth = c->hard_depth;
	/* The thread is woken after this tracepoint (__handle_irq_event_percpu). */
	if (ret == IRQ_WAKE_THREAD && action->thread && followed && depth < IP_MAX_NEST) {
		if (c->wake_tid)
			ip_lose(c, IP_LOSS_COALESCED);
		c->wake_tid = action->thread->pid;
		c->wake_migrates = 0;	/* a task that was offered one and woken untraced */
		__builtin_memcpy(&c->wake_chain, &c->hard[depth & (IP_MAX_NEST - 1)],
				 sizeof(c->wake_chain));
	}
	return 0;
}

/* @ipi: which of ip_cpu.ipi_raise_ns is its raise, or none. */
static __always_inline int ip_vector_entry(enum ip_vector vector, int ipi)
{
	struct ip_cpu *c = ip_this_cpu();

	if (!c)
		return 0;
	ip_hard_enter(c, IP_ORIGIN_VECTOR, vector, ipi < 0 ? NULL : &c->ipi_raise_ns[ipi]);
	c->vectors[vector].nr++;
	return 0;
}

static __always_inline int ip_vector_exit(enum ip_vector vector)
{
	struct ip_cpu *c = ip_this_cpu();

	if (c)
		ip_line_add(&c->vectors[vector], ip_hard_exit(c));
	return 0;
}

#define IP_NO_IPI	(-1)

/* An IPI's raise is its sending, see ipi.bpf.c. */
#define IP_VECTOR(tp, vector, ipi)						\
SEC("tp_btf/" #tp "_entry")							\
int ip_##tp##_entry(void *ctx) { return ip_vector_entry(vector, ipi); }		\
SEC("tp_btf/" #tp "_exit")							\
int ip_##tp##_exit(void *ctx) { return ip_vector_exit(vector); }

IP_VECTOR(local_timer, IP_LOCAL_TIMER, IP_NO_IPI)	/* the raise is the hrtimer's, see timer.bpf.c */
IP_VECTOR(reschedule, IP_RESCHEDULE, 0)
IP_VECTOR(call_function, IP_CALL_FUNCTION, 1)
IP_VECTOR(call_function_single, IP_CALL_FUNCTION_SINGLE, 1)
IP_VECTOR(irq_work, IP_IRQ_WORK, IP_NO_IPI)
IP_VECTOR(x86_platform_ipi, IP_PLATFORM_IPI, IP_NO_IPI)
IP_VECTOR(error_apic, IP_ERROR_APIC, IP_NO_IPI)
IP_VECTOR(spurious_apic, IP_SPURIOUS_APIC, IP_NO_IPI)
IP_VECTOR(thermal_apic, IP_THERMAL_APIC, IP_NO_IPI)
IP_VECTOR(threshold_apic, IP_THRESHOLD_APIC, IP_NO_IPI)
IP_VECTOR(deferred_error_apic, IP_DEFERRED_ERROR_APIC, IP_NO_IPI)
IP_VECTOR(ipi, IP_GENERIC_IPI, 0)	/* arm, arm64: ipi_entry/ipi_exit */

/* NMIs report their own length at the end; they may interrupt any program above. */
SEC("tp_btf/nmi_handler")
int BPF_PROG(ip_nmi_handler, void *handler, __s64 delta_ns, int handled)
{
	struct ip_rec_nmi r = {
		.type = IP_REC_NMI,
		.cpu = bpf_get_smp_processor_id(),
		.end_ns = bpf_ktime_get_ns(),
		.duration_ns = delta_ns,
	};

	bpf_ringbuf_output(&ip_records, &r, sizeof(r), BPF_RB_NO_WAKEUP);
	return 0;
}
