#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Measures what irqpath costs, beside perf, trace-cmd and bpftrace on the same events, and prints
# one report (docs/performance.md explains it). `make bench` builds what it needs.
#
#   scripts/bench.sh [slowdown] [cost] [agent]
#
# Without a name, all parts. BENCH_ROUNDS=N changes the number of rounds of slowdown (4), and
# BENCH_AGENT_S=N the seconds that the agent is watched at each rate (60).
# Exit codes: 0 measured (whatever the outcome), 2 could not run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Debian keeps bpftool and sysctl where users do not look.
export PATH=$PATH:/usr/sbin:/sbin
export LC_ALL=C
export RELEASE=${CARGO_TARGET_DIR:-target}/release
tracefs=/sys/kernel/tracing
debugfs=/sys/kernel/debug

die() { echo "bench: $*" >&2; exit 2; }

# Puts back what was changed here, and unmounts what the peers mount for themselves.
cleanup() {
  local path
  if [[ -n ${WORK:-} ]]; then rm -rf "$WORK"; fi
  for path in "$debugfs/tracing" "$debugfs" "$tracefs"; do
    if ! grep -q " $path " <<<"$mounts" && mountpoint -q "$path"; then umount "$path" || true; fi
  done
  if [[ -n ${stats_before:-} ]]; then sysctl -qw "kernel.bpf_stats_enabled=$stats_before"; fi
}

# In a session of its own, which the scheduler then prefers to the other ones as a whole: loads and
# tracers keep their weights among themselves, but other users of this machine disturb them less.
if [[ ${1:-} != --in-session ]]; then
  setsid --wait "$0" --in-session "$@" &
  # The signal of the terminal does not reach the other session, and background jobs ignore SIGINT.
  trap 'kill -TERM -- "-$!"; wait $!; exit 130' INT TERM
  wait $!
  exit
fi

shift
if [[ $# == 0 ]]; then set -- slowdown cost agent; fi
for part; do
  [[ $part =~ ^(slowdown|cost|agent)$ ]] || die "there is no part '$part'; write slowdown, cost or agent"
done

[[ $EUID == 0 ]] || die 'tracing every CPU needs root; run: sudo make bench'
for tool in hackbench bpftool setpriv; do
  command -v "$tool" >/dev/null || die "$tool is missing; run: scripts/setup.sh --with test"
done
cargo build --locked --quiet --release -p irqpath --bin irqpath --example bench_load

mounts=$(cut -d' ' -f1-3 /proc/mounts)
trap cleanup EXIT
trap 'exit 130' INT TERM
# The recordings of the peers are large: memory, not disk, so that no disk is measured.
WORK=$(mktemp -d -p /dev/shm irqpath-bench.XXXXXX)
export WORK
stats_before=$(sysctl -n kernel.bpf_stats_enabled)
if [[ ! -d $tracefs/events ]]; then
  mount -t tracefs nodev "$tracefs" 2>/dev/null ||
    die "the events of this kernel cannot be listed: $tracefs cannot be mounted"
fi
if [[ -w /proc/self/autogroup ]]; then echo -20 >/proc/self/autogroup || true; fi

bench/events.sh >"$WORK/events"
echo "irqpath bench: $(date -u +%Y-%m-%d), kernel $(uname -r) $(uname -m)," \
  "$(sed -n 's/^model name[^:]*: //p;q' <(grep -m1 '^model name' /proc/cpuinfo))," \
  "$(nproc) CPUs, load average $(cut -d' ' -f1 /proc/loadavg) before"
for part; do "bench/$part.sh"; done
