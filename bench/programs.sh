# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How often the BPF programs of a process run and how long, by kernel.bpf_stats_enabled. Sourced by
# the parts of the bench. Rule: those statistics cost two clock reads per run of a program, so they
# are on only around what is to be counted, and never while a slowdown is timed.

statistics_on() { sysctl -qw kernel.bpf_stats_enabled=1; }
statistics_off() { sysctl -qw kernel.bpf_stats_enabled=0; }

# runs_of PID: runs and nanoseconds so far of the programs that this process holds.
runs_of() {
  local ids
  # A descriptor may be closed meanwhile.
  ids=$({ cat "/proc/$1/fdinfo/"* 2>/dev/null || true; } |
    sed -nE 's/^prog_id:[[:space:]]*([0-9]+)$/\1/p' | sort -u | tr '\n' ' ')
  bpftool prog show | awk -v ids="$ids" '
    BEGIN { n = split(ids, id, " "); for (i = 1; i <= n; i++) held[id[i] ":"] = 1 }
    $1 in held {
      for (i = 2; i < NF; i++) {
        if ($i == "run_cnt") runs += $(i + 1)
        if ($i == "run_time_ns") ns += $(i + 1)
      }
    }
    END { printf "%.0f %.0f\n", runs, ns }'
}

# empty_program PROBES COMMAND...: the statistic measures its own clock reads too. The mean of programs
# that do nothing, one for each of bpftrace's probes, while COMMAND runs, and their number of runs, go to
# $WORK/empty; neither without bpftrace. Needs jobs in groups of their own (set -m), so that SIGINT ends
# it; a script that is ended meanwhile ends $empty_id.
empty_id=''
empty_program() {
  local probes=$1
  shift
  : >"$WORK/empty"
  command -v bpftrace >/dev/null || return 0
  bpftrace -e "$probes { \$x = 1; }" >/dev/null 2>&1 </dev/null &
  empty_id=$!
  sleep 1
  statistics_on
  "$@"
  runs_of "$empty_id" | awk '$1 > 1000 { printf "%.0f %d\n", $2 / $1, $1 }' >"$WORK/empty"
  statistics_off
  kill -INT "$empty_id" 2>/dev/null || true
  wait "$empty_id" || true
  empty_id=''
}

# The nanoseconds that every run has too many; 0 where they were not measured.
empty_ns() { awk '{ ns = $1 } END { print ns + 0 }' "$WORK/empty" 2>/dev/null || echo 0; }
