# SPDX-License-Identifier: GPL-2.0-or-later
# The tables of bench/slowdown.sh, which says what its files samples, facts, runs and refusals hold.
# A slowdown is that of one turn against the mean of the untraced runs before and after it; what
# is shown of all turns is the median, with the extremes beside it.
BEGIN {
  nr_tracers = split("none irqpath irqpath-no-user irqpath-record kwork perf perf-no-user " \
    "trace-cmd trace-cmd-no-user bpftrace bpftrace-no-user " \
    "agent rezolus rezolus-no-user rezolus-like ebpf-exporter-like", tracers, " ")
  split("hackbench flood", loads, " ")
  title["none"] = "untraced (slower: the noise)"
  title["irqpath"] = "irqpath trace once"
  title["irqpath-no-user"] = "irqpath trace once --no-user"
  title["irqpath-record"] = "irqpath trace once -o DIR"
  title["kwork"] = "perf kwork record (fewer events)"
  title["perf"] = "perf record"
  title["perf-no-user"] = "perf record without sys_exit"
  title["trace-cmd"] = "trace-cmd record"
  title["trace-cmd-no-user"] = "trace-cmd record without sys_exit"
  title["bpftrace"] = "bpftrace"
  title["bpftrace-no-user"] = "bpftrace without sys_exit"
  title["agent"] = "irqpath agent"
  title["rezolus"] = "Rezolus"
  title["rezolus-no-user"] = "Rezolus without system calls"
  title["rezolus-like"] = "bpftrace, probes like Rezolus'"
  title["ebpf-exporter-like"] = "bpftrace, like ebpf_exporter's"
}
FILENAME ~ /samples$/ { wall[$1, $2, $3] = $4; cpu[$1, $2, $3] = $5; next }
FILENAME ~ /facts$/ { add(seen, $1, $2); add(lost, $1, $3); add(own, $1, $4); next }
FILENAME ~ /runs$/ {
  add(runs, load_key($1, $2), $3)
  add(run_ns, load_key($1, $2), $3 ? $4 / $3 : 0)
  next
}
{ tracer = $1; sub(/^[^ ]+ /, ""); refused[tracer] = $0 }

function add(list, key, value) { list[key] = (key in list) ? list[key] " " value : value }

# Sorts the numbers of a text into v, returns how many.
function sorted(text, v,    n, i, j, x) {
  n = split(text, v, " ")
  for (i = 2; i <= n; i++) {
    x = v[i] + 0
    for (j = i - 1; j >= 1 && v[j] + 0 > x; j--) v[j + 1] = v[j]
    v[j + 1] = x
  }
  return n
}
function median(text,    v, n) {
  n = sorted(text, v)
  if (!n) return "-"
  return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}
