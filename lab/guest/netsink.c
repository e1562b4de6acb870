// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * netsink - receives the test NIC's bursts, or what netsend sends, and tells whether all came and
 * in order.
 *
 * On UDP ports, with -t by one TCP connection for each port, with -6 by IPv6. The messages carry
 * their number and the cycle counter at their arrival, or when they were sent (intsight_uapi.h).
 * Ends after COUNT of them or when nothing has come for as long as -T says, and prints one line per
 * port; with -v first a CSV line for each: port, number, their cycles and those in user space.
 *
 * With -s each message is looked at so many times by a filter of its socket before it is there, which takes
 * longer than all else.
 *
 * With -f an ordinary task has the sockets first and hands them to another one, whose first call is
 * recv(), in which it sleeps.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <linux/filter.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "intsight_mark.h"
#include "intsight_uapi.h"
#include "net.h"

#define MAX_PORTS	64

struct port {
	uint64_t nr_received;
	uint64_t nr_disordered;
	uint64_t next;
};

struct sample {
	uint16_t port;
	struct intsight_burst_payload payload;
	uint64_t user;
};

static const char usage[] =
"usage: netsink [-6ftv] [-n COUNT] [-T TIMEOUT_MS] [-p FIFO_PRIORITY] [-s LOOKS] FIRST_PORT [NR_PORTS]\n";

/* Each dissects the headers again, in vain. */
static void look(int fd, uint64_t looks)
{
	struct sock_filter code[BPF_MAXINSNS];
	struct sock_fprog filter = { .filter = code };

	if (looks >= BPF_MAXINSNS)
		quit(usage);
	for (; looks; looks--)
		code[filter.len++] = (struct sock_filter)
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, SKF_AD_OFF + SKF_AD_PAY_OFFSET);
	code[filter.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)))
		die("filter");
}

static bool receive(int fd, struct port *port, struct sample *sample, int flags)
{
	if (recv(fd, &sample->payload, sizeof(sample->payload), flags) != sizeof(sample->payload))
		return false;
	INTSIGHT_MARK(INTSIGHT_MARK_TARGET_USER);
	sample->user = cycles();
	port->nr_received++;
	port->nr_disordered += sample->payload.seq < port->next;
	port->next = sample->payload.seq + 1;
	return true;
}

/* Each port's connection takes the place of the socket that listens. */
static void accept_all(struct pollfd *fds, uint64_t nr)
{
	for (uint64_t i = 0; i < nr; i++) {
		int fd = accept(fds[i].fd, NULL, NULL);

		if (fd < 0)
			die("accept");
		close(fds[i].fd);
		fds[i].fd = fd;
	}
}

/* Returns in the task that they are handed to. */
static void hand_over(struct pollfd *fds, uint64_t nr)
{
	int status;
	pid_t child;

	poll(fds, nr, 0);
	child = fork();
	if (child < 0)
		die("fork");
	if (!child)
		return;
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
		die("child");
	exit(WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	uint64_t count = 1000, priority = 0, timeout_ms = 1000, looks = 0, first, nr_ports = 1;
	uint64_t nr = 0, i;
	struct port ports[MAX_PORTS] = { 0 };
	struct pollfd fds[MAX_PORTS];
	struct sample *samples;
	bool verbose = false, stream = false, handed = false;
	const char *ip = ANY_IP;
	int opt;

	while ((opt = getopt(argc, argv, "6ftvn:p:s:T:")) != -1) {
		switch (opt) {
		case '6': ip = ANY_IPV6; break;
		case 'f': handed = true; break;
		case 't': stream = true; break;
		case 'v': verbose = true; break;
		case 'n': count = number(optarg); break;
		case 'p': priority = number(optarg); break;
		case 's': looks = number(optarg); break;
		case 'T': timeout_ms = number(optarg); break;
		default: quit(usage);
		}
	}
	if (optind >= argc)
		quit(usage);
	first = number(argv[optind]);
	if (optind + 1 < argc)
		nr_ports = number(argv[optind + 1]);
	samples = calloc(count, sizeof(*samples));
	if (!samples || !nr_ports || nr_ports > MAX_PORTS)
		quit(usage);
	for (i = 0; i < nr_ports; i++) {
		fds[i].fd = bound_socket(stream ? SOCK_STREAM : SOCK_DGRAM, ip, first + i);
		fds[i].events = POLLIN;
		if (looks)
			look(fds[i].fd, looks);
	}
	if (handed)
		hand_over(fds, nr_ports);
	lock_memory();
	be_fifo(priority);
	if (stream)
		accept_all(fds, nr_ports);
	if (handed && receive(fds[0].fd, &ports[0], &samples[0], 0))
		samples[nr++].port = first;

	while (nr < count && poll(fds, nr_ports, timeout_ms) > 0) {
		for (i = 0; i < nr_ports; i++)
			while (fds[i].revents && nr < count &&
			       receive(fds[i].fd, &ports[i], &samples[nr], MSG_DONTWAIT))
				samples[nr++].port = first + i;
	}

	for (i = 0; verbose && i < nr; i++)
		printf("%u,%llu,%llu,%llu\n", samples[i].port, samples[i].payload.seq,
		       samples[i].payload.cycles, (unsigned long long)samples[i].user);
	for (i = 0; i < nr_ports; i++)
		printf("# port %llu received %llu disordered %llu\n",
		       (unsigned long long)(first + i), (unsigned long long)ports[i].nr_received,
		       (unsigned long long)ports[i].nr_disordered);
	return nr == count ? 0 : 1;
}
