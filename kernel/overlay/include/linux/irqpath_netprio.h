/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: received packets that wait for more urgent work, for the network.
 */
#ifndef _LINUX_IRQPATH_NETPRIO_H
#define _LINUX_IRQPATH_NETPRIO_H

#include <linux/jump_label.h>
#include <linux/types.h>

struct list_head;
struct napi_struct;
struct sk_buff;
struct sock;

#ifdef CONFIG_IRQPATH_NETPRIO

DECLARE_STATIC_KEY_FALSE(irqpath_netprio_key);

/* The use of sockets, and their end, which is always on. */
void __irqpath_netprio_sort(void);
void __irqpath_add_receiver(struct sock *sk);
void irqpath_socket_free(struct sock *sk);

/* net/core/dev.c, for the threads that serve held packets and NAPIs. */
void irqpath_netprio_receive(struct sk_buff *skb);
bool irqpath_napi_poll(struct napi_struct *n);

bool __irqpath_netprio_hold(struct sk_buff *skb);
void __irqpath_netprio_hold_list(struct list_head *head);
void __irqpath_napi_begin(struct napi_struct *n);
bool __irqpath_napi_hold(struct napi_struct *n);
void __irqpath_napi_end(struct napi_struct *n);
void __irqpath_napi_disable(void);

/* The current task sends, receives or polls. */
static inline void irqpath_add_receiver(struct sock *sk)
{
	if (static_branch_unlikely(&irqpath_netprio_key))
		__irqpath_add_receiver(sk);
}

/* The priority of a task has changed. No lock is held. */
static inline void irqpath_netprio_sort(void)
{
	if (static_branch_unlikely(&irqpath_netprio_key))
		__irqpath_netprio_sort();
}

/**
 * irqpath_netprio_hold() - let a received packet wait for more urgent work
 * @skb: the packet
 *
 * Context: RCU read side, bottom halves disabled.
 * Return: true if the packet has been taken.
 */
static inline bool irqpath_netprio_hold(struct sk_buff *skb)
{
	if (static_branch_unlikely(&irqpath_netprio_key))
		return __irqpath_netprio_hold(skb);
	return false;
}

/* The same for a list, from which the taken packets are removed. */
static inline void irqpath_netprio_hold_list(struct list_head *head)
{
	if (static_branch_unlikely(&irqpath_netprio_key))
		__irqpath_netprio_hold_list(head);
}

/* Around a NAPI's poll. The end only if it brought less than its budget. */
static inline void irqpath_napi_begin(struct napi_struct *n)
{
	if (static_branch_unlikely(&irqpath_netprio_key))
		__irqpath_napi_begin(n);
}

static inline void irqpath_napi_end(struct napi_struct *n)
{
	if (static_branch_unlikely(&irqpath_netprio_key))
		__irqpath_napi_end(n);
}

/* A NAPI is being disabled: NAPI_STATE_DISABLE has just been set. */
static inline void irqpath_napi_disable(void)
{
	if (static_branch_unlikely(&irqpath_netprio_key))
		__irqpath_napi_disable();
}

/**
 * irqpath_napi_hold() - keep a NAPI scheduled whose packets must wait anyway
 * @n: the NAPI, about to complete
 *
 * Return: true if the NAPI must not complete; irqpath_napi_end() takes it.
 */
static inline bool irqpath_napi_hold(struct napi_struct *n)
{
	if (static_branch_unlikely(&irqpath_netprio_key))
		return __irqpath_napi_hold(n);
	return false;
}

#else /* !CONFIG_IRQPATH_NETPRIO */

#define irqpath_socket_free(sk) ((void)(sk))

static inline void irqpath_add_receiver(struct sock *sk) { }
static inline void irqpath_netprio_sort(void) { }
static inline bool irqpath_netprio_hold(struct sk_buff *skb) { return false; }
static inline void irqpath_netprio_hold_list(struct list_head *head) { }
static inline void irqpath_napi_begin(struct napi_struct *n) { }
static inline bool irqpath_napi_hold(struct napi_struct *n) { return false; }
static inline void irqpath_napi_end(struct napi_struct *n) { }
static inline void irqpath_napi_disable(void) { }

#endif /* CONFIG_IRQPATH_NETPRIO */

#endif /* _LINUX_IRQPATH_NETPRIO_H */
