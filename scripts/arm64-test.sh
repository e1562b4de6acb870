#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs, uses and purges the arm64 package in an arm64 guest: Debian 12 for arm64 with its -rt kernel,
# in QEMU, which translates every instruction. A neighbour of packages-test.sh, which calls it with
# --arm64. Debian's packages are only unpacked here: the guest configures them itself, so nothing of
# arm64 runs on this machine.
#
#   scripts/arm64-test.sh PACKAGE [STATIC]    prints what the guest said
#
# STATIC is a tarball whose command is tried, too. Takes some minutes. Needs root, debootstrap and QEMU.
# Exit codes: 0 passed, 1 something failed, 2 the guest cannot be made.
set -euo pipefail
usage='usage: scripts/arm64-test.sh PACKAGE [STATIC]'
package=$(realpath -e "${1:?$usage}")
static=${2:+$(realpath -e "$2")}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
# What the guest may take, in seconds of this machine.
limit=${IRQPATH_ARM64_LIMIT:-3600}
work=$(mktemp -d "${TMPDIR:-/var/tmp}/irqpath-arm64.XXXXXX")
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT TERM HUP

die() { echo "arm64: $*" >&2; exit 2; }
suite=bookworm
skip() { die "$*"; }
# shellcheck source=scripts/root.sh
. scripts/root.sh
require_root_tools
for tool in qemu-system-aarch64 cpio jq; do
  command -v "$tool" >/dev/null || die "$tool is not installed; run scripts/setup.sh --with packages"
done

unpack_debian() {
  debootstrap --foreign --arch=arm64 --variant=minbase --include=procps \
    --keyring="$PWD/lab/archive/debian-archive-keyring.gpg" --force-check-gpg \
    "$suite" "$root" "$(mirror || true)" >"$work/debootstrap.log" 2>&1 ||
    { tail -n 3 "$work/debootstrap.log" >&2; die 'debootstrap cannot make the root'; }
  # Where debootstrap finds a container around it, it links these to themselves.
  local part
  for part in proc sys dev; do
    if [[ -L $root/$part ]]; then rm "$root/$part"; fi
    mkdir -p "$root/$part"
  done
}

# The first process of the guest. Each step says how it ended; a guest that hangs says nothing more.
write_init() {
  cat >"$root/init" <<'END'
#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev 2>/dev/null
exec >/dev/console 2>&1
step() {
  name=$1
  shift
  if "$@" >/tmp/log 2>&1; then echo "GUEST ok $name"; else echo "GUEST FAILED $name: $(tail -n 5 /tmp/log)"; fi
}
# Everything but what dpkg keeps about all packages.
tree() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /run -o -path /var/lib/dpkg \
    -o -path /var/log -o -path /var/cache -o -path /packages \) -prune -o -printf '%p %y %m %u:%g %s %l\n' | sort
}
check() { irqpath check; [ $? -le 1 ]; }
same_tree() { tree >/tmp/after; diff /tmp/before /tmp/after; }
version() { "$@" --version | grep -qx "irqpath $(cat /packages/version)"; }
# For who has to find out where it hangs.
(while sleep 20; do echo "at: $(tail -n 1 /tmp/log)"; done) &
echo "GUEST kernel $(uname -rm)"
step 'Debian is configured' /debootstrap/debootstrap --second-stage
# It leaves these mounted or not, by version.
mountpoint -q /proc || mount -t proc proc /proc
mountpoint -q /sys || mount -t sysfs sysfs /sys
tree >/tmp/before
step 'install' dpkg -i /packages/irqpath.deb
step 'irqpath --version' version irqpath
step 'irqpath check' check
echo "GUEST said $(tail -n 1 /tmp/log)"
step 'irqpath trace once -d 1s' irqpath trace once -d 1s
sed -n '1,12s/^/GUEST said /p' /tmp/log
step 'irqpath agent --check' irqpath agent --check
if [ -x /packages/static ]; then
  step 'static binary: version' version /packages/static
  step 'static binary: trace once -d 1s' /packages/static trace once -d 1s
fi
step 'purge' dpkg --purge irqpath
step 'no file is left' same_tree
echo 'GUEST end'
sync
echo o >/proc/sysrq-trigger
sleep 60
END
  chmod 755 "$root/init"
  mkdir -p "$root/packages"
  cp "$package" "$root/packages/irqpath.deb"
  echo "$version" >"$root/packages/version"
  if [[ -n $static ]]; then
    tar -xOf "$static" --wildcards '*/irqpath' >"$root/packages/static"
    chmod 755 "$root/packages/static"
  fi
}

run_guest() {
  local kernel
  kernel=$(cargo run --locked --quiet -p irqpath -- lab build --flavour stock-rt --arch arm64 --json | jq -r .image)
  [[ -e $kernel ]] || die 'there is no kernel for the guest'
  (cd "$root" && find . -xdev -print0 | cpio --quiet --null -o -H newc | gzip -1) >"$work/initrd"
  timeout "$limit" qemu-system-aarch64 -machine virt,gic-version=3 -cpu cortex-a57 -smp 2 -m 3072 \
    -nodefaults -nographic -serial stdio -no-reboot -kernel "$kernel" -initrd "$work/initrd" \
    -append 'console=ttyAMA0 rdinit=/init quiet panic=-1' </dev/null >"$work/console" 2>"$work/qemu" || true
}

unpack_debian
write_init
run_guest
tr -d '\r' <"$work/console" | sed -n 's/^GUEST //p' >"$work/said"
cat "$work/said"
if ! grep -qx end "$work/said"; then
  tail -n 15 "$work/console" "$work/qemu" >&2
  echo "arm64: the guest did not come to its end within $limit s" >&2
  exit 1
fi
! grep -q '^FAILED' "$work/said"
