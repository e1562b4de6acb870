/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf_tracing.h - stands in for libbpf's header when bpf/ is compiled natively.
 *
 * A program takes its arguments as they are, so that the compiler checks the callers.
 */
#ifndef SHIM_BPF_TRACING_H
#define SHIM_BPF_TRACING_H

#define BPF_PROG(name, args...)	name(args)

#endif /* SHIM_BPF_TRACING_H */
