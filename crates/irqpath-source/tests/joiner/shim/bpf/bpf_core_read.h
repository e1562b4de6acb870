/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bpf_core_read.h - stands in for libbpf's header when bpf/ is compiled natively.
 *
 * The simulated tasks have the very fields of kernel.h, so there is nothing to relocate.
 */
#ifndef SHIM_BPF_CORE_READ_H
#define SHIM_BPF_CORE_READ_H

#define BPF_CORE_READ_BITFIELD(s, field)	((s)->field)
#define BPF_CORE_READ(s, a, b)			((s)->a->b)
#define bpf_core_field_exists(field)	1
#define bpf_core_cast(address, type)	((type *)(address))

#endif /* SHIM_BPF_CORE_READ_H */
