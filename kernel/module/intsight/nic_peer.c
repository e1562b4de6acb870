// SPDX-License-Identifier: GPL-2.0-only
/*
 * The built-in peer of the test NIC: a neighbour that costs next to nothing,
 * so that what is measured is the kernel's side of a conversation.
 *
 * It answers ARP for every address, ICMP echo, and every UDP datagram with
 * itself, one round trip later; everything else is counted and dropped. It
 * also makes the packets of a burst, when the poll asks for them, as a driver
 * makes them from what its device has written to memory.
 */
#include <linux/etherdevice.h>
#include <linux/icmp.h>
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/ip.h>

#include "intsight_uapi.h"
#include "nic.h"

/* Differs from the end's own in the last byte but one. */
static void peer_address(const struct intsight_end *end, u8 *address)
{
	ether_addr_copy(address, end->netdev->dev_addr);
	address[4] ^= 1;
}

/* An ARP packet for Ethernet and IPv4. */
struct peer_arp {
	struct arphdr head;
	u8 sender_mac[ETH_ALEN];
	__be32 sender_ip;
	u8 target_mac[ETH_ALEN];
	__be32 target_ip;
} __packed;

static bool answer_arp(const struct intsight_end *end, void *data,
		       unsigned int len)
{
	struct peer_arp *arp = data;
	__be32 asked;

	if (len < sizeof(*arp) || arp->head.ar_op != htons(ARPOP_REQUEST) ||
	    arp->head.ar_hrd != htons(ARPHRD_ETHER) ||
	    arp->head.ar_pro != htons(ETH_P_IP))
		return false;
	asked = arp->target_ip;
	/* Announcements and probes are about the sender's own address. */
	if (!arp->sender_ip || asked == arp->sender_ip)
		return false;

	arp->head.ar_op = htons(ARPOP_REPLY);
	memcpy(arp->target_mac, arp->sender_mac, ETH_ALEN);
	arp->target_ip = arp->sender_ip;
	peer_address(end, arp->sender_mac);
	arp->sender_ip = asked;
	return true;
}

/* Swapping addresses and ports leaves every checksum as it is. */
static bool answer_ip(void *data, unsigned int len)
{
	struct iphdr *ip = data;
	struct icmphdr *icmp;
	struct udphdr *udp;
	unsigned int head;
	void *payload;

	if (len < sizeof(*ip) || ip->version != 4 || ip->ihl < 5)
		return false;
	head = ip->ihl * 4;
	if (len < head + sizeof(*icmp) || ip_is_fragment(ip) ||
	    ipv4_is_multicast(ip->daddr) || ipv4_is_lbcast(ip->daddr))
		return false;

	payload = data + head;
	switch (ip->protocol) {
	case IPPROTO_ICMP:
		icmp = payload;
		if (icmp->type != ICMP_ECHO)
			return false;
		icmp->type = ICMP_ECHOREPLY;
		csum_replace2(&icmp->checksum, htons(ICMP_ECHO << 8),
			      htons(ICMP_ECHOREPLY << 8));
		break;
	case IPPROTO_UDP:
		udp = payload;
		swap(udp->source, udp->dest);
		break;
	default:
		return false;
	}
	swap(ip->saddr, ip->daddr);
	return true;
}

/* Makes the answer of the frame that was asked. */
static bool answer(const struct intsight_end *end, struct sk_buff *skb)
{
	struct ethhdr *eth = (struct ethhdr *)skb->data;
	unsigned int len = skb->len - sizeof(*eth);
	bool answered;

	switch (eth->h_proto) {
	case htons(ETH_P_ARP):
		answered = answer_arp(end, eth + 1, len);
		break;
	case htons(ETH_P_IP):
		answered = !is_multicast_ether_addr(eth->h_dest) &&
			   answer_ip(eth + 1, len);
		break;
	default:
		answered = false;
	}
	if (answered) {
		ether_addr_copy(eth->h_dest, eth->h_source);
		peer_address(end, eth->h_source);
	}
	return answered;
}

