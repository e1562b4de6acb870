/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the test NIC share, and nobody else uses: nic.c (network
 * device, NAPI), nic_wire.c (what is on its way, and the interrupt),
 * nic_peer.c (the built-in peer), nic_steer.c (flow rules), nic_sysfs.c
 * (configuration, counts).
 *
 * Two ends, isight0 and isight1. What one sends reaches the other, or a
 * built-in peer answers it; either way it comes in through the wire of the end
 * that receives it. An end has a line of its own, which the wire raises from a
 * hard hrtimer when a packet is due and the end's interrupt is switched on.
 *
 * With nic_queues=2 an end has two receive queues, each with a line, a NAPI and
 * wires of its own. A struct intsight_end is one of them; the first one also
 * stands for the whole end. With one queue nothing is asked about queues on the
 * way of a packet: measurements count instructions.
 */
#ifndef INTSIGHT_NIC_H
#define INTSIGHT_NIC_H

#include <linux/hrtimer.h>
#include <linux/if.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>

#include "line.h"

#define INTSIGHT_MAX_RING	4096	/* packets; a power of two */
#define INTSIGHT_MAX_PPS	1000000
#define INTSIGHT_MAX_QUEUES	2
#define INTSIGHT_MAX_RULES	16

enum intsight_wires {
	INTSIGHT_WIRE,		/* what is not on the other one */
	INTSIGHT_WIRE_SLOW,	/* to and from slow_port */
	INTSIGHT_NR_WIRES,
};

enum intsight_peer {
	INTSIGHT_PEER_PAIR,	/* the other end */
	INTSIGHT_PEER_ECHO,	/* the built-in one */
};

/**
 * struct intsight_nic_config - of both ends; see the table in docs/test-device.md
 * @rtt_us: round trip: twice the time on the wire
 * @slow_port: UDP or TCP port whose packets have a round trip of their own, or 0
 * @slow_rtt_us: that
 * @rate_pps: packets per second that a queue is sent, 0 for no limit
 * @ring: packets that a ring holds
 * @peer: enum intsight_peer; constant while an end is up
 * @burst_pps: packets per second of a burst
 * @burst_port: first UDP port of it
 * @burst_ports: number of ports, used in turn
 * @burst_size: payload, bytes
 */
struct intsight_nic_config {
	u32 rtt_us;
	u32 slow_port;
	u32 slow_rtt_us;
	u32 rate_pps;
	u32 ring;
	u32 peer;
	u32 burst_pps;
	u32 burst_port;
	u32 burst_ports;
	u32 burst_size;
};

/**
 * struct intsight_parcel - one packet on its way
 * @skb: it, or NULL for one of a burst, which is made when it is received
 * @due_ns: CLOCK_MONOTONIC time of its arrival
 * @seq: number within the burst
 * @cycles: cycles at its arrival
 */
struct intsight_parcel {
	struct sk_buff *skb;
	u64 due_ns;
	u64 seq;
	u64 cycles;
};

/* The ports of a packet, in network order. */
struct intsight_ports {
	u8 protocol;
	__be16 source;
	__be16 dest;
};

/**
 * struct intsight_rule - by which queue packets for a port come
 * @protocol: IPPROTO_TCP or IPPROTO_UDP; 0 where there is no rule
 * @queue: the queue
 * @port: destination port
 */
struct intsight_rule {
	u8 protocol;
	u8 queue;
	__be16 port;
};

/* First in, first out; free-running indices, so that head == tail is empty. */
struct intsight_ring {
	struct intsight_parcel *parcels;
	u32 head;
	u32 tail;
};

/**
 * struct intsight_wire - packets with the same round trip, on their way
 * @end: where they arrive
 * @ring: they, in the order in which they are due
 * @timer: arrival of the first; runs only while the end's interrupt is on
 * @last_due_ns: of the last one put on the wire
 */
struct intsight_wire {
	struct intsight_end *end;
	struct intsight_ring ring;
	struct hrtimer timer;
	u64 last_due_ns;
};

/**
 * struct intsight_burst - packets that nobody sent
 * @timer: the next one
 * @period_ns: distance
 * @left: how many to go
 * @seq: number of the next one
 * @ring: those that have arrived
 */
struct intsight_burst {
	struct hrtimer timer;
	u64 period_ns;
	u64 left;
	u64 seq;
	struct intsight_ring ring;
};

