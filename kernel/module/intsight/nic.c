// SPDX-License-Identifier: GPL-2.0-only
/*
 * The test NIC: two network devices without hardware, whose packets come in by
 * a real interrupt, NAPI and the kernel's own stack.
 *
 * This file is the driver, and does as drivers of hardware do. It requests the
 * interrupt without flags, so that the kernel may force it into a thread. The
 * handler schedules NAPI. The poll keeps to its budget, and switches the
 * interrupt on again when it has completed. nic_wire.c and nic_peer.c play the
 * hardware.
 *
 * Both devices may be moved to other network namespaces; they return to the
 * first one when theirs ends.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>

#include "compat.h"
#include "intsight.h"
#include "intsight_mark.h"
#include "nic.h"

static bool nic;
module_param(nic, bool, 0444);
MODULE_PARM_DESC(nic, "make the test NIC, isight0 and isight1 (default N)");

static bool nic_spread;
module_param(nic_spread, bool, 0444);
MODULE_PARM_DESC(nic_spread, "the NIC's driver spreads its interrupts, one to each CPU, as real ones do (default N)");

static unsigned int nic_queues = 1;
module_param(nic_queues, uint, 0444);
MODULE_PARM_DESC(nic_queues, "receive queues of each end, 1 or 2 (default 1); 2 have flow rules, ethtool -N");

/* Locally administered; always the same, so that runs can be repeated. */
static const u8 mac[ETH_ALEN] = { 0x02, 'i', 's', 'i', 0, 0 };

static struct intsight_nic_config config = {
	.rtt_us		= 500,
	.slow_rtt_us	= 5000,
	.ring		= 512,
	.burst_pps	= 1000,
	.burst_port	= 5000,
	.burst_ports	= 1,
	.burst_size	= 64,
};

static struct intsight_end *ends[2];

/* Context: hardirq, or the interrupt's thread with bottom halves off. */
static irqreturn_t end_irq(int irq, void *data)
{
	struct intsight_end *end = data;

	if (!xchg(&end->asserted, false)) {
		intsight_count(&end->counts.spurious, 1);
		return IRQ_NONE;
	}
	intsight_count(&end->counts.handled, 1);
	napi_schedule(&end->napi);
	return IRQ_HANDLED;
}

#ifdef CONFIG_IRQPATH
/* Context: hardirq, before the handler's thread is woken. */
static bool end_peek(void *data, struct irqpath_flow *flow)
{
	struct intsight_end *end = data;
	struct intsight_ports ports;

	if (!intsight_wire_peek(end, &ports))
		return false;
	flow->net = dev_net(end->netdev);
	flow->protocol = ports.protocol;
	flow->port = ports.dest;
	flow->peer = ports.source;
	return true;
}
#endif

static void end_receive(struct intsight_end *end,
			const struct intsight_parcel *parcel)
{
	struct sk_buff *skb = parcel->skb ?: intsight_peer_burst(end, parcel);

	if (!skb) {
		intsight_count(&end->counts.no_memory, 1);
		return;
	}
	intsight_count(&end->counts.received, 1);
	intsight_count(&end->counts.received_bytes, skb->len);
	skb->protocol = eth_type_trans(skb, end->netdev);
	napi_gro_receive(&end->napi, skb);
}

/* Context: softirq, or the thread of the NAPI. */
static int end_poll(struct napi_struct *napi, int budget)
{
	struct intsight_end *end = container_of(napi, struct intsight_end,
						napi);
	struct intsight_parcel parcel;
	int nr_done = 0;

	INTSIGHT_MARK(INTSIGHT_MARK_NIC_POLL);
	intsight_count(&end->counts.polls, 1);
	while (nr_done < budget && intsight_wire_receive(end, &parcel)) {
		end_receive(end, &parcel);
		nr_done++;
	}
	if (nr_done < budget && napi_complete_done(napi, nr_done))
		intsight_wire_irq_on(end);
	return nr_done;
}

/* The queue by which a packet arrives, or the answer of the peer to it. */
static struct intsight_end *end_steer(struct intsight_end *to,
				      const struct sk_buff *skb, bool answer)
{
	struct intsight_ports ports;

	if (!intsight_wire_ports(skb, &ports))
		return to;
	if (answer)
		swap(ports.source, ports.dest);
	return intsight_steer(to, &ports);
}

/* Context: the sender's, with bottom halves off and the queue's lock held. */
static netdev_tx_t end_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	struct intsight_end *end = netdev_priv(netdev);
	struct intsight_end *to = end->other;
	bool echo = READ_ONCE(config.peer) == INTSIGHT_PEER_ECHO;
	struct sk_buff *copy;

	skb_tx_timestamp(skb);
	copy = intsight_wire_copy(echo ? end : to, skb);
	if (!copy) {
		intsight_count(&end->counts.send_failed, 1);
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	intsight_count(&end->counts.sent, 1);
	intsight_count(&end->counts.sent_bytes, skb->len);
	if (echo)
		intsight_peer_receive(end, copy);
	else
		intsight_wire_send(to, copy, 1);
	dev_consume_skb_any(skb);
	return NETDEV_TX_OK;
}

