#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tries irqpath on a fresh Debian or Ubuntu: makes a minimal root of SUITE, puts a clone of this
# checkout's HEAD into it, runs `make demo` and `make test` there, and removes the root.
#
#   scripts/fresh.sh [--quick] SUITE      bookworm, trixie, sid, noble (Ubuntu 24.04)
#
# --quick is what `make test` runs for a suite that this machine is not: unit tests, guest programs byte
# for byte, and the demo without the irqpath kernel; compiled without optimisation, and with this
# machine's lab cache.
#
# The root is a directory in a mount namespace of its own: it shares the kernel and the tasks of this
# machine, and what is mounted in it goes with the script. The demo traces this machine. Rust and the
# crates come from here, because Debian's Rust is too old. Needs root and debootstrap.
# The mirror of Debian is $IRQPATH_DEBIAN_MIRROR, else that of this machine's package sources if it is
# a Debian, else debootstrap's; that of Ubuntu is $IRQPATH_UBUNTU_MIRROR, else Ubuntu's own. The keys
# that must have signed a suite are in lab/archive. IRQPATH_REBUILD_KERNEL goes on to the tests.
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

[[ $EUID == 0 ]] || skip 'making a root needs root; run it with sudo'
for tool in debootstrap unshare; do
  command -v "$tool" >/dev/null || skip "$tool is not installed; run scripts/setup.sh --with test"
done
unshare --mount true 2>/dev/null || skip 'this root may not make a mount namespace (a container?)'

# Ends whatever still runs in the root, and removes it. Tasks that end meanwhile are no failure.
# shellcheck disable=SC2317 # reached through the trap
remove_root() {
  local id where path
  kill -KILL -- "-$child" 2>/dev/null || true
  wait "$child" 2>/dev/null || true
  id=$(stat -c %d:%i "$root")
  while read -r where path; do
    if [[ $where == "$id" ]]; then kill -KILL "$(cut -d/ -f3 <<<"$path")" 2>/dev/null || true; fi
  done < <(stat -L -c '%d:%i %n' /proc/[0-9]*/root 2>/dev/null || true)
  # What was killed may take a moment to let go.
  rm -rf --one-file-system "$work" 2>/dev/null || { sleep 2; rm -rf --one-file-system "$work"; }
}

# In a namespace of its own nothing stays mounted, however this ends.
root=${IRQPATH_FRESH_ROOT:-}
if [[ -z $root ]]; then
  work=$(mktemp -d "${TMPDIR:-/var/tmp}/irqpath-fresh.XXXXXX")
  root=$work/root
  mkdir -m 755 "$root" # which every user may enter
  IRQPATH_FRESH_ROOT=$root setsid unshare --mount --propagation private "$script" "${all[@]}" &
  child=$!
  trap remove_root EXIT
  trap 'exit 130' INT TERM HUP
  code=0
  wait "$child" || code=$?
  exit "$code"
fi

# The mirror of Debian that this machine uses; nothing if it has none.
# shellcheck disable=SC2016 # apt-get expands it
mirror() {
  local suites='bookworm|trixie|forky|duke|sid|unstable|testing|stable|oldstable'
  if [[ -n ${IRQPATH_DEBIAN_MIRROR:-} ]]; then
    echo "$IRQPATH_DEBIAN_MIRROR"
  else
    apt-get indextargets --format '$(RELEASE) $(SITE)' 'Created-By: Packages' 2>/dev/null |
      sed -nE "s/^($suites) //p" | head -n 1
  fi
}

make_root() {
  local log=$root.log from keys=debian
  local options=(--variant=minbase '--include=ca-certificates,git,make') recipe=()
  if [[ $suite == noble ]]; then
    keys=ubuntu
    from=${IRQPATH_UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}
    options+=('--components=main,universe')
    # A debootstrap that is older than the suite has no name for it; all of Ubuntu are made as gutsy was.
    if [[ ! -e /usr/share/debootstrap/scripts/noble ]]; then recipe=(/usr/share/debootstrap/scripts/gutsy); fi
  else
    from=$(mirror || true)
  fi
  options+=(--keyring="$PWD/lab/archive/$keys-archive-keyring.gpg" --force-check-gpg)
  if ! debootstrap "${options[@]}" "$suite" "$root" ${from:+"$from"} "${recipe[@]}" >"$log" 2>&1; then
    tail -n 3 "$log" >&2
    skip "debootstrap cannot make it: $(tail -n 1 "$log")"
  fi
  # Packages must not start services of this machine's kernel.
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod 755 "$root/usr/sbin/policy-rc.d"
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  # How this machine reaches the archive: proxies, and what it checks of a mirror.
  apt-config dump | grep -E '^Acquire::(https?|Check-|Retries)' >"$root/etc/apt/apt.conf.d/90host" || true
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

# inside COMMAND...: in the root, in the checkout, with nothing of this environment. Its / is that of
# a mount namespace, for a process in a chroot may not make a user namespace.
# shellcheck disable=SC2317 # reached through step
inside() {
  local settings=(HOME=/root PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    LC_ALL=C.UTF-8 CARGO_HOME=/opt/cargo CARGO_NET_OFFLINE=true CARGO_INCREMENTAL=0)
  if [[ $quick == 1 ]]; then
    settings+=(IRQPATH_CACHE=/opt/lab IRQPATH_OWN_KERNEL=0 CARGO_PROFILE_RELEASE_OPT_LEVEL=0
      CARGO_PROFILE_RELEASE_DEBUG=0)
  fi
  if [[ -n ${IRQPATH_REBUILD_KERNEL:-} ]]; then settings+=(IRQPATH_REBUILD_KERNEL="$IRQPATH_REBUILD_KERNEL"); fi
  # shellcheck disable=SC2016 # expanded there
  (cd "$root" && unshare --mount sh -c 'pivot_root . mnt && cd / && exec "$@"' sh \
    env -i "${settings[@]}" sh -c 'umount -l /mnt && cd /opt/irqpath && exec "$@"' sh "$@")
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
  step 'guest programs byte for byte' inside cargo test --locked -q --release -p irqpath-lab --test reproducible
else
  step 'make test' inside make test
fi
exit "$failed"
