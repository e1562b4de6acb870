/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * link.h - what `ip` does, as far as netserver needs it: moves a network device to another
 * namespace, gives it an address and a fixed neighbour, switches IPv6 off, brings it up.
 */
#ifndef LINK_H
#define LINK_H

#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>

#include "net.h"

static inline void move_to_namespace_of(const char *name, pid_t pid)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg info;
		struct rtattr attr;
		uint32_t pid;
	} message = {
		.head = {
			.nlmsg_len = sizeof(message),
			.nlmsg_type = RTM_NEWLINK,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		},
		.info = { .ifi_family = AF_UNSPEC, .ifi_index = if_nametoindex(name) },
		.attr = { .rta_len = RTA_LENGTH(sizeof(uint32_t)), .rta_type = IFLA_NET_NS_PID },
		.pid = pid,
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
	} reply;
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	if (!message.info.ifi_index)
		die("%s", name);
	if (fd < 0 || send(fd, &message, sizeof(message), 0) < 0 ||
	    recv(fd, &reply, sizeof(reply), 0) < 0)
		die("netlink");
	errno = -reply.error.error;
	if (errno)
		die("%s: other namespace", name);
	close(fd);
}

/* Hardware address of a device, as ioctls want it. */
static inline struct sockaddr mac_of(int fd, const char *name)
{
	struct ifreq req = { 0 };

	strcpy(req.ifr_name, name);
	if (ioctl(fd, SIOCGIFHWADDR, &req))
		die("%s", name);
	return req.ifr_hwaddr;
}

static inline void no_ipv6(const char *name)
{
	char path[100];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/disable_ipv6", name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return;
	if (write(fd, "1", 1) != 1)
		die("%s", path);
	close(fd);
}

static inline void link_ioctl(int fd, unsigned long what, void *arg, const char *name)
{
	if (ioctl(fd, what, arg))
		die("%s", name);
}

static inline void bring_up(const char *name, const char *ip)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in addr = address(ip, 0), mask = address("255.255.255.0", 0);
	struct ifreq req = { 0 };

	no_ipv6(name);
	strcpy(req.ifr_name, name);
	memcpy(&req.ifr_addr, &addr, sizeof(addr));
	link_ioctl(fd, SIOCSIFADDR, &req, name);
	memcpy(&req.ifr_netmask, &mask, sizeof(mask));
	link_ioctl(fd, SIOCSIFNETMASK, &req, name);
	link_ioctl(fd, SIOCGIFFLAGS, &req, name);
	req.ifr_flags |= IFF_UP | IFF_RUNNING;
	link_ioctl(fd, SIOCSIFFLAGS, &req, name);
	close(fd);
}

static inline void add_neighbour(const char *name, const char *ip, struct sockaddr mac)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_in addr = address(ip, 0);
	struct arpreq req = { .arp_flags = ATF_PERM | ATF_COM, .arp_ha = mac };

	memcpy(&req.arp_pa, &addr, sizeof(addr));
	strcpy(req.arp_dev, name);
	link_ioctl(fd, SIOCSARP, &req, "neighbour");
	close(fd);
}

#endif /* LINK_H */
