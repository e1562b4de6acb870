/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * net.h - sockets as the programs for the test NIC (isight0, isight1) need them: IPv4, one address
 * at each end, complete messages, a payload that tells what became of it.
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

static inline int bound_socket(int type, uint16_t port)
{
	struct sockaddr_in any = address("0.0.0.0", port);
	int fd = socket(AF_INET, type, 0), on = 1;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&any, sizeof(any)))
		die("port %u", port);
	if (type == SOCK_STREAM && listen(fd, 16))
		die("listen");
	return fd;
}

static inline int connected_socket(int type, const char *ip, uint16_t port)
{
	struct sockaddr_in peer = address(ip, port);
	int fd = socket(AF_INET, type, 0);

	if (fd < 0)
		die("socket");
	if (connect(fd, (struct sockaddr *)&peer, sizeof(peer)))
		die("%s port %u", ip, port);
	if (type == SOCK_STREAM)
		no_delay(fd);
	return fd;
}

#endif /* NET_H */
