// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * netsend - sends numbered messages to several ports in turns, and then computes: until it sleeps,
 * nobody below it may run.
 *
 * What netsink receives: messages of struct intsight_burst_payload by UDP, with -t by a TCP
 * connection to each port. Computes for -w microseconds after the last one; with -i it sleeps
 * for so many between two of a port. Datagrams can be longer than what is read of them, -s.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <time.h>
#include <unistd.h>

#include "intsight_uapi.h"
#include "net.h"

#define MAX_PORTS	64
#define ACCEPT_US	50000

static const char usage[] =
"usage: netsend [-t] [-n COUNT] [-p FIFO_PRIORITY] [-w COMPUTE_US] [-i INTERVAL_US] [-s SIZE]\n"
"               IP PORT...\n";

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ULL + now.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
	uint64_t count = 10, priority = 0, compute_us = 0, interval_us = 0, end_us;
	int opt, type = SOCK_DGRAM, fds[MAX_PORTS], nr_ports;
	union {
		struct intsight_burst_payload payload;
		char bytes[MAX_MESSAGE];
	} message = {};
	uint64_t size = sizeof(message.payload);

	while ((opt = getopt(argc, argv, "tn:p:w:i:s:")) != -1) {
		switch (opt) {
		case 't': type = SOCK_STREAM; break;
		case 'n': count = number(optarg); break;
		case 'p': priority = number(optarg); break;
		case 'w': compute_us = number(optarg); break;
		case 'i': interval_us = number(optarg); break;
		case 's': size = number(optarg); break;
		default: quit(usage);
		}
	}
	nr_ports = argc - optind - 1;
	if (nr_ports < 1 || nr_ports > MAX_PORTS || size < sizeof(message.payload) ||
	    size > sizeof(message) || (type == SOCK_STREAM && size != sizeof(message.payload)))
		quit(usage);
	for (int i = 0; i < nr_ports; i++)
		fds[i] = connected_socket(type, argv[optind], number(argv[optind + 1 + i]));
	/* Until the other end has accepted and reads: before, netprio knows nobody who does. */
	usleep(ACCEPT_US);
	lock_memory();
	be_fifo(priority);

	for (uint64_t nr = 0; nr < count; nr++) {
		for (int i = 0; i < nr_ports; i++) {
			message.payload.seq = nr;
			message.payload.cycles = cycles();
			if (send(fds[i], &message, size, 0) != (ssize_t)size)
				die("send");
		}
		if (interval_us)
			usleep(interval_us);
	}
	for (end_us = now_us() + compute_us; now_us() < end_us;)
		;
	/* A connection is closed when the other end has had everything, or says why not. */
	for (int i = 0; i < nr_ports; i++)
		shutdown(fds[i], SHUT_WR);
	return 0;
}
