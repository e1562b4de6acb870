// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * taps - makes each received packet slow: COUNT packet sockets look at it, each with the longest
 * filter that there is, and take none of it. Prints a line when they do, and stays.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"

static struct sock_filter code[BPF_MAXINSNS];
static const struct sock_fprog filter = { .len = BPF_MAXINSNS, .filter = code };

int main(int argc, char **argv)
{
	if (argc != 2)
		quit("usage: taps COUNT");
	for (int i = 0; i < BPF_MAXINSNS - 1; i++)
		code[i] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 1);
	code[BPF_MAXINSNS - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);

	for (uint64_t left = number(argv[1]); left; left--) {
		/* Of no protocol until it has its filter. */
		int fd = socket(AF_PACKET, SOCK_RAW, 0);
		struct sockaddr_ll all = {
			.sll_family = AF_PACKET,
			.sll_protocol = htons(ETH_P_ALL),
		};

		if (fd < 0)
			die("packet socket");
		if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)))
			die("filter");
		if (bind(fd, (struct sockaddr *)&all, sizeof(all)))
			die("bind");
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
