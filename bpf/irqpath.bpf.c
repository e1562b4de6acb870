// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * irqpath.bpf.c - the one object: every stage in its own file, compiled together so that the
 * state of a CPU is reached without calls. docs/life-of-an-interrupt.md walks through them.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "irqpath.h"

#define BPF_NOEXIST		1
#define BPF_RB_NO_WAKEUP	1
#define TASK_INTERRUPTIBLE	0x0001
#define TASK_RTLOCK_WAIT	0x1000
#define IRQ_WAKE_THREAD		2		/* include/linux/irqreturn.h */

char LICENSE[] SEC("license") = "GPL";

#include "maps.bpf.h"
#include "occupancy.bpf.h"
#include "steal.bpf.h"
#include "stack.bpf.h"
#include "chain.bpf.h"
#include "rows.bpf.h"
#include "hist.bpf.h"
#include "share.bpf.h"
#include "saved.bpf.h"
#include "flight.bpf.h"
#include "finish.bpf.h"

#include "ipi.bpf.c"
#include "hardirq.bpf.c"
#include "policy.bpf.c"
#include "softirq.bpf.c"
#include "napi.bpf.c"
#include "timer.bpf.c"
#include "workqueue.bpf.c"
#include "sched.bpf.c"
