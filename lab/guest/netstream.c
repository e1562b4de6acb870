// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * netstream - sends a stream to an echo server by TCP as fast as it goes, and reads it back.
 *
 * The bytes follow from their place in the stream, so that what is lost or out of order is found.
 * Ends after -T milliseconds, and prints how many bytes came back, in which time, and how many of
 * them were wrong.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <time.h>

#include "net.h"

#define CHUNK	(128 * 1024)
/* No power of two, so that a displacement shows. */
#define PATTERN	251

static const char usage[] =
"usage: netstream [-T MILLISECONDS] [-p FIFO_PRIORITY] IP PORT\n";

static char pattern[CHUNK + PATTERN], received[CHUNK];
static uint64_t nr_sent, nr_received, nr_wrong;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void send_some(int fd)
{
	ssize_t size = send(fd, pattern + nr_sent % PATTERN, CHUNK, MSG_DONTWAIT);

	if (size < 0 && errno != EAGAIN)
		die("send");
	if (size > 0)
		nr_sent += size;
}

static void receive_some(int fd)
{
	ssize_t size = recv(fd, received, sizeof(received), MSG_DONTWAIT);

	if (!size || (size < 0 && errno != EAGAIN))
		die("receive");
	if (size <= 0)
		return;
	nr_wrong += !!memcmp(received, pattern + nr_received % PATTERN, size);
	nr_received += size;
}

int main(int argc, char **argv)
{
	uint64_t duration_ms = 1000, priority = 0;
	int64_t begin_ns, end_ns;
	struct pollfd pollfd;
	int opt;

	while ((opt = getopt(argc, argv, "T:p:")) != -1) {
		switch (opt) {
		case 'T': duration_ms = number(optarg); break;
		case 'p': priority = number(optarg); break;
		default: quit(usage);
		}
	}
	if (argc - optind != 2)
		quit(usage);
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = i % PATTERN;
	pollfd.fd = connected_socket(SOCK_STREAM, argv[optind], number(argv[optind + 1]));
	pollfd.events = POLLIN | POLLOUT;
	be_fifo(priority);

	begin_ns = now_ns();
	end_ns = begin_ns + duration_ms * 1000000;
	while (now_ns() < end_ns && poll(&pollfd, 1, duration_ms) > 0) {
		if (pollfd.revents & POLLOUT)
			send_some(pollfd.fd);
		if (pollfd.revents & (POLLIN | POLLERR | POLLHUP))
			receive_some(pollfd.fd);
	}
	printf("# bytes %llu wrong %llu elapsed_ns %lld\n", (unsigned long long)nr_received,
	       (unsigned long long)nr_wrong, (long long)(now_ns() - begin_ns));
	return !!nr_wrong;
}
