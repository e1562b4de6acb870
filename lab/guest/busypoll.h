/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * busypoll.h - lets a receiver poll its device itself: Documentation/networking/napi.rst.
 *
 * The toolchain's headers are older than what they would have to name.
 */
#ifndef BUSYPOLL_H
#define BUSYPOLL_H

#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "guest.h"

#ifndef SO_BUSY_POLL
#define SO_BUSY_POLL		46	/* Linux 3.11 */
#endif
#ifndef SO_PREFER_BUSY_POLL
#define SO_PREFER_BUSY_POLL	69	/* Linux 5.11 */
#endif

/* struct epoll_params of Linux 6.9, under a name that no header can have. */
struct busypoll_params {
	uint32_t usecs;
	uint16_t budget;
	uint8_t prefer;
	uint8_t pad;
};

#define BUSYPOLL_SET_PARAMS	_IOW(0x8A, 0x01, struct busypoll_params)
#define BUSYPOLL_BUDGET		8	/* the kernel's own, BUSY_POLL_BUDGET */

/* recv() on this socket polls so long before it sleeps. */
static inline void busypoll_socket(int fd, uint64_t usecs, bool prefer)
{
	int time = usecs, on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_BUSY_POLL, &time, sizeof(time)))
		die("SO_BUSY_POLL");
	if (prefer && setsockopt(fd, SOL_SOCKET, SO_PREFER_BUSY_POLL, &on, sizeof(on)))
		die("SO_PREFER_BUSY_POLL");
}

/* Returns an epoll for this socket, which polls so long before it sleeps. */
static inline int busypoll_epoll(int fd, uint64_t usecs, bool prefer)
{
	struct busypoll_params params = {
		.usecs = usecs, .budget = BUSYPOLL_BUDGET, .prefer = prefer,
	};
	struct epoll_event readable = { .events = EPOLLIN };
	int epoll = epoll_create1(0);

	if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &readable))
		die("epoll");
	if (usecs && ioctl(epoll, BUSYPOLL_SET_PARAMS, &params))
		die("EPIOCSPARAMS");
	return epoll;
}

#endif /* BUSYPOLL_H */
