// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * trigger.bpf.c - an object of its own: a program comes to a probe, which triggers a capture.
 *
 * Static probes and functions alike are places in a file. Each probe has its slot, whose number is
 * the cookie of all its places. User space looks at the counts a few times a second.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>

#define IP_MAX_PROBES	16	/* a power of two */

char LICENSE[] SEC("license") = "GPL";

struct ip_probe {
	__u64 nr;
	__u64 ns;	/* of the last one */
	__u32 tid;	/* whose it was */
	__u32 tgid;
	__u64 comm[2];
};

struct ip_probe ip_probes[IP_MAX_PROBES];

static __always_inline int ip_note_probe(__u64 cookie)
{
	struct ip_probe *probe = &ip_probes[cookie & (IP_MAX_PROBES - 1)];
	__u64 who = bpf_get_current_pid_tgid();

	probe->ns = bpf_ktime_get_ns();
	probe->tid = who;
	probe->tgid = who >> 32;
	bpf_get_current_comm(probe->comm, sizeof(probe->comm));
	__sync_fetch_and_add(&probe->nr, 1);
	return 0;
}

SEC("uprobe")
int ip_uprobe(struct pt_regs *ctx)
{
	return ip_note_probe(bpf_get_attach_cookie(ctx));
}
