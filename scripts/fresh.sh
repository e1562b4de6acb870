#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tries irqpath on a fresh Debian or Ubuntu: makes a minimal root of SUITE, puts a clone of this
# checkout's HEAD into it, runs `make demo` and `make test` there, and removes the root.
#
#   scripts/fresh.sh [--quick] SUITE      bookworm, trixie, sid, noble (Ubuntu 24.04)
#
# --quick is what `make test` runs for a suite that this machine is not: unit tests, guest programs byte
# for byte, the oldest kernels with what its clang made, and the demo without the irqpath kernel;
# compiled without optimisation, and with this machine's lab cache.
#
# scripts/root.sh makes the root and says which mirror it uses. The demo traces this machine. Rust and
# the crates come from here, because Debian's Rust is too old. Needs root and debootstrap.
# IRQPATH_REBUILD_KERNEL goes on to the tests.
# Exit codes: 0 all ran, 1 something failed there, 2 the root cannot be made.
set -euo pipefail
script=$(realpath "${BASH_SOURCE[0]}")
cd "$(dirname "$script")/.."

all=("$@")
quick=0
if [[ ${1:-} == --quick ]]; then
  quick=1
  shift
fi
suite=${1:-}
if [[ $# != 1 || ! $suite =~ ^[a-z]+$ ]]; then
  echo 'usage: scripts/fresh.sh [--quick] SUITE' >&2
  exit 2
fi

# As tests say it.
skip() { echo "skipped: a fresh $suite: $*"; exit 2; }

label=fresh
# shellcheck source=scripts/root.sh
. scripts/root.sh
require_root_tools
in_namespace "${all[@]}"

mount_parts() {
  mkdir -p "$root/opt/rust" "$root/opt/cargo/registry" "$root/opt/lab"
  mount --bind -o ro "$(rustc --print sysroot)" "$root/opt/rust"
  mount --bind "${CARGO_HOME:-$HOME/.cargo}/registry" "$root/opt/cargo/registry"
  if [[ $quick == 1 ]]; then
    mkdir -p "${IRQPATH_CACHE:-$HOME/.cache/irqpath}"
    mount --bind "${IRQPATH_CACHE:-$HOME/.cache/irqpath}" "$root/opt/lab"
  fi
  git clone -q --no-local . "$root/opt/irqpath"
}

# inside COMMAND...: in the root, in the checkout, with nothing of this environment.
# shellcheck disable=SC2317 # reached through step
inside() {
  local settings=(PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    CARGO_HOME=/opt/cargo CARGO_NET_OFFLINE=true CARGO_INCREMENTAL=0)
  if [[ $quick == 1 ]]; then
    settings+=(IRQPATH_CACHE=/opt/lab IRQPATH_OWN_KERNEL=0 CARGO_PROFILE_RELEASE_OPT_LEVEL=0
      CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16)
  fi
  if [[ -n ${IRQPATH_REBUILD_KERNEL:-} ]]; then settings+=(IRQPATH_REBUILD_KERNEL="$IRQPATH_REBUILD_KERNEL"); fi
  in_root /opt/irqpath "${settings[@]}" "$@"
}

# shellcheck disable=SC2317 # reached through step
made_pictures() {
  local page
  for page in report.html lab/ihm-timer.html; do
    [[ -s $root/opt/irqpath/demo-result/$page ]] || { echo "the demo made no $page" >&2; return 1; }
  done
}

make_root ca-certificates,git,make
mount_parts
step 'make demo' inside make demo
step 'report and flame graph' made_pictures
if [[ $quick == 1 ]]; then
  step 'unit tests' inside cargo test --locked -q --release -p irqpath-model -p irqpath-analysis -p irqpath-system --lib
  step 'guest programs byte for byte, and the oldest kernels' inside cargo test --locked -q --release -p irqpath-testing --test guests -- reproducible the_oldest
else
  step 'make test' inside make test
fi
exit "$failed"
