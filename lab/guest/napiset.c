// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * napiset - settings of each NAPI of a network device, by netlink (family netdev, Linux 6.13).
 *
 * -d: polls that find nothing before the interrupt is on again; -f: time until the next poll while
 * it is off; -s: time that it stays off while an epoll with packets is not called again. The exit
 * status is 1 where the kernel has no such settings or the device has no NAPI.
 */
#include <getopt.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"

/* include/uapi/linux/netdev.h, which the toolchain's headers do not have. */
#define FAMILY			"netdev"
#define CMD_NAPI_GET		11
#define CMD_NAPI_SET		14
#define A_NAPI_IFINDEX		1
#define A_NAPI_ID		2
#define A_NAPI_DEFER_HARD_IRQS	5
#define A_NAPI_GRO_FLUSH_NS	6
#define A_NAPI_IRQ_SUSPEND_NS	7

#define MAX_NAPIS		64

struct request {
	struct nlmsghdr head;
	struct genlmsghdr family;
	char attributes[256];
};

static const char usage[] =
"usage: napiset [-d POLLS] [-f GRO_FLUSH_TIMEOUT_NS] [-s IRQ_SUSPEND_TIMEOUT_NS] DEVICE\n";

static struct request begin(uint16_t type, uint8_t command, uint16_t flags)
{
	return (struct request){
		.head = {
			.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN),
			.nlmsg_type = type,
			.nlmsg_flags = NLM_F_REQUEST | flags,
		},
		.family = { .cmd = command, .version = 1 },
	};
}

static void add(struct request *request, uint16_t type, const void *data, size_t len)
{
	struct nlattr *attribute = (void *)((char *)request + NLMSG_ALIGN(request->head.nlmsg_len));

	attribute->nla_type = type;
	attribute->nla_len = NLA_HDRLEN + len;
	memcpy((char *)attribute + NLA_HDRLEN, data, len);
	request->head.nlmsg_len = NLMSG_ALIGN(request->head.nlmsg_len) +
				  NLMSG_ALIGN(attribute->nla_len);
}

static void add_u32(struct request *request, uint16_t type, uint32_t value)
{
	add(request, type, &value, sizeof(value));
}

/* The attribute of this type; NULL if it is not there. */
static const void *find(const struct nlmsghdr *head, uint16_t type)
{
	const char *at = (const char *)NLMSG_DATA(head) + GENL_HDRLEN;
	const char *end = (const char *)head + head->nlmsg_len;

	while (end - at >= (long)NLA_HDRLEN) {
		const struct nlattr *attribute = (const void *)at;

		if (attribute->nla_len < NLA_HDRLEN)
			break;
		if ((attribute->nla_type & NLA_TYPE_MASK) == type)
			return at + NLA_HDRLEN;
		at += NLMSG_ALIGN(attribute->nla_len);
	}
	return NULL;
}

/* Sends it, and hands each answer over until there is none left. */
static void ask(int fd, const struct request *request,
		void (*answer)(const struct nlmsghdr *head, void *data), void *data)
{
	static char buffer[1 << 15] __attribute__((aligned(NLMSG_ALIGNTO)));

	if (send(fd, request, request->head.nlmsg_len, 0) < 0)
		die("netlink");
	for (;;) {
		int left = recv(fd, buffer, sizeof(buffer), 0);

		if (left <= 0)
			die("netlink");
		for (const struct nlmsghdr *head = (void *)buffer; NLMSG_OK(head, left);
		     head = NLMSG_NEXT(head, left)) {
			if (head->nlmsg_type == NLMSG_DONE)
				return;
			if (head->nlmsg_type == NLMSG_ERROR) {
				errno = -((const struct nlmsgerr *)NLMSG_DATA(head))->error;
				if (errno)
					die("command %u of netlink", request->family.cmd);
				return;
			}
			answer(head, data);
		}
	}
}

static void take_family(const struct nlmsghdr *head, void *data)
{
	const uint16_t *id = find(head, CTRL_ATTR_FAMILY_ID);

	if (id)
		*(uint16_t *)data = *id;
}

struct napis {
	uint32_t id[MAX_NAPIS];
	size_t nr;
};

static void take_napi(const struct nlmsghdr *head, void *data)
{
	const uint32_t *id = find(head, A_NAPI_ID);
	struct napis *napis = data;

	if (id && napis->nr < MAX_NAPIS)
		napis->id[napis->nr++] = *id;
}

static uint16_t family(int fd)
{
	struct request request = begin(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, NLM_F_ACK);
	uint16_t id = 0;

	add(&request, CTRL_ATTR_FAMILY_NAME, FAMILY, sizeof(FAMILY));
	ask(fd, &request, take_family, &id);
	return id;
}

int main(int argc, char **argv)
{
	/* What is not asked for stays as it is. */
	uint64_t value[A_NAPI_IRQ_SUSPEND_NS + 1];
	bool is_set[A_NAPI_IRQ_SUSPEND_NS + 1] = { false };
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC), opt;
	struct napis napis = { .nr = 0 };
	struct request request;
	uint16_t type;

	while ((opt = getopt(argc, argv, "d:f:s:")) != -1) {
		uint16_t which = opt == 'd' ? A_NAPI_DEFER_HARD_IRQS :
				 opt == 'f' ? A_NAPI_GRO_FLUSH_NS :
				 opt == 's' ? A_NAPI_IRQ_SUSPEND_NS : 0;

		if (!which)
			quit(usage);
		value[which] = number(optarg);
		is_set[which] = true;
	}
	if (argc - optind != 1)
		quit(usage);
	if (fd < 0)
		die("netlink");
	type = family(fd);
	request = begin(type, CMD_NAPI_GET, NLM_F_DUMP);
	add_u32(&request, A_NAPI_IFINDEX, if_nametoindex(argv[optind]));
	ask(fd, &request, take_napi, &napis);
	if (!napis.nr) {
		errno = 0;
		die("%s has no NAPI", argv[optind]);
	}
	for (size_t i = 0; i < napis.nr; i++) {
		request = begin(type, CMD_NAPI_SET, NLM_F_ACK);
		add_u32(&request, A_NAPI_ID, napis.id[i]);
		for (uint16_t which = A_NAPI_DEFER_HARD_IRQS; which <= A_NAPI_IRQ_SUSPEND_NS; which++)
			if (is_set[which])
				add(&request, which, &value[which], which == A_NAPI_DEFER_HARD_IRQS ? 4 : 8);
		ask(fd, &request, take_napi, &(struct napis){ .nr = 0 });
	}
	return 0;
}
