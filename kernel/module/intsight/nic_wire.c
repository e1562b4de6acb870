// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is on its way to an end of the test NIC, and the interrupt that says
 * that it has arrived.
 *
 * Packets that somebody sent are on one of two wires and arrive when they are
 * due; those of a burst a timer makes arrive. An arrival raises the line if
 * the end's interrupt is on, and switches it off; the poll takes what has
 * arrived and switches it on again, which raises once more if something came
 * meanwhile. So no arrival is forgotten and none interrupts a poll.
 *
 * Lock order: intsight_end.lock, then the locks of hrtimers. The line is
 * raised without it, as that may run the handler.
 */
#include <linux/etherdevice.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ktime.h>
#include <linux/slab.h>

#include "compat.h"
#include "cycles.h"
#include "intsight_mark.h"
#include "nic.h"

static bool ring_is_empty(const struct intsight_ring *ring)
{
	return ring->head == ring->tail;
}

static struct intsight_parcel *ring_first(const struct intsight_ring *ring)
{
	return &ring->parcels[ring->head % INTSIGHT_MAX_RING];
}

/* Returns whether there was room. */
static bool ring_put(struct intsight_end *end, struct intsight_ring *ring,
		     const struct intsight_parcel *parcel)
{
	lockdep_assert_held(&end->lock);

	if (!end->up ||
	    ring->tail - ring->head >= READ_ONCE(end->config->ring)) {
		intsight_count(&end->counts.overflowed, 1);
		return false;
	}
	ring->parcels[ring->tail++ % INTSIGHT_MAX_RING] = *parcel;
	return true;
}

/* Returns whether the caller must raise the line, after unlocking. */
static bool wire_claim_irq(struct intsight_end *end)
{
	lockdep_assert_held(&end->lock);

	if (!end->irq_on)
		return false;
	end->irq_on = false;
	/* Busy polling may come before the handler: then two raises merge. */
	if (!xchg(&end->asserted, true))
		intsight_count(&end->counts.raised, 1);
	return true;
}

/* Context: hardirq. */
static void wire_raise(struct intsight_end *end)
{
	INTSIGHT_MARK(INTSIGHT_MARK_NIC_RAISE);
	intsight_line_raise_hardirq(end->line);
}

static u64 wire_due_ns(const struct intsight_wire *wire)
{
	return ring_is_empty(&wire->ring) ? U64_MAX :
					    ring_first(&wire->ring)->due_ns;
}

static void wire_start_timer(struct intsight_wire *wire)
{
	lockdep_assert_held(&wire->end->lock);

	hrtimer_start(&wire->timer, ns_to_ktime(wire_due_ns(wire)),
		      HRTIMER_MODE_ABS_PINNED_HARD);
}

/* Context: hardirq. */
static enum hrtimer_restart wire_timer(struct hrtimer *timer)
{
	struct intsight_wire *wire = container_of(timer, struct intsight_wire,
						  timer);
	struct intsight_end *end = wire->end;
	bool raise = false;

	raw_spin_lock(&end->lock);
	/* Stopped, or polled while this fired: the poll starts it again. */
	if (end->irq_on && !ring_is_empty(&wire->ring)) {
		if (wire_due_ns(wire) <= ktime_get_ns())
			raise = wire_claim_irq(end);
		else
			wire_start_timer(wire);
	}
	raw_spin_unlock(&end->lock);

	if (raise)
		wire_raise(end);
	return HRTIMER_NORESTART;
}

/* Context: hardirq. */
static enum hrtimer_restart burst_timer(struct hrtimer *timer)
{
	struct intsight_end *end = container_of(timer, struct intsight_end,
						burst.timer);
	struct intsight_burst *burst = &end->burst;
	struct intsight_parcel parcel = { .cycles = intsight_cycles() };
	bool raise, again;
	u64 nr;