/**
 * struct intsight_nic_counts - one writer each, read without a lock
 * @sent: packets given to the wire or the built-in peer
 * @sent_bytes: their size
 * @send_failed: packets that could not be copied
 * @received: packets given to the stack
 * @received_bytes: their size
 * @overflowed: packets that met a full ring or an end that was down
 * @cut_off: packets that were on their way when the end went down
 * @no_memory: packets of a burst that could not be made
 * @raised: interrupts raised
 * @handled: calls of the handler after a raise
 * @spurious: calls of the handler without one
 * @polls: calls of the NAPI poll
 * @answered: packets answered by the built-in peer
 * @ignored: packets that it did not answer
 */
struct intsight_nic_counts {
	u64 sent;
	u64 sent_bytes;
	u64 send_failed;
	u64 received;
	u64 received_bytes;
	u64 overflowed;
	u64 cut_off;
	u64 no_memory;
	u64 raised;
	u64 handled;
	u64 spurious;
	u64 polls;
	u64 answered;
	u64 ignored;
};

/**
 * struct intsight_end - one network device, or a further receive queue of it
 * @netdev: it
 * @other: the other one
 * @config: of both
 * @napi: receives
 * @line: its interrupt
 * @counts: what happened
 * @lock: guards the following up to @burst; raw, as the timers take it
 * @up: between open and stop
 * @irq_on: the end may raise its interrupt; off from a raise until the poll
 *	has found no more
 * @asserted: raised, and the handler has not run; changed without the lock too
 * @wires: what is on its way to this end
 * @next_ns: when the wires take another packet, by the rate
 * @burst: packets that nobody sent
 * @nr_queues: receive queues, which follow each other in memory; of the first
 * @irq_name: of a further queue
 * @rules_lock: guards @rules; raw, as a timer looks at them. Innermost
 * @rules: by location; of the first
 */
struct intsight_end {
	struct net_device *netdev;
	struct intsight_end *other;
	struct intsight_nic_config *config;
	struct napi_struct napi;
	struct intsight_line *line;
	struct intsight_nic_counts counts;

	raw_spinlock_t lock;
	bool up;
	bool irq_on;
	bool asserted;
	struct intsight_wire wires[INTSIGHT_NR_WIRES];
	u64 next_ns;
	struct intsight_burst burst;

	unsigned int nr_queues;
	char irq_name[IFNAMSIZ + 12];
	raw_spinlock_t rules_lock;
	struct intsight_rule rules[INTSIGHT_MAX_RULES];
};

#define intsight_for_each_queue(queue, end) \
	for ((queue) = (end); (queue) < (end) + (end)->nr_queues; (queue)++)

/* For counters with a single writer. */
static inline void intsight_count(u64 *counter, u64 nr)
{
	WRITE_ONCE(*counter, *counter + nr);
}

/* nic_wire.c */
void intsight_wire_init(struct intsight_end *end, bool steered);
int intsight_wire_open(struct intsight_end *end);
void intsight_wire_stop(struct intsight_end *end);
void intsight_wire_drain(struct intsight_end *end);
struct sk_buff *intsight_wire_copy(struct intsight_end *end,
				   struct sk_buff *skb);
bool intsight_wire_ports(const struct sk_buff *skb,
			 struct intsight_ports *ports);
void intsight_wire_send(struct intsight_end *end, struct sk_buff *skb,
			unsigned int nr_ways);
bool intsight_wire_receive(struct intsight_end *end,
			   struct intsight_parcel *parcel);
bool intsight_wire_peek(struct intsight_end *end,
			struct intsight_ports *ports);
void intsight_wire_irq_on(struct intsight_end *end);
int intsight_wire_burst(struct intsight_end *end, u64 nr);

/* nic_peer.c */
void intsight_peer_receive(struct intsight_end *end, struct sk_buff *skb);
bool intsight_peer_can_burst(struct intsight_end *end);
struct intsight_ports intsight_peer_ports(const struct intsight_end *end,
					  u64 seq);
struct sk_buff *intsight_peer_burst(struct intsight_end *end,
				    const struct intsight_parcel *parcel);

/* nic_steer.c */
struct ethtool_rxnfc;
struct intsight_end *intsight_steer(struct intsight_end *end,
				    const struct intsight_ports *ports);
enum hrtimer_restart intsight_steer_burst(struct hrtimer *timer);
u32 intsight_steer_ring_count(struct net_device *netdev);
int intsight_steer_get(struct net_device *netdev, struct ethtool_rxnfc *info,
		       u32 *locations);
int intsight_steer_set(struct net_device *netdev, struct ethtool_rxnfc *info);

/* nic_sysfs.c */
extern const struct attribute_group intsight_nic_group;

#endif /* INTSIGHT_NIC_H */
