#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tries irqpath on a fresh Debian: makes a minimal root of SUITE, puts a clone of this checkout's HEAD
# into it, runs `make demo` and `make test` there, and removes the root.
#
#   scripts/fresh.sh [--quick] SUITE      bookworm, trixie, sid
#
# --quick is what `make test` runs for a suite that this machine is not: unit tests, and the demo
# without the irqpath kernel, compiled with less optimisation and with this machine's lab cache.
#
# The root is a directory in a mount namespace of its own: it shares the kernel and the tasks of this
# machine, and what is mounted in it goes with the script. The demo traces this machine. Rust and the
# crates come from here, because Debian's Rust is too old. Needs root and debootstrap.
# Exit codes: 0 all ran, 1 something failed there, 2 the root cannot be made.
set -euo pipefail
script=$(realpath "${BASH_SOURCE[0]}")
cd "$(dirname "$script")/.."

die() { echo "fresh: $*" >&2; exit 2; }

all=("$@")
quick=0
if [[ ${1:-} == --quick ]]; then
  quick=1
  shift
fi
suite=${1:-}
[[ $# == 1 && $suite =~ ^[a-z]+$ ]] || die 'usage: scripts/fresh.sh [--quick] SUITE'
[[ $EUID == 0 ]] || die 'making a root needs root; run it with sudo'
command -v debootstrap >/dev/null || die 'debootstrap is not installed; run scripts/setup.sh --with test'

# In a namespace of its own nothing stays mounted, however this ends.
root=${IRQPATH_FRESH_ROOT:-}
if [[ -z $root ]]; then
  root=$(mktemp -d "${TMPDIR:-/var/tmp}/irqpath-fresh.XXXXXX")
  trap 'rm -rf --one-file-system "$root"' EXIT
  code=0
  IRQPATH_FRESH_ROOT=$root unshare --mount --propagation private "$script" "${all[@]}" || code=$?
  exit "$code"
fi

make_root() {
  local log=$root.log
  if ! debootstrap --variant=minbase --include=ca-certificates,git,make "$suite" "$root" >"$log" 2>&1; then
    tail -n 3 "$log" >&2
    rm -f "$log"
    die "debootstrap cannot make a root of $suite; its last words are above"
  fi
  rm -f "$log"
  # Packages must not start services of this machine's kernel.
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod 755 "$root/usr/sbin/policy-rc.d"
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  # How this machine reaches the archive.
  cp -r /etc/apt/apt.conf.d/*proxy* "$root/etc/apt/apt.conf.d/" 2>/dev/null || true
}

mount_parts() {
  mount --bind "$root" "$root" # so that its / is a mount point, as tests expect
  local part
  for part in proc sys dev; do mount --rbind "/$part" "$root/$part"; done
  mount -t tmpfs tmpfs "$root/run"
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
  local settings=(HOME=/root PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    LC_ALL=C.UTF-8 CARGO_HOME=/opt/cargo CARGO_NET_OFFLINE=true CARGO_INCREMENTAL=0)
  if [[ $quick == 1 ]]; then
    settings+=(IRQPATH_CACHE=/opt/lab IRQPATH_OWN_KERNEL=0 CARGO_PROFILE_RELEASE_OPT_LEVEL=1
      CARGO_PROFILE_RELEASE_DEBUG=0)
  fi
  chroot "$root" env -i "${settings[@]}" sh -c 'cd /opt/irqpath && exec "$@"' sh "$@"
}

failed=0
# step NAME COMMAND...
step() {
  local name=$1 started=$SECONDS
  shift
  if "$@"; then
    echo "fresh $suite: ok      $name ($((SECONDS - started)) s)"
  else
    echo "fresh $suite: FAILED  $name ($((SECONDS - started)) s)"
    failed=1
  fi
}

# shellcheck disable=SC2317 # reached through step
made_pictures() {
  local page
  for page in report.html lab/ihm-timer.html; do
    [[ -s $root/opt/irqpath/demo-result/$page ]] || { echo "the demo made no $page" >&2; return 1; }
  done
}

make_root
mount_parts
step 'make demo' inside make demo
step 'report and flame graph' made_pictures
if [[ $quick == 1 ]]; then
  step 'unit tests' inside cargo test --locked -q --release -p irqpath-model -p irqpath-analysis -p irqpath-system --lib
else
  step 'make test' inside make test
fi
exit "$failed"
