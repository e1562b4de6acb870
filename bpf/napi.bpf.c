// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * napi.bpf.c - what a net_rx softirq or a NAPI thread did: polls, packets, used-up budgets.
 *
 * napi_poll fires when a poll is over, after the wakeups that it caused, so it adds to the
 * statistics and not to a path. A poll that used up its budget is why net_rx runs again.
 */

SEC("tp_btf/napi_poll")
int BPF_PROG(ip_napi_poll, struct napi_struct *napi, int work, int budget)
{
	struct ip_cpu *c = ip_this_cpu();

	if (!c)
		return 0;
	c->nr_events++;
	c->napi.nr++;
	if (work > 0)
		c->napi.nr_packets += work;
	if (work >= budget && budget > 0)
		c->napi.nr_exhausted++;
	return 0;
}