/**
 * intsight_peer_receive() - a packet reaches the built-in peer
 * @end: the end that sent it
 * @skb: the packet; the peer's from now on
 *
 * Context: the sender's, with bottom halves off.
 */
void intsight_peer_receive(struct intsight_end *end, struct sk_buff *skb)
{
	if (!answer(end, skb)) {
		intsight_count(&end->counts.ignored, 1);
		dev_kfree_skb_any(skb);
		return;
	}
	intsight_count(&end->counts.answered, 1);
	intsight_wire_send(end, skb, 2);
}

/* First IPv4 address of the end, or 0. */
static __be32 end_ip(const struct intsight_end *end)
{
	const struct in_device *in_dev;
	const struct in_ifaddr *address;
	__be32 ip = 0;

	rcu_read_lock();
	in_dev = __in_dev_get_rcu(end->netdev);
	address = in_dev ? rcu_dereference(in_dev->ifa_list) : NULL;
	if (address)
		ip = address->ifa_local;
	rcu_read_unlock();
	return ip;
}

/**
 * intsight_peer_can_burst() - whether the end can be sent a burst
 * @end: the end
 *
 * Return: whether it has an IPv4 address.
 */
bool intsight_peer_can_burst(struct intsight_end *end)
{
	return end_ip(end);
}

/**
 * intsight_peer_ports() - the ports of a packet of a burst
 * @end: where it arrives
 * @seq: its number
 */
struct intsight_ports intsight_peer_ports(const struct intsight_end *end,
					  u64 seq)
{
	const struct intsight_nic_config *config = end->config;
	struct intsight_ports ports = {
		.protocol = IPPROTO_UDP,
		.source = htons(9),
	};
	u32 turn;

	div_u64_rem(seq, READ_ONCE(config->burst_ports), &turn);
	ports.dest = htons(READ_ONCE(config->burst_port) + turn);
	return ports;
}

/**
 * intsight_peer_burst() - make a packet of a burst
 * @end: the end that receives it
 * @parcel: which
 *
 * The packet comes from the neighbouring address, the end's own with its last
 * two bits inverted, and from port 9 (discard).
 *
 * Context: the poll of @end.
 * Return: the packet, or NULL.
 */
struct sk_buff *intsight_peer_burst(struct intsight_end *end,
				    const struct intsight_parcel *parcel)
{
	const struct intsight_nic_config *config = end->config;
	u32 size = READ_ONCE(config->burst_size);
	struct intsight_burst_payload *payload;
	struct sk_buff *skb;
	struct ethhdr *eth;
	struct udphdr *udp;
	struct iphdr *ip;
	struct intsight_ports ports = intsight_peer_ports(end, parcel->seq);

	skb = napi_alloc_skb(&end->napi, sizeof(*eth) + sizeof(*ip) +
			     sizeof(*udp) + size);
	if (!skb)
		return NULL;

	eth = skb_put(skb, sizeof(*eth));
	ether_addr_copy(eth->h_dest, end->netdev->dev_addr);
	peer_address(end, eth->h_source);
	eth->h_proto = htons(ETH_P_IP);

	ip = skb_put_zero(skb, sizeof(*ip));
	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->tot_len = htons(sizeof(*ip) + sizeof(*udp) + size);
	ip->frag_off = htons(IP_DF);
	ip->ttl = 64;
	ip->protocol = IPPROTO_UDP;
	ip->daddr = end_ip(end);
	ip->saddr = ip->daddr ^ htonl(3);
	ip_send_check(ip);

	udp = skb_put(skb, sizeof(*udp));
	udp->source = ports.source;
	udp->dest = ports.dest;
	udp->len = htons(sizeof(*udp) + size);
	udp->check = 0;

	payload = skb_put_zero(skb, size);
	payload->seq = parcel->seq;
	payload->cycles = parcel->cycles;
	return skb;
}
