#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Traces this machine for ten seconds under a small load of its own and leaves the result in
# demo-result/. Where a live trace is not possible, replays a recording, and says so first. Then
# runs one experiment of the exact lab where QEMU is installed, says what tune and a shield would
# change, and compares the policies of the irqpath kernel, which is built the first time.
# IRQPATH_OWN_KERNEL=0 leaves that last part out.
# The last lines name every part that was left out, and why. Exit codes: 0 all parts that were asked
# for ran (a replay in place of a live trace counts, its first line says so), 1 a part could not run.
# Needs a build (`make demo` makes it), in IRQPATH_BUILT or where cargo puts a release. Touches
# nothing but demo-result/ and the lab's cache, ~/.cache/irqpath, into which the first run fetches a
# kernel of Debian and builds ours.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

duration=10
threshold_us=200 # paths that take longer are explained
result=demo-result
recording=tests/golden/demo.irqrec
programs=${IRQPATH_BUILT:-${CARGO_TARGET_DIR:-target}/release}
as_root=()
load=''
kernel='' # builds the irqpath kernel
kernel_log=''
left_out=() # lines for the end
code=0

# shellcheck disable=SC2317 # reached through the trap
cleanup() {
  local pid
  for pid in $load $kernel; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  rm -f "$kernel_log"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# leave_out PART WHY: a part that somebody asked to leave out, or that cannot be had here by design.
leave_out() { left_out+=("$1: $2"); }

# fail_part PART WHY: a part that README promises and that did not run.
fail_part() {
  echo "$1 is left out: $2." >&2
  leave_out "$1" "$2"
  code=1
}

# can LIST...: whether a process started with the prefix `as_root` has all these capabilities.
can() {
  local effective bit
  effective=$("${as_root[@]}" sed -n 's/^CapEff:\t//p' /proc/self/status)
  for bit; do
    if (((0x$effective >> bit & 1) == 0)); then return 1; fi
  done
}

# Sets why_not to the reason why this machine cannot be traced, or to nothing.
find_privilege() {
  local cap_sys_admin=21 cap_perfmon=38 cap_bpf=39
  why_not=''
  if [[ ! -r /sys/kernel/btf/vmlinux ]]; then
    why_not='this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)'
    return
  fi
  if [[ $EUID != 0 ]] && sudo -n true 2>/dev/null; then as_root=(sudo -n); fi
  if can "$cap_bpf" "$cap_perfmon" || can "$cap_sys_admin"; then return; fi
  why_not='no CAP_BPF and CAP_PERFMON here, and no sudo without a password'
}

# trace ARGUMENT...: exit code 1 means that a threshold was exceeded, which is a result.
trace() {
  local code=0
  "$@" -o "$result" --force --perfetto || code=$?
  if ((code > 1)); then return "$code"; fi
}

live() {
  echo "Tracing this machine for $duration s, under disk reads, loopback TCP and timers."
  "$programs/examples/demo_load" "$((duration + 5))" &
  load=$!
  trace "${as_root[@]}" "$programs/irqpath" trace once -d "${duration}s" -T "$threshold_us"
  if [[ ${#as_root[@]} != 0 ]]; then
    "${as_root[@]}" chown -R "$(id -u):$(id -g)" "$result"
  fi
}

replay() {
  echo "This is a replay of a recording made on another machine: $why_not."
  leave_out 'The live trace' "$why_not; a recording was replayed"
  trace "$programs/irqpath" trace once --replay "$recording" -T "$threshold_us"
}

# Begins the longest part, which the next ones run beside: the first time the kernel is built.
start_kernel() {
  echo
  scripts/setup.sh --with lab || true # it said what is missing, and the end must be reached
  if [[ ${IRQPATH_OWN_KERNEL:-1} == 0 ]] || ! command -v qemu-system-x86_64 >/dev/null; then return; fi
  echo 'The irqpath kernel is built meanwhile, the first time; IRQPATH_OWN_KERNEL=0 leaves it out.'
  kernel_log=$(mktemp)
  "$programs/irqpath" lab build --flavour irqpath >"$kernel_log" 2>&1 &
  kernel=$!
}

# One experiment of the exact lab.
exact() {
  echo
  if ! command -v qemu-system-x86_64 >/dev/null; then
    fail_part 'The exact lab' 'QEMU is not installed and could not be'
    return
  fi
  echo 'In a guest in which one instruction is one nanosecond, a device wakes a real-time task:'
  "$programs/irqpath" lab flame ihm-timer --set REPS=50 -o "$result/lab" ||
    fail_part 'The exact lab' "irqpath lab flame ihm-timer ended with $?, and said why above"
}

# Which interrupts serve real-time tasks here, and what tune would change. Nothing is changed.
tune() {
  echo
  echo 'Which interrupts wake real-time tasks here, and what irqpath tune would change (a dry run):'
  if [[ -n $why_not ]]; then
    "$programs/irqpath" tune --replay "$recording"
    return
  fi
  # A real-time task of its own, 200 times a second, so that there is one.
  "${as_root[@]}" "$programs/irqpath" respond -f 200 -d 6s >/dev/null 2>&1 &
  load=$!
  "${as_root[@]}" "$programs/irqpath" tune --learn 4s --dry-run ||
    fail_part 'Tuning' "irqpath tune ended with $?, and said why above"
  wait "$load" 2>/dev/null || true
  load=''
}

# What a shield of the last CPU would change here. Nothing is changed.
shield() {
  echo
  echo "What irqpath shield would change to keep CPU $(($(nproc --all) - 1)) free (a dry run):"
  "$programs/irqpath" shield set --cpus "$(($(nproc --all) - 1))" --dry-run ||
    fail_part 'The shield' "irqpath shield set ended with $?, and said why above"
}

# What the policies of the irqpath kernel make of the same interrupt.
policies() {
  if [[ ${IRQPATH_OWN_KERNEL:-1} == 0 ]]; then
    leave_out 'The policies' 'IRQPATH_OWN_KERNEL=0'
    return
  fi
  if ! command -v qemu-system-x86_64 >/dev/null; then
    fail_part 'The policies' 'QEMU is not installed and could not be'
    return
  fi
  echo
  echo 'The same on the irqpath kernel: as it is, tuned, with the policy migrate, with migrate and direct (both), and direct'
  echo 'alone, for a device and for a timer. The table below has them beside each other.'
  local built=0
  wait "$kernel" || built=$?
  kernel=''
  if [[ $built != 0 ]]; then
    cat "$kernel_log" >&2
    fail_part 'The policies' "irqpath lab build --flavour irqpath ended with $built, and said why above"
    return
  fi
  "$programs/irqpath" lab flame ihm-migrate --set REPS=50 -o "$result/policies" ||
    fail_part 'The policies' "irqpath lab flame ihm-migrate ended with $?, and said why above"
}

find_privilege
if [[ -z $why_not ]]; then live; else replay; fi
echo "The first report is there: $result/report.html"
start_kernel
exact
tune
shield
policies

lab_line=''
if [[ -d $result/lab ]]; then
  lab_line=$'\n  lab/           ihm-timer.html: flame graphs of the median and the worst path in the exact guest'
fi
if [[ -d $result/policies ]]; then
  lab_line+=$'\n  policies/      ihm-migrate.html: the same with the policies of the irqpath kernel, side by side'
fi
cat <<EOF

In $result/:
  report.html    open it in a browser; it needs no network
  trace.pftrace  open it at https://ui.perfetto.dev (it stays in your browser)$lab_line
  summary.json, paths.parquet, meta.json  the numbers, described by: irqpath schema
Next: ${as_root[*]:+${as_root[*]} }$programs/irqpath trace      watch it live, q to quit
      $programs/irqpath check      what on this host makes interrupts late
EOF

if [[ ${#left_out[@]} != 0 ]]; then
  printf '\nLeft out:\n'
  printf '  %s\n' "${left_out[@]}"
fi
exit "$code"
