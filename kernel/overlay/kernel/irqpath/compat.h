/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * irqpath: what the kernels that this source is for do not have in common. Each
 * part says when that changed. Nothing else asks for the version.
 */
#ifndef _KERNEL_IRQPATH_COMPAT_H
#define _KERNEL_IRQPATH_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/version.h>

/* Linux 6.13: hrtimer_setup() also takes the function of the timer. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock_id,
				 const enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = function;
}
#endif

/* Between Linux 6.12 and 7.2: an object is allocated by its type. */
#ifndef kzalloc_obj
#define kmalloc_obj(object, gfp) kmalloc(sizeof(object), gfp)
#define kzalloc_obj(object, gfp) kzalloc(sizeof(object), gfp)
#endif

/*
 * Linux 6.18: tasks of a CPU that disable bottom halves no longer exclude each
 * other, unless the configuration asks for it.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define IRQPATH_BH_LOCK		IS_ENABLED(CONFIG_PREEMPT_RT)
#else
#define IRQPATH_BH_LOCK		IS_ENABLED(CONFIG_PREEMPT_RT_NEEDS_BH_LOCK)
#endif

/* Return: whether GRO keeps packets of @n. Linux 6.15 gave GRO its own struct. */
static inline bool irqpath_gro_keeps(const struct napi_struct *n)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
	return n->gro_bitmask;
#else
	return n->gro.bitmask;
#endif
}

/*
 * Between Linux 6.12 and 7.2 the lookup of a socket lost the argument that said
 * in which table: the namespace knows.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
#define irqpath_find_udp4(net, ...) \
	__udp4_lib_lookup(net, __VA_ARGS__, 0, (net)->ipv4.udp_table, NULL)
#define irqpath_find_udp6(net, ...) \
	__udp6_lib_lookup(net, __VA_ARGS__, 0, (net)->ipv4.udp_table, NULL)
#define irqpath_find_tcp4(net, ...) \
	__inet_lookup(net, (net)->ipv4.tcp_death_row.hashinfo, NULL, 0, \
		      __VA_ARGS__)
#define irqpath_find_tcp6(net, ...) \
	__inet6_lookup(net, (net)->ipv4.tcp_death_row.hashinfo, NULL, 0, \
		       __VA_ARGS__)
#else
#define irqpath_find_udp4(net, ...) \
	__udp4_lib_lookup(net, __VA_ARGS__, 0, NULL)
#define irqpath_find_udp6(net, ...) \
	__udp6_lib_lookup(net, __VA_ARGS__, 0, NULL)
#define irqpath_find_tcp4(net, ...) __inet_lookup(net, NULL, 0, __VA_ARGS__)
#define irqpath_find_tcp6(net, ...) __inet6_lookup(net, NULL, 0, __VA_ARGS__)
#endif

/*
 * What __schedule() does beside the switch. Between Linux 6.12 and 7.2
 * wakeup_preempt() began to compare with the class that runs next, and CFS to
 * charge the running task instead of the one in its queue. A lender is charged
 * before rq->curr changes, since then. __schedule() also began to note which
 * task it has blocked, which ends with the wakeup, and to defer timers until it
 * has switched. It got a tracepoint at its end.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
#define trace_sched_exit_tp(is_switch) do { } while (0)
#define irqpath_set_next_class(rq, class) do { } while (0)
#define irqpath_note_woken(p) do { } while (0)
#define IRQPATH_CHARGES_CURR	false
#else
#define irqpath_set_next_class(rq, class) ((rq)->next_class = (class))
#define irqpath_note_woken(p) ((p)->is_blocked = 0)
#define IRQPATH_CHARGES_CURR	true
#define IRQPATH_DEFERS_TIMERS
#endif

#endif /* _KERNEL_IRQPATH_COMPAT_H */
