#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How much a fixed amount of work slows down under each tracer. Called by scripts/bench.sh, which
# sets RELEASE and WORK. Every round runs every tracer once, each between two runs without any, and
# a tracer is compared with those two only: what else the machine does changes more slowly than
# that. Each round begins with another tracer. Rule: a tracer is started, seen to be attached, and
# only then are the loads timed.
set -euo pipefail

rounds=${BENCH_ROUNDS:-4}
irqpath=$RELEASE/irqpath
repeats=2 # of each load; the fastest counts
samples=$WORK/samples # load tracer turn wall_s cpu_s; turn N is between untraced N and N + 1
facts=$WORK/facts        # tracer events lost own_cpu_s, for all loads together
counted=$WORK/runs       # tracer load runs ns: of its BPF programs in one run of the load
refusals=$WORK/refusals
tracers=(irqpath irqpath-no-user irqpath-record kwork perf perf-no-user
  trace-cmd trace-cmd-no-user bpftrace bpftrace-no-user agent rezolus-like ebpf-exporter-like)
if command -v rezolus >/dev/null; then tracers+=(rezolus rezolus-no-user); fi
ticks_per_s=$(getconf CLK_TCK)
TIMEFORMAT='%R %U %S'
# Jobs in groups of their own, in which SIGINT is not ignored: it is how a tracer is ended.
set -m

# shellcheck source=bench/programs.sh
. bench/programs.sh

# The events for TRACER, one per line. The kernel never gives irq_work_exit to perf events, which
# bpftrace uses too: its handling would raise the next one.
events_for() {
  local without='irq_work_exit$'
  if [[ $1 == *-no-user ]]; then without+='|^raw_syscalls:'; fi
  grep -vE "$without" "$WORK/events"
}

bpftrace_script() {
  local event
  cat bench/peer.bt
  events_for "$1" | while read -r event; do
    grep -q "^tracepoint:$event " bench/peer.bt || echo "tracepoint:$event { @${event#*:} = count(); }"
  done
}

# All of its samplers, as is its default; without those of system calls for -no-user.
rezolus_settings() {
  printf '[general]\nlisten = "127.0.0.1:4241"\n[log]\nlevel = "error"\n[defaults]\nenabled = true\n'
  if [[ $1 == *-no-user ]]; then
    printf '[samplers.%s]\nenabled = false\n' syscall_counts syscall_latency
  fi
}

# launch TRACER: becomes it; recordings go to $WORK/out.
launch() {
  local tracer=$1 flags=()
  mapfile -t flags < <(events_for "$tracer" | sed 's/^/-e\n/')
  case $tracer in
    irqpath) exec "$irqpath" trace once -d 10m --json "$WORK/out/json" ;;
    irqpath-no-user) exec "$irqpath" trace once -d 10m --no-user --json "$WORK/out/json" ;;
    irqpath-record) exec "$irqpath" trace once -d 10m -o "$WORK/out/dir" --json "$WORK/out/json" ;;
    kwork) exec perf kwork -k irq,softirq,workqueue record -o "$WORK/out/data" ;;
    perf*) exec perf record -a "${flags[@]}" -o "$WORK/out/data" ;;
    trace-cmd*) exec trace-cmd record "${flags[@]}" -o "$WORK/out/data" ;;
    agent)
      printf 'listen = ["unix:%s"]\n' "$WORK/out/sock" >"$WORK/out/toml"
      exec setpriv --bounding-set=-all,+bpf,+perfmon "$irqpath" agent --config "$WORK/out/toml" ;;
    *-like) exec bpftrace "bench/$tracer.bt" ;;
    rezolus*) rezolus_settings "$tracer" >"$WORK/out/toml"; exec rezolus "$WORK/out/toml" ;;
    bpftrace*) bpftrace_script "$tracer" >"$WORK/out/script"; exec bpftrace "$WORK/out/script" ;;
  esac
}

# A tracer that has all its descriptors open for 0.6 s has attached; false if it ended instead.
wait_attached() {
  local now before='' same=0
  while ((same < 3)); do
    sleep 0.2
    kill -0 "$pid" 2>/dev/null || return 1
    now=$(find "/proc/$pid/fd" -mindepth 1 2>/dev/null | wc -l)
    if [[ $now == "$before" ]] && ((now > 5)); then same=$((same + 1)); else same=0; fi
    before=$now
  done
}

# Processor time of the tracer and its recorders so far, in ticks.
tracer_ticks() {
  local stat total=0 p
  for p in "$pid" $(pgrep -P "$pid" || true); do
    stat=$(cat "/proc/$p/stat" 2>/dev/null) || continue
    read -r -a stat <<<"${stat##*) }"
    total=$((total + stat[11] + stat[12]))
  done
  echo "$total"
}

