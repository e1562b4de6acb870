#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs every check and every test, does not stop at the first that fails, and sums up at the end:
# each part with its time, each crate with its tests, each failure, and what was skipped.
# With --fast only the checks, the unit tests and the command's golden outputs: what needs no guest and
# traces nothing takes less than a minute once it is compiled.
# A test that this machine cannot run prints `skipped: why`: nothing is skipped silently.
# IRQPATH_OWN_KERNEL=0 leaves out what needs the irqpath kernel, which the first run builds in about ten
# minutes on two cores. IRQPATH_FUZZ_SECONDS is how long each fuzz target runs, 10 unless set, and
# IRQPATH_FRESH=1 adds a root of the Debian that this machine is not: CI asks for both. Where a limit
# ends the whole run, IRQPATH_FRESH_BEFORE=SECONDS leaves that root out if it would begin later.
# Exit codes: 0 all passed, 1 something failed, 2 cannot build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

log=$(mktemp)
fuzz_log=$(mktemp)
release_log=$(mktemp)
gate_log=$(mktemp)
fuzz='' built='' gate='' # the process groups of what runs beside the rest, while it runs
trap 'rm -f "$log" "$fuzz_log" "$release_log" "$gate_log"; kill_group "$fuzz"; kill_group "$built"; kill_group "$gate"' EXIT
summary=()
failed=0
cores=$(nproc)

# shellcheck disable=SC2317 # reached through the trap
kill_group() { if [[ -n $1 ]]; then kill -- "-$1"; fi; }

# step NAME COMMAND...
step() {
  local name=$1 started=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  if "$@"; then
    summary+=("ok       $name ($((SECONDS - started)) s)")
  else
    summary+=("FAILED   $name ($((SECONDS - started)) s)")
    failed=1
  fi
}

# step_with TOOL NAME COMMAND...: the same, where the tool exists.
step_with() {
  if "$1" --version >/dev/null 2>&1; then
    step "${@:2}"
  else
    summary+=("skipped: $2: $1 is not installed")
  fi
}

# step_ours NAME COMMAND...: the same, with QEMU and the irqpath kernel.
step_ours() {
  if [[ ${IRQPATH_OWN_KERNEL:-1} == 0 ]]; then
    summary+=("skipped: $1: IRQPATH_OWN_KERNEL=0")
  else
    step_with qemu-system-x86_64 "$@"
  fi
}

# Shows which tests ran and how they ended; everything, if one of them failed.
# shellcheck disable=SC2317 # reached through step
rust_tests() {
  local shown='^(running| +Running|test result|skipped:|test .*FAILED)' code=0
  # Cargo names each suite on its standard error, and the summary wants names and results in order.
  cargo test --locked --workspace --no-fail-fast "$@" -- --show-output 2>&1 |
    tee -a "$log" | grep -E --line-buffered "$shown" || code=$?
  if [[ $code != 0 ]]; then sed -n '/^error/,/^$/p; /^failures:$/,/^test result/p' "$log"; fi
  return "$code"
}

# Without a compiler for arm64, the tests of its guests are skipped and say so.
# shellcheck disable=SC2317 # reached through step_with
arm64() {
  local code=0
  scripts/arm64.sh || code=$?
  [[ $code != 1 ]]
}

# What the policies must hold, shorter than in the documents' tables.
# shellcheck disable=SC2317 # reached through step_ours
policies() {
  local results code=0
  results=$(mktemp -d)
  cargo run --locked -q -p irqpath -- lab run ihm-net --variant 'irqpath x86-64' --draws 1 --set REPS=100 -o "$results" || code=$?
  cargo run --locked -q -p irqpath -- lab run netprio-exec --set REPS=2 -o "$results" || code=$?
  cargo run --locked -q -p irqpath -- lab run torture-policies --variant irqpath --set DURATION_S=30 -o "$results" || code=$?
  rm -r "$results"
  return "$code"
}

# A root of the suite that this machine is not. Code 2: it cannot be made here, and said why.
# shellcheck disable=SC2317 # reached through step
fresh_root() {
  local suite=bookworm code=0
  if grep -qs '^VERSION_CODENAME=bookworm' /etc/os-release; then suite=trixie; fi
  scripts/fresh.sh --quick "$suite" | tee -a "$log" || code=$?
  return $((code == 2 ? 0 : code))
}

# shellcheck disable=SC2317 # reached through step
manifests() { scripts/manifests.sh | tee -a "$log"; }

# The fuzzer finds the same whatever runs beside it. It takes what the tests leave: those of the
# command and the agent sleep for half of their time.
fuzz_seconds=${IRQPATH_FUZZ_SECONDS:-10}
start_fuzz() {
  if ! c++ --version >/dev/null 2>&1; then return; fi
  IRQPATH_FUZZ_SECONDS=$fuzz_seconds IRQPATH_FUZZ_JOBS=1 setsid nice -n 19 scripts/fuzz.sh >"$fuzz_log" 2>&1 &
  fuzz=$!
}

# Linking it as one unit keeps one CPU busy for minutes: the lints and the kernel have the other one.
start_release() {
  setsid cargo build --locked -q --release -p irqpath >"$release_log" 2>&1 &
  built=$!
}