/*
 * The same with several queues: a function of its own, as measurements count
 * the instructions of the other one.
 *
 * Context: likewise.
 */
static netdev_tx_t end_xmit_steered(struct sk_buff *skb,
				    struct net_device *netdev)
{
	struct intsight_end *end = netdev_priv(netdev);
	bool echo = READ_ONCE(config.peer) == INTSIGHT_PEER_ECHO;
	struct intsight_end *to = echo ? end : end->other;
	struct sk_buff *copy;

	skb_tx_timestamp(skb);
	copy = intsight_wire_copy(to, skb);
	if (!copy) {
		intsight_count(&end->counts.send_failed, 1);
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	intsight_count(&end->counts.sent, 1);
	intsight_count(&end->counts.sent_bytes, skb->len);
	to = end_steer(to, copy, echo);
	if (echo)
		intsight_peer_receive(to, copy);
	else
		intsight_wire_send(to, copy, 1);
	dev_consume_skb_any(skb);
	return NETDEV_TX_OK;
}

/* There is a carrier when the peer is up, and the built-in one always is. */
static void end_set_carrier(struct intsight_end *end, bool up)
{
	bool echo = config.peer == INTSIGHT_PEER_ECHO;

	ASSERT_RTNL();

	if (!up || !(echo || netif_running(end->other->netdev))) {
		netif_carrier_off(end->netdev);
		if (!echo)
			netif_carrier_off(end->other->netdev);
		return;
	}
	netif_carrier_on(end->netdev);
	if (!echo)
		netif_carrier_on(end->other->netdev);
}

/* A hint that is left behind makes free_irq() complain. */
static void end_spread(struct intsight_end *end, bool on)
{
	struct intsight_end *first = netdev_priv(end->netdev);
	unsigned int cpu = ((first == ends[1]) + (end - first)) %
			   num_online_cpus();

	if (nic_spread)
		irq_set_affinity_and_hint(intsight_line_irq(end->line),
					  on ? cpumask_of(cpu) : NULL);
}

/* After intsight_wire_stop(). */
static void queue_close(struct intsight_end *queue)
{
	napi_disable(&queue->napi);
	end_spread(queue, false);
	free_irq(intsight_line_irq(queue->line), queue);
	intsight_wire_drain(queue);
}

static int queue_open(struct intsight_end *queue)
{
	const char *name = queue->irq_name[0] ? queue->irq_name :
						queue->netdev->name;
	int ret;

	ret = intsight_wire_open(queue);
	if (ret)
		return ret;
	napi_enable(&queue->napi);
	ret = request_irq(intsight_line_irq(queue->line), end_irq, 0, name,
			  queue);
	if (ret) {
		napi_disable(&queue->napi);
		intsight_wire_stop(queue);
		intsight_wire_drain(queue);
		return ret;
	}
	end_spread(queue, true);
#ifdef CONFIG_IRQPATH
	irqpath_set_peek(intsight_line_irq(queue->line), queue, end_peek);
#endif
	intsight_wire_irq_on(queue);
	return 0;
}

static int end_open(struct net_device *netdev)
{
	struct intsight_end *end = netdev_priv(netdev), *queue;
	int ret;

	intsight_for_each_queue(queue, end) {
		if (queue != end)
			snprintf(queue->irq_name, sizeof(queue->irq_name),
				 "%s-%u", netdev->name,
				 (unsigned int)(queue - end));
		ret = queue_open(queue);
		if (ret)
			goto err_close;
	}
	netif_start_queue(netdev);
	end_set_carrier(end, true);
	return 0;

err_close:
	while (queue-- > end) {
		intsight_wire_stop(queue);
		queue_close(queue);
	}
	return ret;
}

static int end_stop(struct net_device *netdev)
{
	struct intsight_end *end = netdev_priv(netdev), *queue;

	end_set_carrier(end, false);
	netif_tx_disable(netdev);
	/* The burst of the first goes to all of them: all before one drains. */
	intsight_for_each_queue(queue, end)
		intsight_wire_stop(queue);
	intsight_for_each_queue(queue, end)
		queue_close(queue);
	return 0;
}

static void end_get_stats(struct net_device *netdev,
			  struct rtnl_link_stats64 *stats)
{
	struct intsight_end *end = netdev_priv(netdev), *queue;
	const struct intsight_nic_counts *counts = &end->counts;