# run LOAD: its wall and processor time, s.
run() {
  local command times
  case $1 in
    hackbench) command=(hackbench -p -g 1 -l 1500) ;;
    flood) command=("$RELEASE/examples/bench_load" 150000) ;;
  esac
  times=$({ time "${command[@]}" >/dev/null; } 2>&1)
  awk '{print $1, $2 + $3}' <<<"$times"
}

# sample TRACER: two lines of samples.
sample() {
  local load i
  for ((i = 0; i < repeats; i++)); do
    for load in hackbench flood; do echo "$load $(run "$load")"; done
  done | awk -v t="$1" -v r="$turn" '
    !($1 in wall) || $2 < wall[$1] { wall[$1] = $2 }
    !($1 in cpu) || $3 < cpu[$1] { cpu[$1] = $3 }
    END { for (load in wall) print load, t, r, wall[load], cpu[load] }' >>"$samples"
}

# count_runs TRACER: what stays on all the time has no count of its own to compare by. The kernel's
# statistics give it, in a run of each load that is not timed.
count_runs() {
  local load runs ns runs_before ns_before
  if [[ ! $1 =~ ^(agent|rezolus.*|.*-like)$ ]]; then return; fi
  statistics_on
  for load in hackbench flood; do
    read -r runs_before ns_before < <(runs_of "$pid")
    run "$load" >/dev/null
    read -r runs ns < <(runs_of "$pid")
    echo "$1 $load $((runs - runs_before)) $((ns - ns_before))" >>"$counted"
  done
  statistics_off
}

# sum_of FILE PATTERN: the sum of the numbers that the first group of PATTERN matches.
sum_of() { sed -nE "s/$2/\1/p" "$1" | awk '{n += $1} END {print n + 0}'; }

# What TRACER says of itself: events and lost ones.
account() {
  local tracer=$1 log=$WORK/out/log json=$WORK/out/json
  case $tracer in
    irqpath*)
      echo "$(sum_of "$json" ' *"nr_events": ([0-9]+),?') $(bench/lost.sh "$json")" ;;
    kwork | perf*)
      echo "$(sum_of "$log" '.*\(([0-9]+) samples\).*') $(sum_of "$log" '.*[Ll]ost ([0-9]+) .*')" ;;
    trace-cmd*)
      echo "$(sum_of "$log" '^ *entries: ([0-9]+).*') $(sum_of "$log" '^ *overrun: ([0-9]+).*')" ;;
    agent | rezolus | rezolus-no-user)
      echo '- -' ;;
    bpftrace* | *-like)
      echo "- $(sum_of "$log" '.*[Ll]ost ([0-9]+) .*')" ;;
  esac
}

refuse() {
  local why
  why=$(grep -vE '^ *$|RLIMIT_MEMLOCK' "$WORK/out/log" | head -n 2 | tr -s ' \n' ' ')
  echo "$1 ${why:-ended at once}" >>"$refusals"
}

measure() {
  local tracer=$1 before after
  rm -rf "$WORK/out"
  mkdir "$WORK/out"
  (launch "$tracer") >"$WORK/out/log" 2>&1 </dev/null &
  pid=$!
  if ! wait_attached; then
    wait "$pid" 2>/dev/null || true
    refuse "$tracer"
    return
  fi
  before=$(tracer_ticks)
  sample "$tracer"
  after=$(tracer_ticks)
  count_runs "$tracer"
  kill -INT "$pid"
  wait "$pid" 2>/dev/null || true # the shell would report how it ended
  pid=''
  turn=$((turn + 1))
  sample none
  awk -v t="$tracer" -v c=$(((after - before) * 1000 / ticks_per_s)) \
    '{print t, $1, $2, c / 1000}' <<<"$(account "$tracer")" >>"$facts"
}

stop() { if [[ -n ${pid:-} ]]; then kill -INT "$pid" 2>/dev/null || true; fi; }
trap stop EXIT

: >"$samples"
: >"$facts"
: >"$refusals"
: >"$counted"
turn=0
sample none # warms up
turn=1
sample none
for ((round = 1; round <= rounds; round++)); do
  for ((i = 0; i < ${#tracers[@]}; i++)); do
    tracer=${tracers[(i + round * 5) % ${#tracers[@]}]}
    if grep -q "^$tracer " "$refusals"; then continue; fi
    if [[ -t 2 ]]; then printf '\r\033[Kround %d of %d: %s' "$round" "$rounds" "$tracer" >&2; fi
    measure "$tracer"
  done
done
if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
awk -v events="$(wc -l <"$WORK/events")" -v repeats="$repeats" -v rounds="$rounds" \
  -v turns="$turn" -f bench/slowdown.awk "$samples" "$facts" "$counted" "$refusals"
