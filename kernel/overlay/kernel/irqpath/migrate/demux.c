// SPDX-License-Identifier: GPL-2.0-only
/*
 * migrate: early demultiplexing, where the packet names the task that its
 * interrupt is for.
 *
 * Many tasks wait for one NIC, and the interrupt alone does not tell whose
 * packet has come. A driver that can look at the first packet of its ring in
 * hardirq context calls irqpath_set_peek(). A task that sleeps in a socket's
 * own wait notes the ports of the socket when it parks. Ports are enough,
 * because a wrong guess is only a misprediction.
 */
#include <linux/interrupt.h>
#include <net/inet_sock.h>
#include <net/sock.h>

#include "migrate.h"

/* Look at packets. */
unsigned int irqpath_early_demux;

/**
 * irqpath_set_peek() - let irqpath look at the packets of an interrupt
 * @irq: the line
 * @dev_id: of its action, see request_irq()
 * @peek: called in hardirq context, before the action's thread is woken, with
 *	  @dev_id; fills in the flow of the first packet that has arrived, and
 *	  returns false if there is none or it cannot tell
 *
 * The driver calls this after request_irq(). free_irq() ends it.
 *
 * Context: may sleep.
 */
void irqpath_set_peek(unsigned int irq, void *dev_id, irqpath_peek_t peek)
{
	irqpath_set_origin_peek(irq, dev_id, peek);
}
EXPORT_SYMBOL_GPL(irqpath_set_peek);

void __irqpath_wait_socket(const struct sock *sk)
{
	struct irqpath_task *t = current->irqpath;

	if (!t)
		return;
	t->flow.protocol = 0;
	if (!sk || (sk->sk_family != AF_INET && sk->sk_family != AF_INET6))
		return;
	t->flow.net = sock_net(sk);
	t->flow.port = inet_sk(sk)->inet_sport;
	t->flow.peer = inet_sk(sk)->inet_dport;
	t->flow.protocol = sk->sk_protocol;
}

/**
 * irqpath_waits_for() - whether a task may wait for a packet
 * @waits: the task's socket; protocol 0 if it waits otherwise
 * @packet: the packet's
 */
bool irqpath_waits_for(const struct irqpath_flow *waits,
		       const struct irqpath_flow *packet)
{
	if (!waits->protocol)
		return true;
	return waits->protocol == packet->protocol &&
	       waits->net == packet->net && waits->port == packet->port &&
	       (!waits->peer || waits->peer == packet->peer);
}

/**
 * irqpath_peek_flow() - get the flow of the packet behind an interrupt
 * @o: the interrupt's origin
 * @action: its action
 * @flow: filled in
 *
 * Context: hardirq of @action.
 * Return: whether the flow is known.
 */
bool irqpath_peek_flow(struct irqpath_origin *o, struct irqaction *action,
		       struct irqpath_flow *flow)
{
	irqpath_peek_t peek = READ_ONCE(o->peek);

	return peek && READ_ONCE(irqpath_early_demux) &&
	       peek(action->dev_id, flow);
}
