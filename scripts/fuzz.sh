#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the fuzzer (fuzz/) with coverage and runs its targets, IRQPATH_FUZZ_JOBS at a time (one on each
# CPU unless set), each for IRQPATH_FUZZ_SECONDS (3600 unless set). What makes a target fail is kept in target/fuzz/found;
# once mended, it belongs into fuzz/corpus/TARGET. Works with any Rust from 1.88 and a C++ compiler.
# A target's output is shown when it ends, so that those of two never mix; the last line names
# every target that failed.
# Exit codes: 0 nothing found, 1 something was, 2 the fuzzer cannot be built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage='usage: scripts/fuzz.sh [TARGET...]'
if [[ ${1:-} == -* ]]; then echo "$usage" >&2; exit 2; fi
seconds=${IRQPATH_FUZZ_SECONDS:-3600}
if ! [[ $seconds =~ ^[1-9][0-9]*$ ]]; then
  echo "fuzz: IRQPATH_FUZZ_SECONDS is '$seconds'; give a number of seconds above 0" >&2
  exit 2
fi
targets=("$@")
if [[ $# == 0 ]]; then mapfile -t targets < <(ls fuzz/corpus); fi

# What `cargo fuzz --sanitizer none` passes. No sanitizer: what is fuzzed is safe Rust.
coverage=(-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
  -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1)
host=$(rustc -vV | sed -n 's/^host: //p')
built=${CARGO_TARGET_DIR:-target}/fuzz
# With --target, build scripts and macros are built without coverage.
RUSTFLAGS="${coverage[*]}" cargo build --locked --quiet --profile fuzz --target "$host" \
  --target-dir "$built" -p irqpath-fuzz --features libfuzzer || exit 2
fuzzer=$built/$host/fuzz/fuzz

found=$built/found
mkdir -p "$found" "$built/corpus"
# Inputs come by the thousand, and a target that fails leaves its files.
scratch=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# one TARGET: runs it and leaves a report, which has more than a line only if something was found.
one() {
  local target=$1 log=$scratch/$1.log code=0
  mkdir -p "$built/corpus/$target" "$scratch/$target"
  IRQPATH_FUZZ_TARGET=$target TMPDIR=$scratch/$target "$fuzzer" \
    "$built/corpus/$target" "fuzz/corpus/$target" -max_total_time="$seconds" \
    -timeout=30 -rss_limit_mb=256 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$found/$target-" >"$log" 2>&1 || code=$?
  if [[ $code == 0 ]]; then
    printf 'fuzz: %s: %s inputs, nothing found\n' "$target" \
      "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
  else
    printf 'fuzz: %s: FAILED; the input is in %s; its last lines:\n' "$target" "$found"
    grep -vE '^#[0-9]' "$log" | tail -n 40 | sed "s/^/  $target: /"
  fi >"$scratch/$target.report"
  return "$code"
}

declare -A running=() # process: target
failed=()

# Waits for one target and shows its report.
reap() {
  local child code=0
  wait -n -p child "${!running[@]}" || code=$?
  cat "$scratch/${running[$child]}.report"
  if [[ $code != 0 ]]; then failed+=("${running[$child]}"); fi
  unset "running[$child]"
}

for target in "${targets[@]}"; do
  if ((${#running[@]} >= ${IRQPATH_FUZZ_JOBS:-$(nproc)})); then reap; fi
  one "$target" &
  running[$!]=$target
done
while ((${#running[@]} > 0)); do reap; done
if [[ ${#failed[@]} != 0 ]]; then
  echo "fuzz: FAILED: ${failed[*]}"
  exit 1
fi
