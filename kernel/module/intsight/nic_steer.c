// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flow rules of the test NIC with nic_queues=2: which receive queue a packet
 * comes by (ethtool -N, -n). The functions of one queue stay as they are, as
 * measurements count their instructions; so a burst has a timer here.
 *
 * A rule is for the destination port of IPv4 over TCP or UDP, without any
 * other condition. The first rule that fits counts, in the order of their
 * locations; a packet that none fits comes by queue 0. A rule needs a location:
 * the device chooses none (RX_CLS_LOC_ANY). It stays while the end is down.
 */
#include <linux/errno.h>
#include <linux/ethtool.h>
#include <linux/in.h>

#include "cycles.h"
#include "intsight_mark.h"
#include "nic.h"

/**
 * intsight_steer() - the queue that a packet comes by
 * @end: where it arrives
 * @ports: of the packet
 *
 * Context: any.
 */
struct intsight_end *intsight_steer(struct intsight_end *end,
				    const struct intsight_ports *ports)
{
	const struct intsight_rule *rule;
	unsigned int queue = 0;
	unsigned long flags;
	int i;

	if (!(end->netdev->features & NETIF_F_NTUPLE))
		return end;

	raw_spin_lock_irqsave(&end->rules_lock, flags);
	for (i = 0; i < INTSIGHT_MAX_RULES; i++) {
		rule = &end->rules[i];
		if (rule->protocol == ports->protocol &&
		    rule->port == ports->dest) {
			queue = rule->queue;
			break;
		}
	}
	raw_spin_unlock_irqrestore(&end->rules_lock, flags);
	return end + queue;
}

/* One packet of a burst has come by a queue; see nic_wire.c. */
static void arrive(struct intsight_end *queue,
		   const struct intsight_parcel *parcel)
{
	struct intsight_ring *ring = &queue->burst.ring;
	bool raise = false;

	raw_spin_lock(&queue->lock);
	if (queue->up && ring->tail - ring->head <
			 READ_ONCE(queue->config->ring)) {
		ring->parcels[ring->tail++ % INTSIGHT_MAX_RING] = *parcel;
		raise = queue->irq_on;
		queue->irq_on = false;
		if (raise && !xchg(&queue->asserted, true))
			intsight_count(&queue->counts.raised, 1);
	} else {
		intsight_count(&queue->counts.overflowed, 1);
	}
	raw_spin_unlock(&queue->lock);

	if (raise) {
		INTSIGHT_MARK(INTSIGHT_MARK_NIC_RAISE);
		intsight_line_raise_hardirq(queue->line);
	}
}

/**
 * intsight_steer_burst() - the timer of a burst with several queues
 * @timer: of the first queue
 *
 * Context: hardirq.
 */
enum hrtimer_restart intsight_steer_burst(struct hrtimer *timer)
{
	struct intsight_end *end = container_of(timer, struct intsight_end,
						burst.timer);
	struct intsight_burst *burst = &end->burst;
	struct intsight_parcel parcel = { .cycles = intsight_cycles() };
	struct intsight_ports ports;
	bool again;
	u64 nr;

	raw_spin_lock(&end->lock);
	/* Those that a late timer owes come at once. */
	nr = hrtimer_forward_now(timer, ns_to_ktime(burst->period_ns));
	nr = min(nr, burst->left);
	burst->left -= nr;
	again = burst->left;
	raw_spin_unlock(&end->lock);

	/* Only this timer numbers them. */
	while (nr--) {
		parcel.seq = burst->seq++;
		ports = intsight_peer_ports(end, parcel.seq);
		arrive(intsight_steer(end, &ports), &parcel);
	}
	return again ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

static void set_rule(struct intsight_end *end, u32 location,
		     const struct intsight_rule *rule)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&end->rules_lock, flags);
	end->rules[location] = *rule;
	raw_spin_unlock_irqrestore(&end->rules_lock, flags);
}

