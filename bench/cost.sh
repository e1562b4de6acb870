#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What irqpath itself costs: time per event by the kernel's own BPF statistics, start-up, memory,
# and losses at a high rate of events. Called by scripts/bench.sh, which sets RELEASE and WORK and
# puts kernel.bpf_stats_enabled back.
set -euo pipefail

irqpath=$RELEASE/irqpath
messages=400000
set -m

# shellcheck source=bench/programs.sh
. bench/programs.sh

field() { sed -nE "s/^ *\"$2\": ([0-9]+),?$/\1/p" "$1" | head -n 1; }

loads() {
  hackbench -p -g 2 -l 3000 >/dev/null
  "$RELEASE/examples/bench_load" "$messages"
}

# Waits until as many programs are attached as are loaded: each has a link then.
wait_attached() {
  local nr_loaded nr_linked
  while kill -0 "$1" 2>/dev/null; do
    nr_loaded=$(grep -ls '^prog_type' "/proc/$1/fdinfo/"* 2>/dev/null | wc -l)
    nr_linked=$(grep -ls '^link_type' "/proc/$1/fdinfo/"* 2>/dev/null | wc -l)
    if ((nr_loaded > 0 && nr_linked == nr_loaded)); then return; fi
    sleep 0.01
  done
  return 1
}

start() {
  "$irqpath" trace once -d 10m "$@" >/dev/null 2>"$WORK/log" </dev/null &
  pid=$!
  wait_attached "$pid" || { echo "bench: $(cat "$WORK/log")" >&2; exit 2; }
}

finish() {
  kill -INT "$pid"
  wait "$pid" || true
  pid=''
}

# Runs and nanoseconds of every loaded program whose name begins with $1.
statistics() {
  bpftool prog show |
    sed -nE "s/.* name ($1[a-z0-9_]*) .* run_time_ns ([0-9]+) run_cnt ([0-9]+).*/\1 \3 \2/p"
}

time_per_event() {
  printf '\nTIME PER EVENT in irqpath'\''s programs, both loads, by kernel.bpf_stats_enabled\n'
  statistics_on
  start
  loads
  statistics ip_ >"$WORK/programs"
  finish
  start --no-user
  loads
  statistics ip_ >"$WORK/programs-no-user"
  finish
  statistics_off
  empty_program tracepoint:raw_syscalls:sys_exit loads
  awk '{ printf "an empty program, measured in the same way: %d ns (%d runs)\n", $1, $2 }' "$WORK/empty"
  sort -k3,3nr "$WORK/programs" | awk '
    NR == 1 { printf "%-32s %10s %8s %10s\n", "program", "runs", "ns each", "ms in all" }
    $2 > 0 { printf "%-32s %10d %8.0f %10.1f\n", $1, $2, $3 / $2, $3 / 1e6 }
    { n += $2; ns += $3 }
    $1 != "ip_sys_exit" { m += $2; ms += $3 }
    END {
      printf "%-32s %10d %8.0f   (target: at most 150)\n", "all", n, ns / n
      printf "%-32s %10d %8.0f\n", "all but ip_sys_exit", m, ms / m
    }'
  awk '{ n += $2; ns += $3 } END { printf "%-32s %10d %8.0f\n", "all, with --no-user", n, ns / n }' \
    "$WORK/programs-no-user"
}

start_up() {
  local _ begin
  for _ in 1 2 3 4 5 6 7; do
    begin=$(date +%s%N)
    start
    echo $((($(date +%s%N) - begin) / 1000000))
    finish
  done | sort -n | awk '{ ms[NR] = $1 } END {
    printf "\nSTART-UP until every program is attached: min %d, median %d, max %d ms (target: at most 1000)\n",
      ms[1], ms[int((NR + 1) / 2)], ms[NR] }'
}