function range(text, format,    v, n) {
  n = sorted(text, v)
  return n ? sprintf(format " " format " " format, v[1], median(text), v[n]) : "-"
}
# Per cent by which a turn is slower than its untraced neighbours.
function slower(what, load, tracer, turn,    before, base) {
  before = tracer == "none" ? turn - 1 : turn
  if (!((load, tracer, turn) in what) || !((load, "none", turn + 1) in what) || before < 1) return ""
  base = (what[load, "none", before] + what[load, "none", turn + 1]) / 2
  return (what[load, tracer, turn] / base - 1) * 100
}
function slowdowns(what, load, tracer,    turn, text, x) {
  for (turn = 1; turn <= turns; turn++) {
    x = slower(what, load, tracer, turn)
    if (x != "") text = text " " x
  }
  return text
}
function walls(load, tracer,    turn, text) {
  for (turn = 1; turn <= turns; turn++)
    if ((load, tracer, turn) in wall) text = text " " wall[load, tracer, turn]
  return text
}
function row(load, tracer,    w) {
  if (tracer in refused) {
    printf "%-34s refused: %s\n", title[tracer], refused[tracer]
    return
  }
  w = walls(load, tracer)
  if (w == "") return
  printf "%-34s %17s", title[tracer], range(w, "%.2f")
  printf " %19s %19s\n", range(slowdowns(wall, load, tracer), "%+.0f"), \
    range(slowdowns(cpu, load, tracer), "%+.0f")
}
# Our slowdown over the peer's, of the medians.
function ratio(what, load, ours, peer,    a, b) {
  a = median(slowdowns(what, load, ours))
  b = median(slowdowns(what, load, peer))
  if (a == "-" || b == "-") return "-"
  return b > 0 ? sprintf("%.2f", a / b) : "-"
}
# Nanoseconds of the load's processor time that tracing adds for each run of a tracer's program.
function per_run(load, tracer,    more, n, turn, text) {
  more = median(slowdowns(cpu, load, tracer))
  n = median(runs[load_key(tracer, load)])
  for (turn = 1; turn <= turns; turn++) text = text " " cpu[load, "none", turn]
  if (more == "-" || n == "-" || n == 0) return "-"
  return more / 100 * median(text) / n * 1e9
}
function load_key(tracer, load) { return tracer SUBSEP load }
function run_row(load, tracer,    key, each) {
  key = load_key(tracer, load)
  if (!(key in runs)) return
  each = per_run(load, tracer)
  printf "%-34s %-10s %10.0f %10.0f %14s\n", title[tracer], load, median(runs[key]), \
    median(run_ns[key]), each == "-" ? each : sprintf("%.0f", each)
}
# Our cost of a run over the peer's.
function run_ratio(load, ours, peer,    a, b) {
  a = per_run(load, ours)
  b = per_run(load, peer)
  return a == "-" || b == "-" || b <= 0 ? "-" : sprintf("%.2f", a / b)
}
function ratios(load, ours, peers,    n, p, i) {
  n = split(peers, p, " ")
  for (i = 1; i <= n; i++)
    if (!(p[i] in refused) && walls(load, p[i]) != "")
      printf "%-17s %-10s %-34s %6s %8s %8s\n", ours, load, title[p[i]], \
        ratio(wall, load, ours, p[i]), ratio(cpu, load, ours, p[i]), run_ratio(load, ours, p[i])
}
END {
  for (l = 1; l <= 2; l++) {
    printf "\nSLOWDOWN of %s, fixed work: %d rounds, fastest of %d in each, %d tracepoints (min median max)\n", \
      loads[l], rounds, repeats, events
    printf "%-34s %17s %19s %19s\n", "tracer", "wall s", "wall slower %", "its CPU more %"
    for (t = 1; t <= nr_tracers; t++) row(loads[l], tracers[t])
  }
  printf "\nTRACERS over all loads of a round, medians\n%-34s %10s %10s %14s\n", \
    "tracer", "events", "lost", "its own CPU s"
  for (t = 2; t <= nr_tracers; t++)
    if (tracers[t] in own)
      printf "%-34s %10s %10s %14.2f\n", title[tracers[t]], counted(seen[tracers[t]]), \
        lost[tracers[t]] ~ /-/ ? "-" : median(lost[tracers[t]]), median(own[tracers[t]])
  printf "\nALWAYS ON: runs of BPF programs in one run of a load, by BPF statistics, medians\n"
  printf "%-34s %-10s %10s %10s %14s\n", "tracer", "load", "runs", "ns each", "CPU ns per run"
  for (l = 1; l <= 2; l++)
    for (t = 1; t <= nr_tracers; t++) run_row(loads[l], tracers[t])
  printf "\nRATIO of irqpath's slowdown to a peer's (target: at most 0.50)\n%-17s %-10s %-34s %6s %8s %8s\n", \
    "irqpath", "load", "peer", "wall", "CPU", "per run"
  for (l = 1; l <= 2; l++) {
    ratios(loads[l], "irqpath", "perf trace-cmd bpftrace kwork")
    ratios(loads[l], "irqpath-no-user", "perf-no-user trace-cmd-no-user bpftrace-no-user kwork")
    ratios(loads[l], "agent", "rezolus rezolus-no-user rezolus-like ebpf-exporter-like bpftrace-no-user")
  }
}

# bpftrace does not say how many events it saw.
function counted(text) { return text ~ /-/ ? "-" : sprintf("%.0f", median(text)) }