# A guest of the gate takes one CPU and counts its own instructions: another one may run beside it.
start_gate() {
  if ! qemu-system-x86_64 --version >/dev/null 2>&1; then return; fi
  setsid cargo run --locked -q -p irqpath -- lab gate ihm-timer intspect-baseline >"$gate_log" 2>&1 &
  gate=$!
}

# end_beside PROCESS LOG: waits for what runs beside the rest, and shows what it said.
# shellcheck disable=SC2317 # reached through step
end_beside() {
  local -n process=$1
  local code=0
  wait "$process" || code=$?
  process=''
  cat "$2"
  return "$code"
}

# need_room DIR GIB [taken]: ends here if the disk of DIR cannot take so much; with `taken`, what DIR has
# already counts. A full disk later is many failures of which none has that reason.
need_room() {
  local free taken=0
  mkdir -p "$1"
  free=$(df --block-size=1G --output=avail "$1" | tail -n 1)
  if [[ ${3:-} == taken ]]; then
    # A file may vanish meanwhile.
    taken=$({ du -D --summarize --block-size=1G "$1" 2>/dev/null || true; } | cut -f 1)
  fi
  if ((free + taken >= $2)); then return; fi
  echo "test: $1 can have $((free + taken)) GiB on its disk and needs $2; make room there" >&2
  exit 2
}

# What reads the sources alone.
lint() {
  step_with cargo-fmt 'cargo fmt' cargo fmt --all --check
  step_with cargo-clippy 'cargo clippy' cargo clippy --locked --workspace --all-targets -- -D warnings
  step_with shellcheck 'shellcheck' shellcheck scripts/*.sh .ci/run
  # Jobs of guests are for busybox, whose dialect is nearest to dash's. Warnings only: notes on words
  # without quotes are often meant (FLAGS).
  step_with shellcheck 'shellcheck of jobs' shellcheck -s dash -S warning experiments/jobs/*.sh crates/*/tests/*/*.sh
  step_with shellcheck 'shellcheck of selftests' shellcheck -s dash -S warning kernel/overlay/tools/testing/selftests/*/*.sh
  step 'cargo xtask check' cargo xtask check
  step 'the manifests for Kubernetes' manifests
  step 'the pages, laid out for the site' cargo xtask book
}

summarize() {
  printf '\n== summary\n'
  printf '%s\n' "${summary[@]}"
  awk -f scripts/summary.awk "$log"
  printf '%s in %d min %d s on %d CPUs\n' "$([[ $failed == 0 ]] && echo passed || echo FAILED)" \
    $((SECONDS / 60)) $((SECONDS % 60)) "$cores"
}

if [[ ${1:-} == --fast ]]; then
  lint
  # Those that trace for seconds, start a browser or feed a reader for long are left to `make test`.
  slow='attack|live|peers|hostile|.*_chromium|cli_(agent|bench|confined|hostile|output)'
  mapfile -t chosen < <(basename -s .rs crates/*/tests/*.rs | grep -vxE "$slow" | sed 's/^/--test=/')
  step 'unit tests and golden outputs' rust_tests --exclude irqpath-testing --lib --bins "${chosen[@]}"
  # Cargo takes them in a call of their own only.
  step 'examples in the documentation' rust_tests --doc
  summarize
  exit "$failed"
fi

need_room "${CARGO_TARGET_DIR:-target}" 11 taken
if [[ ${IRQPATH_FRESH:-0} == 1 ]]; then need_room "${TMPDIR:-/var/tmp}" 5; fi
scripts/setup.sh --with test --with lab
# What guests run and the tests of memory measure; the tests bring it up to date themselves.
release=$(realpath -m "${CARGO_TARGET_DIR:-target}/release/irqpath")
start_release
lint
# Advisories come from a database that is fetched; `cargo deny check` on a machine with network asks it.
step_with cargo-deny 'cargo deny' cargo deny --offline --locked check licenses bans sources
# Before the tests, which want it, too, and would build it beside guests whose time counts.
step_ours 'the irqpath kernel' cargo run --locked -q -p irqpath -- lab build --flavour irqpath
step_ours 'the patch series' cargo xtask kernel check --quick
step 'the release binary, beside the lints and the kernel' end_beside built "$release_log"
summary+=("size     the release binary: $(stat -c %s "$release") bytes, at most 15000000 wanted")
step_with qemu-system-aarch64 'irqpath for arm64 guests' arm64
start_fuzz
step 'cargo test' rust_tests
start_gate
step_ours 'irqpath lab gate of the policies' cargo run --locked -q -p irqpath -- lab gate ihm-migrate
step_ours 'policies' policies
step_with qemu-system-x86_64 'irqpath lab gate, beside the policies' end_beside gate "$gate_log"
# Last: it finds in the lab's cache what the others made.
if [[ ${IRQPATH_FRESH:-0} == 1 && $SECONDS -ge ${IRQPATH_FRESH_BEFORE:-86400} ]]; then
  summary+=("skipped: a fresh root of another Debian: it would begin after $SECONDS s, and must before $IRQPATH_FRESH_BEFORE s")
elif [[ ${IRQPATH_FRESH:-0} == 1 ]]; then
  step 'a fresh root of another Debian' fresh_root
else
  echo 'skipped: a fresh root of another Debian: set IRQPATH_FRESH=1' >>"$log"
fi
step_with c++ "fuzz targets, $fuzz_seconds s each, beside the tests" end_beside fuzz "$fuzz_log"

summarize
exit "$failed"