	raw_spin_lock(&end->lock);
	/* Those that a late timer owes come at once. */
	nr = hrtimer_forward_now(timer, ns_to_ktime(burst->period_ns));
	nr = min(nr, burst->left);
	burst->left -= nr;
	while (nr--) {
		parcel.seq = burst->seq++;
		ring_put(end, &burst->ring, &parcel);
	}
	again = burst->left;
	raise = !ring_is_empty(&burst->ring) && wire_claim_irq(end);
	raw_spin_unlock(&end->lock);

	if (raise)
		wire_raise(end);
	return again ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/**
 * intsight_wire_copy() - what arrives of a packet that was sent
 * @end: where it will arrive
 * @skb: the packet; stays the caller's
 *
 * Plays the hardware, which has no part in the kernel's memory: the sender's
 * buffer is free as soon as it is read. Completes the checksum if the sender
 * has left that to the hardware, and vouches for it at the other end.
 *
 * Return: the copy, or NULL.
 */
struct sk_buff *intsight_wire_copy(struct intsight_end *end,
				   struct sk_buff *skb)
{
	struct sk_buff *copy = netdev_alloc_skb_ip_align(end->netdev, skb->len);

	if (!copy)
		return NULL;
	skb_copy_and_csum_dev(skb, skb_put(copy, skb->len));
	if (skb->ip_summed == CHECKSUM_PARTIAL &&
	    end->netdev->features & NETIF_F_RXCSUM)
		copy->ip_summed = CHECKSUM_UNNECESSARY;
	return copy;
}

/* Whether it goes by UDP or TCP, and then its ports. */
static bool ports_of(const struct sk_buff *skb, struct intsight_ports *ports)
{
	const struct ethhdr *eth = (struct ethhdr *)skb->data;
	const struct iphdr *ip = (struct iphdr *)(eth + 1);
	const __be16 *header;

	if (skb->len < sizeof(*eth) + sizeof(*ip) ||
	    eth->h_proto != htons(ETH_P_IP) ||
	    (ip->protocol != IPPROTO_TCP && ip->protocol != IPPROTO_UDP))
		return false;
	header = (void *)ip + ip->ihl * 4;
	if ((void *)(header + 2) > (void *)skb_tail_pointer(skb))
		return false;
	ports->protocol = ip->protocol;
	ports->source = header[0];
	ports->dest = header[1];
	return true;
}

/**
 * intsight_wire_ports() - the ports of a packet
 * @skb: the packet, linear
 * @ports: filled in
 *
 * Return: whether it goes by UDP or TCP over IPv4.
 */
bool intsight_wire_ports(const struct sk_buff *skb,
			 struct intsight_ports *ports)
{
	return ports_of(skb, ports);
}

/* Is it to or from the slow port? */
static bool is_slow(const struct intsight_end *end, const struct sk_buff *skb)
{
	const __be16 port = htons(READ_ONCE(end->config->slow_port));
	struct intsight_ports ports;

	return port && ports_of(skb, &ports) &&
	       (ports.source == port || ports.dest == port);
}

/**
 * intsight_wire_send() - put a packet on a wire
 * @end: where it will arrive
 * @skb: the packet, linear; the wire's from now on
 * @nr_ways: how often it goes the way from end to end, 1 or 2
 *
 * Context: any but hardirq.
 */
void intsight_wire_send(struct intsight_end *end, struct sk_buff *skb,
			unsigned int nr_ways)
{
	const struct intsight_nic_config *config = end->config;
	bool slow = is_slow(end, skb);
	struct intsight_wire *wire = &end->wires[slow];
	u64 rtt_us = slow ? READ_ONCE(config->slow_rtt_us) :
			    READ_ONCE(config->rtt_us);
	u32 rate_pps = READ_ONCE(config->rate_pps);
	struct intsight_parcel parcel = { .skb = skb };
	unsigned long flags;
	bool was_empty;
	u64 starts_ns;

	raw_spin_lock_irqsave(&end->lock, flags);
	starts_ns = max_t(u64, ktime_get_ns(), end->next_ns);
	parcel.due_ns = starts_ns + rtt_us * NSEC_PER_USEC / 2 * nr_ways;
	/* In order, even if the round trip has become shorter. */
	parcel.due_ns = max(parcel.due_ns, wire->last_due_ns);
	was_empty = ring_is_empty(&wire->ring);
	if (ring_put(end, &wire->ring, &parcel)) {
		skb = NULL;
		wire->last_due_ns = parcel.due_ns;
		end->next_ns = rate_pps ? starts_ns + NSEC_PER_SEC / rate_pps :
					  0;
		if (was_empty && end->irq_on)
			wire_start_timer(wire);
	}
	raw_spin_unlock_irqrestore(&end->lock, flags);

	if (skb)
		dev_kfree_skb_any(skb);
}

/*
 * Where the first is that has arrived and that the poll has not seen, or NULL.
 */
static struct intsight_ring *first_arrived(struct intsight_end *end)
{
	struct intsight_wire *wire = &end->wires[INTSIGHT_WIRE];
	struct intsight_wire *slow = &end->wires[INTSIGHT_WIRE_SLOW];

