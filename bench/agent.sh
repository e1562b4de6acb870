#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What `irqpath agent` costs while it runs: the share of one CPU of the process and of its programs,
# losses and memory, at two held rates of events. It has its default settings and the capabilities
# of its unit, and is scraped every 15 s. Called by scripts/bench.sh, which sets RELEASE and WORK.
# BENCH_AGENT_S=N is the seconds of each window (60). Rules: the window begins ten seconds after the
# agent is ready, so that loading is no part of it, and BPF statistics are on after it only. An empty
# program is measured beside the same flood, as the time of a clock reading may depend on the rate.
set -euo pipefail

irqpath=$RELEASE/irqpath
window_s=${BENCH_AGENT_S:-60}
rates=(50000 500000) # events/s that are wanted
scrape_every_s=15
sample_s=2   # of the programs, by BPF statistics, after each window
socket=$WORK/agent.sock
native='application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited'
agent=''
datagrams=0
load=''
# Where the agent's programs run most.
probes=tracepoint:irq:softirq_raise,tracepoint:irq:softirq_entry,tracepoint:irq:softirq_exit
probes+=,tracepoint:sched:sched_switch,tracepoint:sched:sched_waking,tracepoint:napi:napi_poll
scraper=''
set -m

# shellcheck source=bench/programs.sh
. bench/programs.sh

die() { echo "bench: $*" >&2; exit 2; }
command -v curl >/dev/null || die 'curl is missing, which asks the agent; install it'
[[ $window_s =~ ^[1-9][0-9]*$ ]] || die "BENCH_AGENT_S is '$window_s'; give seconds above 0"

ask() { curl -sf --max-time 10 --unix-socket "$socket" "$@"; }

start_agent() {
  local deadline=$((SECONDS + 60))
  printf 'listen = ["unix:%s"]\n' "$socket" >"$WORK/agent.toml"
  setpriv --bounding-set=-all,+bpf,+perfmon "$irqpath" agent --config "$WORK/agent.toml" \
    >/dev/null 2>"$WORK/log" </dev/null &
  agent=$!
  until ask http://agent/-/healthy >/dev/null 2>&1; do
    if ! kill -0 "$agent" 2>/dev/null || ((SECONDS >= deadline)); then
      die "the agent is not ready: $(cat "$WORK/log")"
    fi
    sleep 0.1
  done
}

# As Prometheus asks for native histograms.
start_scraper() {
  while sleep "$scrape_every_s"; do
    ask -H "Accept: $native" http://agent/metrics >/dev/null || true
  done &
  scraper=$!
}

# hold DATAGRAMS: a flood of so many in a second until calm.
hold() {
  "$RELEASE/examples/bench_load" $(($1 * (window_s + 60))) "$1" &
  load=$!
}

end_group() {
  disown "$1" # the shell would report its end
  kill -TERM -- "-$1" 2>/dev/null || true
}

calm() {
  if [[ -n $load ]]; then end_group "$load"; fi
  load=''
}

# events FILE: how many the programs had seen when these metrics were read.
events() { sed -nE 's/^irqpath_observer_events_total[^ ]* ([0-9]+)(\.0+)?$/\1/p' "$1"; }

# The numbers as text, read anew: the agent reads them from the kernel once a second at most.
read_numbers() {
  sleep 1.1
  ask http://agent/metrics >"$1"
}

# find_rate EVENTS: sets `datagrams`, of which a flood makes so many events, by a short try. No
# subshell: a flood that is started in one is not in a group of its own.
find_rate() {
  local begin before
  datagrams=10000
  hold "$datagrams"
  read_numbers "$WORK/numbers"
  begin=$(date +%s%N)
  before=$(events "$WORK/numbers")
  sleep 2
  read_numbers "$WORK/numbers"
  calm
  datagrams=$(awk -v d="$datagrams" -v n=$(($(events "$WORK/numbers") - before)) \
    -v ns=$(($(date +%s%N) - begin)) -v wanted="$1" \
    'BEGIN { printf "%d\n", wanted / (n / ns * 1e9) * d }')
}

# Processor time of the agent so far, in ticks.
ticks() {
  local stat
  stat=$(cat "/proc/$agent/stat")
  read -r -a stat <<<"${stat##*) }"
  echo $((stat[11] + stat[12]))
}

# Bytes of the agent's tables, each once.
map_bytes() {
  { cat "/proc/$agent/fdinfo/"* 2>/dev/null || true; } |
    awk '$1 == "memlock:" { bytes = $2 }
      $1 == "map_id:" && !seen[$2]++ { sum += bytes }
      END { printf "%.0f\n", sum }'
}