/* As on other devices, a new rule takes the place of the one before. */
static int insert_rule(struct intsight_end *end,
		       const struct ethtool_rx_flow_spec *spec)
{
	const struct ethtool_tcpip4_spec *wanted = &spec->h_u.tcp_ip4_spec;
	const struct ethtool_tcpip4_spec *mask = &spec->m_u.tcp_ip4_spec;
	struct intsight_rule rule = {
		.port = wanted->pdst,
		.queue = spec->ring_cookie,
	};

	if (!(end->netdev->features & NETIF_F_NTUPLE))
		return -EOPNOTSUPP;
	switch (spec->flow_type) {
	case TCP_V4_FLOW:
		rule.protocol = IPPROTO_TCP;
		break;
	case UDP_V4_FLOW:
		rule.protocol = IPPROTO_UDP;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (mask->pdst != htons(U16_MAX) || mask->psrc || mask->ip4src ||
	    mask->ip4dst || mask->tos)
		return -EOPNOTSUPP;
	/* Also no RX_CLS_LOC_ANY, and no RX_CLS_FLOW_DISC as the queue. */
	if (spec->location >= INTSIGHT_MAX_RULES ||
	    spec->ring_cookie >= end->nr_queues)
		return -EINVAL;
	set_rule(end, spec->location, &rule);
	return 0;
}

static int remove_rule(struct intsight_end *end, u32 location)
{
	const struct intsight_rule none = { 0 };

	if (location >= INTSIGHT_MAX_RULES || !end->rules[location].protocol)
		return -ENOENT;
	set_rule(end, location, &none);
	return 0;
}

/* Context: RTNL, so that no rule changes. */
static int show_rule(const struct intsight_end *end,
		     struct ethtool_rx_flow_spec *spec)
{
	const struct intsight_rule *rule;
	u32 location = spec->location;

	if (location >= INTSIGHT_MAX_RULES || !end->rules[location].protocol)
		return -ENOENT;
	rule = &end->rules[location];
	memset(spec, 0, sizeof(*spec));
	spec->location = location;
	spec->flow_type = rule->protocol == IPPROTO_TCP ? TCP_V4_FLOW :
							  UDP_V4_FLOW;
	spec->h_u.tcp_ip4_spec.pdst = rule->port;
	spec->m_u.tcp_ip4_spec.pdst = htons(U16_MAX);
	spec->ring_cookie = rule->queue;
	return 0;
}

/* The locations go to @locations if that is not NULL. Returns their number. */
static int list_rules(const struct intsight_end *end, u32 *locations, u32 room)
{
	u32 nr = 0, i;

	for (i = 0; i < INTSIGHT_MAX_RULES; i++) {
		if (!end->rules[i].protocol)
			continue;
		if (locations && nr == room)
			return -EMSGSIZE;
		if (locations)
			locations[nr] = i;
		nr++;
	}
	return nr;
}

u32 intsight_steer_ring_count(struct net_device *netdev)
{
	const struct intsight_end *end = netdev_priv(netdev);

	return end->nr_queues;
}

int intsight_steer_get(struct net_device *netdev, struct ethtool_rxnfc *info,
		       u32 *locations)
{
	const struct intsight_end *end = netdev_priv(netdev);
	int nr;

	switch (info->cmd) {
	case ETHTOOL_GRXRINGS:
		info->data = end->nr_queues;
		return 0;
	case ETHTOOL_GRXCLSRULE:
		return show_rule(end, &info->fs);
	case ETHTOOL_GRXCLSRLCNT:
		locations = NULL;
		break;
	case ETHTOOL_GRXCLSRLALL:
		break;
	default:
		return -EOPNOTSUPP;
	}
	nr = list_rules(end, locations, info->rule_cnt);
	if (nr < 0)
		return nr;
	info->data = INTSIGHT_MAX_RULES;
	info->rule_cnt = nr;
	return 0;
}

int intsight_steer_set(struct net_device *netdev, struct ethtool_rxnfc *info)
{
	struct intsight_end *end = netdev_priv(netdev);

	switch (info->cmd) {
	case ETHTOOL_SRXCLSRLINS:
		return insert_rule(end, &info->fs);
	case ETHTOOL_SRXCLSRLDEL:
		return remove_rule(end, info->fs.location);
	default:
		return -EOPNOTSUPP;
	}
}