	lockdep_assert_held(&end->lock);

	if (!ring_is_empty(&end->burst.ring))
		return &end->burst.ring;
	if (wire_due_ns(slow) < wire_due_ns(wire))
		wire = slow;
	if (ring_is_empty(&wire->ring) || wire_due_ns(wire) > ktime_get_ns())
		return NULL;
	return &wire->ring;
}

/**
 * intsight_wire_peek() - look at the next packet that has arrived
 * @end: where
 * @ports: filled in
 *
 * Context: hardirq.
 * Return: whether there was one by UDP or TCP, and nobody held the lock.
 */
bool intsight_wire_peek(struct intsight_end *end, struct intsight_ports *ports)
{
	struct intsight_parcel *parcel;
	struct intsight_ring *ring;
	bool known = false;

	if (!raw_spin_trylock(&end->lock))
		return false;
	ring = first_arrived(end);
	if (ring) {
		parcel = ring_first(ring);
		known = true;
		if (!parcel->skb)
			*ports = intsight_peer_ports(end, parcel->seq);
		else
			known = ports_of(parcel->skb, ports);
	}
	raw_spin_unlock(&end->lock);
	return known;
}

/**
 * intsight_wire_receive() - take the next packet that has arrived
 * @end: where
 * @parcel: gets it
 *
 * Context: the poll of @end.
 * Return: whether there was one.
 */
bool intsight_wire_receive(struct intsight_end *end,
			   struct intsight_parcel *parcel)
{
	struct intsight_ring *ring;
	unsigned long flags;

