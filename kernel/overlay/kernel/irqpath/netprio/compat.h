/* SPDX-License-Identifier: GPL-2.0-only */
/* netprio: what differs between kernels, see ../compat.h. */
#ifndef _KERNEL_IRQPATH_NETPRIO_COMPAT_H
#define _KERNEL_IRQPATH_NETPRIO_COMPAT_H

#include <linux/netdevice.h>
#include <linux/version.h>

/* Return: whether GRO keeps packets of @n. Linux 6.15 gave GRO its own struct. */
static inline bool irqpath_gro_keeps(const struct napi_struct *n)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	return n->gro_bitmask;
#else
	return n->gro.bitmask;
#endif
}

/*
 * Between Linux 6.12 and 7.2 the lookup of a socket lost the argument that said
 * in which table: the namespace knows.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
#define irqpath_find_udp4(net, ...) \
	__udp4_lib_lookup(net, __VA_ARGS__, 0, (net)->ipv4.udp_table, NULL)
#define irqpath_find_udp6(net, ...) \
	__udp6_lib_lookup(net, __VA_ARGS__, 0, (net)->ipv4.udp_table, NULL)
#define irqpath_find_tcp4(net, ...) \
	__inet_lookup(net, (net)->ipv4.tcp_death_row.hashinfo, NULL, 0, \
		      __VA_ARGS__)
#define irqpath_find_tcp6(net, ...) \
	__inet6_lookup(net, (net)->ipv4.tcp_death_row.hashinfo, NULL, 0, \
		       __VA_ARGS__)
#else
#define irqpath_find_udp4(net, ...) \
	__udp4_lib_lookup(net, __VA_ARGS__, 0, NULL)
#define irqpath_find_udp6(net, ...) \
	__udp6_lib_lookup(net, __VA_ARGS__, 0, NULL)
#define irqpath_find_tcp4(net, ...) __inet_lookup(net, NULL, 0, __VA_ARGS__)
#define irqpath_find_tcp6(net, ...) __inet6_lookup(net, NULL, 0, __VA_ARGS__)
#endif

#endif /* _KERNEL_IRQPATH_NETPRIO_COMPAT_H */
