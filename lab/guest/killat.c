// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * killat N PROGRAM [ARGUMENT]... - runs a program and kills it (SIGKILL) at its Nth change of
 * something.
 *
 * A change is a system call that writes: to a file, an affinity, a directory. It is killed when the
 * call is about to be made (N odd) or has just been made (N even), so that every boundary
 * between two changes is met. A seccomp filter stops the program at these calls alone; a stop at
 * every call takes minutes in a guest, and is what is left where the kernel has no filters (ours).
 * Exit codes: 0 killed, 3 the program ended before.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static const unsigned int changes[] = {
	SYS_write, SYS_sched_setaffinity, SYS_mkdirat, SYS_unlinkat, SYS_renameat, SYS_fdatasync,
	SYS_ftruncate,
#ifdef SYS_mkdir
	SYS_mkdir, SYS_rmdir, SYS_unlink, SYS_rename,
#endif
};

#define NR_CHANGES (sizeof(changes) / sizeof(changes[0]))

/* Stop at the changes, allow everything else. */
static void filter(void)
{
	struct sock_filter code[NR_CHANGES + 3];
	struct sock_fprog program = { .len = NR_CHANGES + 3, .filter = code };
	size_t i;

	code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
					       offsetof(struct seccomp_data, nr));
	for (i = 0; i < NR_CHANGES; i++)
		code[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, changes[i],
							   NR_CHANGES - i, 0);
	code[i + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[i + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		die("seccomp");
}

/* To the next stop; false when there is none any more. */
static int next_stop(pid_t pid, int request, int *status)
{
	int signal = 0;

	for (;;) {
		if (ptrace(request, pid, 0, signal) || waitpid(pid, status, __WALL) != pid)
			die("tracing %d", pid);
		if (!WIFSTOPPED(*status))
			return 0;
		if (*status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8) ||
		    WSTOPSIG(*status) == (SIGTRAP | 0x80))
			return 1;
		signal = WSTOPSIG(*status) == SIGTRAP ? 0 : WSTOPSIG(*status);
	}
}

static int is_change(pid_t pid)
{
	struct __ptrace_syscall_info info;
	size_t i;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0)
		die("what %d calls", pid);
	for (i = 0; info.op == PTRACE_SYSCALL_INFO_ENTRY && i < NR_CHANGES; i++)
		if (info.entry.nr == changes[i])
			return 1;
	return 0;
}

/* To the next change, about to be made; false when there is none any more. */
static int next_change(pid_t pid, int filtered, int *status)
{
	if (filtered)
		return next_stop(pid, PTRACE_CONT, status);
	do
		if (!next_stop(pid, PTRACE_SYSCALL, status))
			return 0;
	while (!is_change(pid));
	return 1;
}

int main(int argc, char **argv)
{
	int filtered = prctl(PR_GET_SECCOMP) >= 0;
	uint64_t which, nr = 0;
	int status;
	pid_t pid;

	if (argc < 3)
		quit("usage: killat N PROGRAM [ARGUMENT]...");
	which = number(argv[1]);
	pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		if (filtered)
			filter();
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("fork");
	if (ptrace(PTRACE_SETOPTIONS, pid, 0,
		   PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACESECCOMP | PTRACE_O_EXITKILL))
		die("options");
	/* Two numbers for each change: before and after it. */
	while (nr + 2 <= which + 1) {
		if (!next_change(pid, filtered, &status))
			return 3;
		nr += 2;
	}
	if (which % 2 == 0 && !next_stop(pid, PTRACE_SYSCALL, &status))
		return 3;
	kill(pid, SIGKILL);
	waitpid(pid, &status, __WALL);
	return 0;
}
