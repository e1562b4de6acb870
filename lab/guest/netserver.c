// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * netserver - the far end of the test NIC: a network namespace of its own with isight1 in it, and
 * a server that returns whatever it is sent, by UDP and TCP, on each PORT.
 *
 * Sets up both ends (10.9.0.1 here, 10.9.0.2 there) with fixed neighbours and without IPv6, so that
 * nothing but what is asked for is on the wire. Returns when everything is ready, and prints the
 * process id of the server, which stays: kill it and the namespace is gone.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>

#include "link.h"
#include "net.h"

#define MAX_FDS	64

static const char near_end[] = "isight0", far_end[] = "isight1";

static void echo_datagram(int fd)
{
	static char buffer[MAX_MESSAGE];
	struct sockaddr_in peer;
	socklen_t len = sizeof(peer);
	ssize_t size = recvfrom(fd, buffer, sizeof(buffer), 0, (struct sockaddr *)&peer, &len);

	if (size >= 0)
		sendto(fd, buffer, size, 0, (struct sockaddr *)&peer, len);
}

/* Returns whether the connection is still open. */
static bool echo_stream(int fd)
{
	static char buffer[MAX_MESSAGE];
	ssize_t size = read(fd, buffer, sizeof(buffer)), done = 0, now;

	for (; done < size; done += now) {
		now = write(fd, buffer + done, size - done);
		if (now <= 0)
			return false;
	}
	return size > 0;
}

/* Returns how many sockets there are: of each port one for datagrams, and one that listens. */
static int bind_ports(struct pollfd *fds, char **ports)
{
	int nr = 0, i;

	for (; *ports && nr < MAX_FDS - 2; ports++) {
		fds[nr++].fd = bound_socket(SOCK_DGRAM, ANY_IP, number(*ports));
		fds[nr++].fd = bound_socket(SOCK_STREAM, ANY_IP, number(*ports));
	}
	for (i = 0; i < MAX_FDS; i++)
		fds[i].events = POLLIN;
	return nr;
}

static void serve(struct pollfd *fds, int nr_listening)
{
	int nr = nr_listening, i;

	while (poll(fds, nr, -1) >= 0) {
		for (i = nr - 1; i >= 0; i--) {
			if (!fds[i].revents)
				continue;
			if (i < nr_listening && i % 2 == 0) {
				echo_datagram(fds[i].fd);
			} else if (i >= nr_listening && !echo_stream(fds[i].fd)) {
				close(fds[i].fd);
				fds[i].fd = fds[--nr].fd;
			} else if (i < nr_listening && nr < MAX_FDS) {
				fds[nr].fd = accept(fds[i].fd, NULL, NULL);
				fds[nr].revents = 0;
				no_delay(fds[nr++].fd);
			}
		}
	}
	die("poll");
}

static void wait_for(int fd)
{
	char c;

	if (read(fd, &c, 1) != 1)
		quit("the other process has failed");
}

int main(int argc, char **argv)
{
	int opt, nr, here[2], there[2], fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct sockaddr near_mac, far_mac;
	struct pollfd fds[MAX_FDS];
	uint64_t priority = 0;
	pid_t child;

	while ((opt = getopt(argc, argv, "p:")) != -1) {
		if (opt != 'p')
			quit("usage: netserver [-p FIFO_PRIORITY] PORT...");
		priority = number(optarg);
	}
	near_mac = mac_of(fd, near_end);
	far_mac = mac_of(fd, far_end);
	close(fd);
	if (pipe(here) || pipe(there))
		die("pipe");

	child = fork();
	if (child < 0)
		die("fork");
	if (!child) {
		close(here[0]);
		close(there[1]);
		if (unshare(CLONE_NEWNET) || write(here[1], "n", 1) != 1)
			die("namespace");
		wait_for(there[0]);
		bring_up("lo", "127.0.0.1");
		bring_up(far_end, FAR_IP);
		add_neighbour(far_end, NEAR_IP, near_mac);
		nr = bind_ports(fds, argv + optind);
		lock_memory();
		be_fifo(priority);
		if (write(here[1], "r", 1) != 1)
			die("ready");
		close(here[1]);
		close(STDOUT_FILENO);
		serve(fds, nr);
	}
	close(here[1]);
	close(there[0]);
	wait_for(here[0]);
	move_to_namespace_of(far_end, child);
	bring_up(near_end, NEAR_IP);
	add_neighbour(near_end, FAR_IP, far_mac);
	if (write(there[1], "m", 1) != 1)
		die("moved");
	wait_for(here[0]);
	printf("%d\n", child);
	return 0;
}