# A rate of events as high as this machine makes: three floods and a hackbench until killed.
storm() {
  local _
  for _ in 1 2 3; do
    while :; do "$RELEASE/examples/bench_load" "$messages"; done &
    storms+=($!)
  done
  while :; do hackbench -p -g 2 -l 3000 >/dev/null 2>&1; done &
  storms+=($!)
}

calm() {
  local group
  for group in "${storms[@]}"; do
    disown "$group" # the shell would report its end
    kill -TERM -- "-$group" 2>/dev/null || true
  done
  storms=()
}

# at_rate TITLE ARGUMENT...: one trace of 4 s inside the storm.
at_rate() {
  local title=$1 json=$WORK/rate.json
  shift
  rm -rf "$WORK/dir"
  "$irqpath" trace once -d 4s "$@" --json "$json" >/dev/null 2>"$WORK/log" </dev/null || true
  [[ -s $json ]] || { echo "$title: $(cat "$WORK/log")"; return; }
  awk -v title="$title" -v n="$(field "$json" nr_events)" -v ns="$(field "$json" duration_ns)" \
    -v lost="$(bench/lost.sh "$json")" -v why="$(bench/lost.sh "$json" why)" -v cpu="$(field "$json" process_cpu_ns)" \
    -v rss="$(field "$json" peak_rss_bytes)" -v maps="$(field "$json" map_bytes)" 'BEGIN {
      printf "%-24s %10d %10d %8.2f %9.1f %9.1f %9.1f  %s\n", title, n / ns * 1e9, lost, cpu / 1e9,
        rss / 1048576, maps / 1048576, (rss + maps) / 1048576, why }'
}

losses() {
  printf '\nLOSSES AND MEMORY in 4 s of floods and hackbench (targets: 0 lost at 500000 events/s, 100 MiB)\n'
  printf '%-24s %10s %10s %8s %9s %9s %9s  %s\n' 'irqpath trace once' 'events/s' lost 'CPU s' \
    'RSS MiB' 'maps MiB' 'sum MiB' 'lost by reason'
  storms=()
  storm
  sleep 0.5
  at_rate 'default'
  at_rate '--no-user' --no-user
  at_rate '-T 100' -T 100
  at_rate '-o DIR' -o "$WORK/dir"
  calm
}

# Rates that a host may have for days: what the tracer loses there, and what it takes of one CPU. The
# programs' share is what the trace itself sampled of them, less an empty program's time.
at_given_rates() {
  local rate json=$WORK/pace.json empty
  empty=$(empty_ns)
  printf '\nAT A GIVEN RATE, 5 s each (targets: none lost at 500000 events/s; at most 1 %% of one CPU at 50000)\n'
  printf '%-24s %10s %10s %12s %12s  %s\n' 'datagrams/s' 'events/s' lost 'programs %' 'process %' 'lost by reason'
  for rate in 3300 65000; do
    "$RELEASE/examples/bench_load" $((rate * 20)) "$rate" &
    storms+=($!)
    sleep 0.5
    "$irqpath" trace once -d 5s --json "$json" >/dev/null 2>"$WORK/log" </dev/null || true
    calm
    [[ -s $json ]] || { echo "$rate: $(cat "$WORK/log")"; continue; }
    awk -v rate="$rate" -v n="$(field "$json" nr_events)" -v ns="$(field "$json" duration_ns)" -v empty="$empty" \
      -v lost="$(bench/lost.sh "$json")" -v why="$(bench/lost.sh "$json" why)" \
      -v cpu="$(field "$json" process_cpu_ns)" -v each="$(field "$json" mean_event_ns)" 'BEGIN {
        own = n * (each - empty)
        printf "%-24d %10d %10d %12.2f %12.2f  %s\n", rate, n / ns * 1e9, lost,
          100 * (own > 0 ? own : 0) / ns, 100 * cpu / ns, why }'
  done
}

storms=()
pid=''
stop() {
  local id
  calm
  for id in $pid $empty_id; do kill -INT "$id" 2>/dev/null || true; done
}
trap stop EXIT
time_per_event
start_up
at_given_rates
losses
