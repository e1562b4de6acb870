/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Markers: one instruction that does nothing and that nobody else emits. The
 * lab's QEMU plugin finds it when it translates a block, so that a path is
 * counted from marker to marker to the instruction; hardware executes it as a
 * no-op. Usable in kernel and user space, no other header needed.
 *
 * The identifiers are an interface: the plugin and the user programs know the
 * same numbers. Add at the end, never renumber.
 */
#ifndef INTSIGHT_MARK_H
#define INTSIGHT_MARK_H

#define INTSIGHT_MARK_RAISE		1	/* just before a line is raised */
#define INTSIGHT_MARK_HARDIRQ		2	/* hardirq handler, = top_half */
#define INTSIGHT_MARK_IRQ_THREAD	3	/* threaded handler */
#define INTSIGHT_MARK_BOTTOM_HALF	4
#define INTSIGHT_MARK_TARGET_KERNEL	5	/* target back from its sleep */
#define INTSIGHT_MARK_TARGET_USER	6	/* target in user space */
#define INTSIGHT_MARK_NIC_RAISE		7
#define INTSIGHT_MARK_NIC_POLL		8
#define INTSIGHT_MARK_WORKLOAD_GO	16
#define INTSIGHT_MARK_WORKLOAD_END	17

/*
 * INTSIGHT_MARK_INSN is for use inside a larger asm, right before the
 * instruction that it marks. The asm passes the constant identifier (0..255) as
 * the "i" operand named mark.
 */
#if defined(__x86_64__)
/* nopl disp32(%rax) */
#define INTSIGHT_MARK_INSN \
	".byte 0x0f, 0x1f, 0x80\n\t.long 0x51a70000 | %c[mark]\n\t"
#elif defined(__aarch64__)
/* The zero register takes no value. */
#define INTSIGHT_MARK_INSN "movz xzr, #(0x5a00 | %c[mark])\n\t"
#else
#error "intsight has no marker instruction for this architecture"
#endif

#define INTSIGHT_MARK(id) \
	({ __asm__ __volatile__(INTSIGHT_MARK_INSN : : [mark] "i" (id)); })

#endif /* INTSIGHT_MARK_H */
