/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * net.h - sockets as the programs for the test NIC (isight0, isight1) need them: one address at
 * each end, complete messages, a payload that tells what became of it. IPv4, and IPv6 where the
 * address is one.
 */
#ifndef NET_H
#define NET_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"

#define NEAR_IP		"10.9.0.1"	/* isight0 */
#define FAR_IP		"10.9.0.2"	/* isight1 */
#define ANY_IP		"0.0.0.0"
#define ANY_IPV6	"::"
#define MAX_MESSAGE	65000

static inline struct sockaddr_in address(const char *ip, uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (inet_pton(AF_INET, ip, &addr.sin_addr) != 1)
		die("%s: not an address", ip);
	return addr;
}

/* Small requests must not wait for each other. */
static inline void no_delay(int fd)
{
	int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/* Either kind. Returns how long it is. */
static inline socklen_t any_address(const char *ip, uint16_t port, struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)addr;

	*addr = (struct sockaddr_storage){ 0 };
	if (!strchr(ip, ':')) {
		*(struct sockaddr_in *)addr = address(ip, port);
		return sizeof(struct sockaddr_in);
	}
	ipv6->sin6_family = AF_INET6;
	ipv6->sin6_port = htons(port);
	if (inet_pton(AF_INET6, ip, &ipv6->sin6_addr) != 1)
		die("%s: not an address", ip);
	return sizeof(*ipv6);
}

static inline int bound_socket(int type, const char *ip, uint16_t port)
{
	struct sockaddr_storage any;
	socklen_t len = any_address(ip, port, &any);
	int fd = socket(any.ss_family, type, 0), on = 1;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&any, len))
		die("port %u", port);
	if (type == SOCK_STREAM && listen(fd, 16))
		die("listen");
	return fd;
}

static inline int connected_socket(int type, const char *ip, uint16_t port)
{
	struct sockaddr_storage peer;
	socklen_t len = any_address(ip, port, &peer);
	int fd = socket(peer.ss_family, type, 0);

	if (fd < 0)
		die("socket");
	if (connect(fd, (struct sockaddr *)&peer, len))
		die("%s port %u", ip, port);
	if (type == SOCK_STREAM)
		no_delay(fd);
	return fd;
}

#endif /* NET_H */