	stats->tx_packets = READ_ONCE(counts->sent);
	stats->tx_bytes = READ_ONCE(counts->sent_bytes);
	stats->tx_dropped = READ_ONCE(counts->send_failed);
	intsight_for_each_queue(queue, end) {
		counts = &queue->counts;
		stats->rx_packets += READ_ONCE(counts->received);
		stats->rx_bytes += READ_ONCE(counts->received_bytes);
		stats->rx_dropped += READ_ONCE(counts->no_memory);
		stats->rx_missed_errors += READ_ONCE(counts->overflowed) +
					   READ_ONCE(counts->cut_off);
	}
}

static const struct net_device_ops end_ops = {
	.ndo_open		= end_open,
	.ndo_stop		= end_stop,
	.ndo_start_xmit		= end_xmit,
	.ndo_get_stats64	= end_get_stats,
	.ndo_set_mac_address	= eth_mac_addr,
	.ndo_validate_addr	= eth_validate_addr,
};

static const struct net_device_ops end_ops_steered = {
	.ndo_open		= end_open,
	.ndo_stop		= end_stop,
	.ndo_start_xmit		= end_xmit_steered,
	.ndo_get_stats64	= end_get_stats,
	.ndo_set_mac_address	= eth_mac_addr,
	.ndo_validate_addr	= eth_validate_addr,
};

static void end_get_drvinfo(struct net_device *netdev,
			    struct ethtool_drvinfo *info)
{
	strscpy(info->driver, KBUILD_MODNAME, sizeof(info->driver));
}

static const struct ethtool_ops end_ethtool_ops = {
	.get_drvinfo	= end_get_drvinfo,
	.get_link	= ethtool_op_get_link,
	.get_ts_info	= ethtool_op_get_ts_info,
};

static const struct ethtool_ops end_ethtool_ops_steered = {
	.get_drvinfo	= end_get_drvinfo,
	.get_link	= ethtool_op_get_link,
	.get_ts_info	= ethtool_op_get_ts_info,
	.get_rxnfc	= intsight_steer_get,
	.set_rxnfc	= intsight_steer_set,
#ifdef INTSIGHT_HAVE_RX_RING_COUNT
	.get_rx_ring_count = intsight_steer_ring_count,
#endif
};

static int queue_init(struct intsight_end *queue, struct net_device *netdev)
{
	queue->netdev = netdev;
	queue->config = &config;
	raw_spin_lock_init(&queue->rules_lock);
	intsight_wire_init(queue, nic_queues > 1);
	queue->line = intsight_line_create(netdev->name, 0);
	if (IS_ERR(queue->line))
		return PTR_ERR(queue->line);
	netif_napi_add(netdev, &queue->napi, end_poll);
	return 0;
}

static void queue_exit(struct intsight_end *queue)
{
	netif_napi_del(&queue->napi);
	intsight_line_destroy(queue->line);
}

static void end_free(struct intsight_end *end)
{
	struct intsight_end *queue;

	intsight_for_each_queue(queue, end)
		queue_exit(queue);
	free_netdev(end->netdev);
}

static struct intsight_end *end_alloc(unsigned int index)
{
	struct net_device *netdev;
	struct intsight_end *end;
	u8 address[ETH_ALEN];
	int ret;

	netdev = alloc_etherdev_mqs(array_size(nic_queues, sizeof(*end)), 1,
				    nic_queues);
	if (!netdev)
		return ERR_PTR(-ENOMEM);
	end = netdev_priv(netdev);
	end->netdev = netdev;
	strscpy(netdev->name, "isight%d", sizeof(netdev->name));
	/* As far as they are made: end_free() takes these back. */
	for (; end->nr_queues < nic_queues; end->nr_queues++) {
		ret = queue_init(end + end->nr_queues, netdev);
		if (ret) {
			end_free(end);
			return ERR_PTR(ret);
		}
	}

	ether_addr_copy(address, mac);
	address[ETH_ALEN - 1] = index;
	eth_hw_addr_set(netdev, address);
	netdev->netdev_ops = &end_ops;
	netdev->ethtool_ops = &end_ethtool_ops;
	netdev->sysfs_groups[0] = &intsight_nic_group;
	netdev->irq = intsight_line_irq(end->line);
	netdev->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_RXCSUM;
	netdev->features = netdev->hw_features | NETIF_F_HIGHDMA;
	if (nic_queues > 1) {
		netdev->netdev_ops = &end_ops_steered;
		netdev->ethtool_ops = &end_ethtool_ops_steered;
		netdev->hw_features |= NETIF_F_NTUPLE;
		netdev->features |= NETIF_F_NTUPLE;
	}
	netif_carrier_off(netdev);
	return end;
}

int intsight_nic_init(void)
{
	int ret;

	if (!nic)
		return 0;
	if (!nic_queues || nic_queues > INTSIGHT_MAX_QUEUES)
		return -EINVAL;

	ends[0] = end_alloc(0);
	if (IS_ERR(ends[0]))
		return PTR_ERR(ends[0]);
	ends[1] = end_alloc(1);
	if (IS_ERR(ends[1])) {
		ret = PTR_ERR(ends[1]);
		goto err_free_first;
	}
	ends[0]->other = ends[1];
	ends[1]->other = ends[0];

	ret = register_netdev(ends[0]->netdev);
	if (ret)
		goto err_free;
	ret = register_netdev(ends[1]->netdev);
	if (ret)
		goto err_unregister;
	return 0;

err_unregister:
	unregister_netdev(ends[0]->netdev);
err_free:
	end_free(ends[1]);
err_free_first:
	end_free(ends[0]);
	return ret;
}

void intsight_nic_exit(void)
{
	if (!nic)
		return;
	/* An end may send to the other until both are unregistered. */
	unregister_netdev(ends[0]->netdev);
	unregister_netdev(ends[1]->netdev);
	end_free(ends[0]);
	end_free(ends[1]);
}