	raw_spin_lock_irqsave(&end->lock, flags);
	ring = first_arrived(end);
	if (ring)
		*parcel = *ring_first(ring);
	if (ring)
		ring->head++;
	raw_spin_unlock_irqrestore(&end->lock, flags);
	return ring;
}

/**
 * intsight_wire_irq_on() - have the next arrival raise the line
 * @end: where
 *
 * If something has arrived since the poll looked, that one does, at once.
 *
 * Context: the poll of @end, after it has completed, or its open.
 */
void intsight_wire_irq_on(struct intsight_end *end)
{
	unsigned long flags;
	bool raise = false;
	int i;

	raw_spin_lock_irqsave(&end->lock, flags);
	end->irq_on = end->up;
	if (!ring_is_empty(&end->burst.ring))
		raise = wire_claim_irq(end);
	for (i = 0; end->irq_on && i < INTSIGHT_NR_WIRES; i++)
		if (!ring_is_empty(&end->wires[i].ring))
			wire_start_timer(&end->wires[i]);
	raw_spin_unlock_irqrestore(&end->lock, flags);

	if (raise) {
		INTSIGHT_MARK(INTSIGHT_MARK_NIC_RAISE);
		intsight_line_raise(end->line);
	}
}

/**
 * intsight_wire_burst() - begin a burst, or end it
 * @end: where it arrives
 * @nr: number of packets, 0 to end it
 *
 * Return: 0, or -ENETDOWN.
 */
int intsight_wire_burst(struct intsight_end *end, u64 nr)
{
	struct intsight_burst *burst = &end->burst;
	unsigned long flags;
	int ret = 0;

	hrtimer_cancel(&burst->timer);
	raw_spin_lock_irqsave(&end->lock, flags);
	burst->left = end->up ? nr : 0;
	burst->period_ns = NSEC_PER_SEC / READ_ONCE(end->config->burst_pps);
	if (!end->up)
		ret = -ENETDOWN;
	else if (nr)
		hrtimer_start(&burst->timer, ns_to_ktime(burst->period_ns),
			      HRTIMER_MODE_REL_PINNED_HARD);
	raw_spin_unlock_irqrestore(&end->lock, flags);
	return ret;
}

/**
 * intsight_wire_init() - make the wires of an end, or of a queue
 * @end: whose
 * @steered: the packets of a burst go to several queues
 */
void intsight_wire_init(struct intsight_end *end, bool steered)
{
	int i;

	raw_spin_lock_init(&end->lock);
	for (i = 0; i < INTSIGHT_NR_WIRES; i++) {
		end->wires[i].end = end;
		intsight_hrtimer_setup(&end->wires[i].timer, wire_timer,
				       CLOCK_MONOTONIC,
				       HRTIMER_MODE_ABS_PINNED_HARD);
	}
	intsight_hrtimer_setup(&end->burst.timer,
			       steered ? intsight_steer_burst : burst_timer,
			       CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
}

static int ring_alloc(struct intsight_ring *ring)
{
	ring->parcels = kvcalloc(INTSIGHT_MAX_RING, sizeof(*ring->parcels),
				 GFP_KERNEL);
	return ring->parcels ? 0 : -ENOMEM;
}

/* Also what is left in it. */
static void ring_free(struct intsight_end *end, struct intsight_ring *ring)
{
	for (; !ring_is_empty(ring); ring->head++) {
		intsight_count(&end->counts.cut_off, 1);
		if (ring_first(ring)->skb)
			dev_kfree_skb_any(ring_first(ring)->skb);
	}
	kvfree(ring->parcels);
	memset(ring, 0, sizeof(*ring));
}

/**
 * intsight_wire_open() - take packets from now on
 * @end: for whom
 *
 * Return: 0 or -ENOMEM.
 */
int intsight_wire_open(struct intsight_end *end)
{
	int i, ret;

	ret = ring_alloc(&end->burst.ring);
	for (i = 0; !ret && i < INTSIGHT_NR_WIRES; i++) {
		end->wires[i].last_due_ns = 0;
		ret = ring_alloc(&end->wires[i].ring);
	}
	if (ret) {
		intsight_wire_drain(end);
		return ret;
	}
	raw_spin_lock_irq(&end->lock);
	end->next_ns = 0;
	end->up = true;
	raw_spin_unlock_irq(&end->lock);
	return 0;
}

/**
 * intsight_wire_stop() - take no more packets, raise no more interrupts
 * @end: for whom
 */
void intsight_wire_stop(struct intsight_end *end)
{
	int i;

	raw_spin_lock_irq(&end->lock);
	end->up = false;
	end->irq_on = false;
	end->burst.left = 0;
	raw_spin_unlock_irq(&end->lock);
	/* Who finds it down does not start them again. */
	for (i = 0; i < INTSIGHT_NR_WIRES; i++)
		hrtimer_cancel(&end->wires[i].timer);
	hrtimer_cancel(&end->burst.timer);
}

/**
 * intsight_wire_drain() - drop and count what is still on its way
 * @end: to whom; stopped, and its poll disabled
 */
void intsight_wire_drain(struct intsight_end *end)
{
	int i;

	for (i = 0; i < INTSIGHT_NR_WIRES; i++)
		ring_free(end, &end->wires[i].ring);
	ring_free(end, &end->burst.ring);
}
