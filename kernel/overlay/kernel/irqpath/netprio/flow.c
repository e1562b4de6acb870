// SPDX-License-Identifier: GPL-2.0-only
/*
 * netprio: the receiver of a packet, looked up before the protocol does it.
 *
 * A packet has a receiver only if its first headers make that clear: unicast
 * UDP and TCP for an address of this host, not a fragment, not from a device
 * that is part of another one. All others are not held.
 *
 * The lookup is that of the protocols, and treats namespaces, addresses and
 * connections as they do. But it does not run the program of a reuseport group,
 * and may confuse the members of one.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <linux/inetdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <net/addrconf.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/ip.h>
#include <net/sock.h>
#include <net/udp.h>

#include "netprio.h"

/* Both UDP and TCP begin with these. */
struct ports {
	__be16 source;
	__be16 dest;
};

static struct irqpath_receiver *get_udp_receiver(struct sock *sk)
{
	/* A tunnel's packet carries one for somebody else. */
	if (!sk || udp_test_bit(ENCAP_ENABLED, sk))
		return NULL;
	return READ_ONCE(sk->sk_irqpath);
}

/* Receivers are freed by RCU, so the socket's reference can go. */
static struct irqpath_receiver *get_tcp_receiver(struct sock *sk,
						 bool refcounted)
{
	struct irqpath_receiver *r = NULL;

	if (!sk)
		return NULL;
	if (sk->sk_state == TCP_NEW_SYN_RECV)
		r = READ_ONCE(inet_reqsk(sk)->rsk_listener->sk_irqpath);
	else if (sk_fullsock(sk))
		r = READ_ONCE(sk->sk_irqpath);
	if (refcounted)
		sock_gen_put(sk);
	return r;
}

static struct irqpath_receiver *find_ipv4_receiver(struct sk_buff *skb)
{
	struct net *net = dev_net(skb->dev);
	const struct ports *ports;
	const struct iphdr *ip;
	struct ports _ports;
	struct iphdr _ip;
	bool refcounted;
	struct sock *sk;

	ip = skb_header_pointer(skb, 0, sizeof(_ip), &_ip);
	if (!ip || ip->version != 4 || ip->ihl < 5 || ip_is_fragment(ip) ||
	    (ip->protocol != IPPROTO_UDP && ip->protocol != IPPROTO_TCP))
		return NULL;
	ports = skb_header_pointer(skb, ip->ihl * 4, sizeof(_ports), &_ports);
	if (!ports || !inet_lookup_ifaddr_rcu(net, ip->daddr))
		return NULL;

	if (ip->protocol == IPPROTO_UDP)
		return get_udp_receiver(
			irqpath_find_udp4(net, ip->saddr, ports->source,
					  ip->daddr, ports->dest,
					  skb->dev->ifindex));
	sk = irqpath_find_tcp4(net, ip->saddr, ports->source, ip->daddr,
			       ports->dest, skb->dev->ifindex, 0, &refcounted);
	return get_tcp_receiver(sk, refcounted);
}

#if IS_BUILTIN(CONFIG_IPV6)
/* A packet with an extension header, such as a fragment, has no receiver. */
static struct irqpath_receiver *find_ipv6_receiver(struct sk_buff *skb)
{
	struct net *net = dev_net(skb->dev);
	const struct ipv6hdr *ip;
	const struct ports *ports;
	struct ports _ports;
	struct ipv6hdr _ip;
	bool refcounted;
	struct sock *sk;

	ip = skb_header_pointer(skb, 0, sizeof(_ip), &_ip);
	if (!ip || ip->version != 6 ||
	    (ip->nexthdr != IPPROTO_UDP && ip->nexthdr != IPPROTO_TCP))
		return NULL;
	ports = skb_header_pointer(skb, sizeof(*ip), sizeof(_ports), &_ports);
	if (!ports || !ipv6_chk_addr(net, &ip->daddr, skb->dev, 0))
		return NULL;

	if (ip->nexthdr == IPPROTO_UDP)
		return get_udp_receiver(
			irqpath_find_udp6(net, &ip->saddr, ports->source,
					  &ip->daddr, ports->dest,
					  skb->dev->ifindex));
	sk = irqpath_find_tcp6(net, &ip->saddr, ports->source, &ip->daddr,
			       ntohs(ports->dest), skb->dev->ifindex, 0,
			       &refcounted);
	return get_tcp_receiver(sk, refcounted);
}
#else
static struct irqpath_receiver *find_ipv6_receiver(struct sk_buff *skb)
{
	return NULL;
}
#endif

/* The device hands its packets to another one, or belongs to it. */
static bool is_part_of_another(const struct net_device *dev)
{
	return dev->flags & IFF_LOOPBACK ||
	       rcu_access_pointer(dev->rx_handler) || netif_is_l3_slave(dev);
}

/**
 * irqpath_find_receiver() - find the receivers of a packet
 * @skb: the packet, its data at the network header
 *
 * Context: RCU read side, bottom halves disabled.
 * Return: the receivers, valid on this read side, or NULL.
 */
struct irqpath_receiver *irqpath_find_receiver(struct sk_buff *skb)
{
	if (skb->pkt_type != PACKET_HOST || skb_vlan_tag_present(skb) ||
	    is_part_of_another(skb->dev))
		return NULL;
	if (skb->protocol == htons(ETH_P_IP))
		return find_ipv4_receiver(skb);
	if (skb->protocol == htons(ETH_P_IPV6))
		return find_ipv6_receiver(skb);
	return NULL;
}
