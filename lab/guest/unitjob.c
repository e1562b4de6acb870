// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * unitjob - the job of a guest as a service of its systemd: runs /job, hands /results to the host,
 * and switches the guest off.
 *
 * Every other process still runs then, and nothing is written to the disk: the host reads the
 * results from shared memory. The job waits for what must be done before.
 */
#define _GNU_SOURCE
#include "job.h"

int main(void)
{
	open_console();
	read_command_line();
	say("irqpath: job starts");
	run_job();
	hand_over();
	power_off();
	return 0;
}
