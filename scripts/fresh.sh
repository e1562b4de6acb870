#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tries irqpath on a fresh Debian or Ubuntu: makes a minimal root of SUITE, puts a clone of this
# checkout's HEAD into it, runs `make demo` and `make test` there, and removes the root.
#
#   scripts/fresh.sh [--quick] SUITE      bookworm, trixie, sid, noble (Ubuntu 24.04)
#
# --quick is what `make test` runs for a suite that this machine is not: guest programs byte for byte,
# the oldest kernels with what its clang made, and the demo without the irqpath kernel; compiled
# without optimisation, and with this machine's lab cache. Crates of others that this checkout
# has compiled are taken from there, except the one with libbpf in it.
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

# What cargo compiled keeps its name only where a crate's source has the same path.
registry=$(realpath "${CARGO_HOME:-$HOME/.cargo}")/registry

mount_parts() {
  mkdir -p "$root/opt/rust" "$root$registry" "$root/opt/lab"
  mount --bind -o ro "$(rustc --print sysroot)" "$root/opt/rust"
  mount --bind "$registry" "$root$registry"
  git clone -q --no-local . "$root/opt/irqpath"
  if [[ $quick == 1 ]]; then
    mkdir -p "${IRQPATH_CACHE:-$HOME/.cache/irqpath}"
    mount --bind "${IRQPATH_CACHE:-$HOME/.cache/irqpath}" "$root/opt/lab"
    share_compiled || echo "$label $suite: compiles every crate"
  fi
}

# Puts what this checkout has compiled below what the root compiles, which changes nothing here.
# Programs that cargo runs want the C library that they were linked with, or a newer one.
share_compiled() {
  local compiled=${CARGO_TARGET_DIR:-target}/debug above=${root%/*}/above ours theirs
  ours=$(getconf GNU_LIBC_VERSION)
  theirs=$(in_root / getconf GNU_LIBC_VERSION)
  if [[ ! -e $compiled/.cargo-lock || $(printf '%s\n' "$ours" "$theirs" | sort -V | head -n 1) != "$ours" ]]; then return 1; fi
  # Whoever builds here waits meanwhile: what lies below a mount must not change.
  exec 9<"$compiled/.cargo-lock"
  flock -s 9
  mkdir -p "$above/changed" "$above/work" "$root/opt/irqpath/target/debug"
  mount -t overlay overlay -o "lowerdir=$(realpath "$compiled"),upperdir=$above/changed,workdir=$above/work" \
    "$root/opt/irqpath/target/debug"
}

# inside COMMAND...: in the root, in the checkout, with nothing of this environment.
# shellcheck disable=SC2317 # reached through step
inside() {
  local settings=(PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    CARGO_HOME="${registry%/*}" CARGO_NET_OFFLINE=true CARGO_INCREMENTAL=0)
  if [[ $quick == 1 ]]; then
    settings+=(IRQPATH_CACHE=/opt/lab IRQPATH_OWN_KERNEL=0 IRQPATH_PROFILE=dev IRQPATH_BINARY=target/irqpath)
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

# shellcheck disable=SC2317 # reached through step
guests() {
  inside strip -o target/irqpath target/debug/irqpath
  inside cargo test --locked -q -p irqpath-testing --test guests -- reproducible the_oldest
}

make_root ca-certificates,git,make
mount_parts
if [[ $quick == 1 ]]; then step 'without the libbpf of here' inside cargo clean --locked -q -p libbpf-sys; fi
step 'make demo' inside make demo
step 'report and flame graph' made_pictures
if [[ $quick == 1 ]]; then
  step 'guest programs byte for byte, and the oldest kernels' guests
else
  step 'make test' inside make test
fi
exit "$failed"
