/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growing arrays and hashing for the plugin, without a library.
 *
 * Memory that cannot be had ends the process: a profile with holes would be wrong and look right.
 */
#ifndef IRQPATH_UTIL_H
#define IRQPATH_UTIL_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

static inline void *must(void *memory)
{
	if (memory)
		return memory;
	fprintf(stderr, "flame plugin: out of memory; trace fewer or shorter paths\n");
	exit(1);
}

/* Makes room for one more element of `size` bytes in an array of `nr` of `*cap` elements. */
static inline void *grow(void *array, uint32_t nr, uint32_t *cap, size_t size)
{
	if (nr < *cap)
		return array;
	*cap = *cap ? *cap * 2 : 16;
	return must(realloc(array, *cap * size));
}

/* A bijection of 64 bit words that spreads every bit (the finaliser of splitmix64). */
static inline uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Addresses of the kernel have the top bit set on x86-64 and arm64. */
static inline int is_kernel(uint64_t address)
{
	return (int64_t)address < 0;
}

#endif
