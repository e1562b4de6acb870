/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The head of what a guest leaves for the host: a tar archive of /results follows it.
 *
 * Written by init.c at the start of the shared memory, read by irqpath-lab (vm/result.rs), which
 * repeats the layout; both change together with the version. Little endian, no padding.
 */
#ifndef IRQPATH_RESULT_H
#define IRQPATH_RESULT_H

#include <stdint.h>

#define IRQPATH_RESULT_MAGIC "IRQPATHR"
#define IRQPATH_RESULT_VERSION 1

enum irqpath_result_state {
	IRQPATH_RESULT_COMPLETE = 1,
	IRQPATH_RESULT_OVERFLOW = 2, /* only length is meant; the archive was longer than the room */
	IRQPATH_RESULT_SETUP_FAILED = 3, /* the job was not run; the console says why */
};

enum irqpath_job_end {
	IRQPATH_JOB_EXITED = 0, /* code: exit status */
	IRQPATH_JOB_SIGNALLED = 1, /* code: signal */
	IRQPATH_JOB_LIMIT = 2, /* code: seconds of guest time after which it was killed */
};

struct irqpath_result {
	uint8_t magic[8] __attribute__((nonstring));
	uint32_t version;
	uint32_t state;
	uint32_t job_end;
	uint32_t job_code;
	uint64_t length; /* bytes of the archive */
	uint32_t crc; /* CRC-32 of the archive */
	uint32_t reserved;
	uint64_t taint; /* /proc/sys/kernel/tainted after the job */
	uint64_t job_start_ns; /* CLOCK_MONOTONIC */
	uint64_t job_end_ns;
};

_Static_assert(sizeof(struct irqpath_result) == 64, "the host reads 64 bytes");

#endif