resident_kib() { sed -nE 's/^VmRSS:[[:space:]]*([0-9]+) kB$/\1/p' "/proc/$agent/status"; }

# lost BEFORE AFTER: what was lost between two readings, and the reasons.
lost() {
  awk '/^irqpath_losses_total\{.*kind="lost"/ {
      split($0, part, "\"")
      if (NR == FNR) { before[part[2]] = $NF; next }
      n = $NF - before[part[2]]
      if (n > 0) { sum += n; reasons = reasons (reasons == "" ? "" : ", ") part[2] " " n }
    }
    END { printf "%.0f %s\n", sum, reasons }' "$1" "$2"
}

# mean_run: nanoseconds of a run of the agent's programs at this load, less an empty program's.
mean_run() {
  local runs ns runs_after ns_after
  statistics_on
  read -r runs ns < <(runs_of "$agent")
  sleep "$sample_s"
  read -r runs_after ns_after < <(runs_of "$agent")
  statistics_off
  awk -v n=$((runs_after - runs)) -v ns=$((ns_after - ns)) -v empty="$(empty_ns)" \
    'BEGIN { each = n ? ns / n - empty : 0; printf "%.1f\n", (each > 0 ? each : 0) }'
}

# at_rate WANTED DATAGRAMS: one window.
at_rate() {
  local wanted=$1 datagrams=$2 begin cpu ns seen seen_ns missing why
  hold "$datagrams"
  sleep 1
  read_numbers "$WORK/before"
  begin=$(date +%s%N)
  cpu=$(ticks)
  start_scraper
  sleep "$window_s"
  cpu=$(($(ticks) - cpu))
  ns=$(($(date +%s%N) - begin))
  end_group "$scraper"
  scraper=''
  read_numbers "$WORK/after"
  seen_ns=$(($(date +%s%N) - begin))
  seen=$(($(events "$WORK/after") - $(events "$WORK/before")))
  read -r missing why < <(lost "$WORK/before" "$WORK/after")
  # The second reading is a moment after the window's end: its events are divided by that time.
  awk -v wanted="$wanted" -v datagrams="$datagrams" -v n="$seen" -v seen_ns="$seen_ns" \
    -v ns="$ns" -v each="$(mean_run)" -v empty="$(empty_ns)" -v ticks="$cpu" -v per_s="$(getconf CLK_TCK)" \
    -v rss="$(resident_kib)" -v maps="$(map_bytes)" -v lost="$missing" -v why="$why" 'BEGIN {
      rate = n / seen_ns * 1e9
      rss /= 1024
      maps /= 1048576
      printf "%-16d %12d %10d %10d %9.0f %9.0f %11.2f %10.2f %8.1f %9.1f %8.1f  %s\n", wanted, datagrams,
        rate, lost, each, empty, rate * each / 1e7, 100 * ticks / per_s / (ns / 1e9), rss, maps, rss + maps, why }'
  calm
}

stop() {
  local id
  for id in $scraper $load; do end_group "$id"; done
  for id in $agent $empty_id; do kill -INT "$id" 2>/dev/null || true; done
}
trap stop EXIT

# end_agent: as its unit ends it.
end_agent() {
  kill -TERM "$agent"
  wait "$agent" || { echo "bench: the agent failed: $(cat "$WORK/log")" >&2; exit 2; }
  agent=''
}

declare -A datagrams_of
start_agent
for rate in "${rates[@]}"; do
  find_rate "$rate"
  datagrams_of[$rate]=$datagrams
done
end_agent
printf '\nAGENT with default settings, scraped every %d s, %d s each (targets: %s, %s)\n' \
  "$scrape_every_s" "$window_s" 'at most 1 % of one CPU at 50000 events/s' \
  'none lost at 500000, 64 MiB'
printf '%-16s %12s %10s %10s %9s %9s %11s %10s %8s %9s %8s  %s\n' 'events/s wanted' datagrams/s events/s \
  lost 'ns each' 'empty ns' 'programs %' 'process %' 'RSS MiB' 'maps MiB' 'sum MiB' 'lost by reason'
for rate in "${rates[@]}"; do
  hold "${datagrams_of[$rate]}"
  sleep 1
  empty_program "$probes" sleep 3
  calm
  start_agent
  sleep 10
  at_rate "$rate" "${datagrams_of[$rate]}"
  end_agent
done
