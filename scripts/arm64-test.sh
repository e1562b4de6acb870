#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs, uses and purges the arm64 package in an arm64 guest: Debian 12 for arm64 with its -rt kernel,
# in QEMU, which translates every instruction. A neighbour of packages-test.sh, which calls it with
# --arm64. The root of the guest is configured before it boots, by qemu-user, in a user namespace of its
# own: the kernel of this machine learns no format of programs from it.
#
#   scripts/arm64-test.sh PACKAGE [STATIC]    prints what the guest said
#
# STATIC is a tarball whose command is tried, too. docs/packages.md says how long it takes. Needs root,
# debootstrap, QEMU and Linux 6.7, whose user namespaces have formats of programs of their own.
# Exit codes: 0 passed, 1 something failed, 2 the guest cannot be made.
set -euo pipefail
usage='usage: scripts/arm64-test.sh PACKAGE [STATIC]'
package=$(realpath -e "${1:?$usage}")
static=${2:+$(realpath -e "$2")}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
# What the guest may take, in seconds of this machine.
limit=${IRQPATH_ARM64_LIMIT:-1800}
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
for tool in qemu-system-aarch64 qemu-aarch64-static cpio jq; do
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

# In its namespace: the format of arm64 programs and who runs them. debootstrap may not make devices
# there, and does not try in an lxc.
# shellcheck disable=SC2016 # expanded there
second_stage='
  read -r _ # until the namespace has its users
  mount -t binfmt_misc formats /proc/sys/fs/binfmt_misc
  printf "%s" "$2" >/proc/sys/fs/binfmt_misc/register
  mount --rbind /dev "$1/dev"
  mount -t proc proc "$1/proc"
  exec chroot "$1" env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive /debootstrap/debootstrap --second-stage'

# F: the kernel opens the translator now, which is not in the root.
configure_debian() {
  local id users code=0
  local header='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
  local mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
  mkfifo "$work/go"
  unshare --user --mount --pid --fork --kill-child --mount-proc sh -ec "$second_stage" sh "$root" \
    ":irqpath:M::$header:$mask:$(command -v qemu-aarch64-static):F" <"$work/go" >"$work/configure.log" 2>&1 &
  id=$!
  exec 7>"$work/go"
  until [[ $(readlink "/proc/$id/ns/user") != "$(readlink /proc/self/ns/user)" ]]; do sleep 0.1; done
  for users in uid_map gid_map; do echo '0 0 4294967295' >"/proc/$id/$users"; done
  echo >&7
  exec 7>&-
  wait "$id" || code=$?
  [[ $code == 0 ]] || { tail -n 5 "$work/configure.log" >&2; die 'the root cannot be configured'; }
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
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
  if "$@" >/tmp/log 2>&1; then result=ok; else result=FAILED; fi
  echo "GUEST $result $name ($(cut -d. -f1 /proc/uptime) s after the start)"
  if [ "$result" = FAILED ]; then tail -n 5 /tmp/log | sed 's/^/GUEST said /'; fi
}
# Everything but what dpkg keeps about all packages.
tree() {
  find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /run -o -path /var/lib/dpkg \
    -o -path /var/log -o -path /var/cache -o -path /packages \) -prune -o -printf '%p %y %m %u:%g %s %l\n' | sort
}
all_configured() { ! dpkg-query -W -f '${db:Status-Status}\n' | grep -vx installed; }
check() { irqpath check; [ $? -le 1 ]; }
same_tree() { tree >/tmp/after; diff /tmp/before /tmp/after; }
version() { "$@" --version | grep -qx "irqpath $(cat /packages/version)"; }
# For who has to find out where it hangs.
(while sleep 20; do echo "at: $(tail -n 1 /tmp/log)"; done) &
echo "GUEST kernel $(uname -rm)"
step 'no package is half configured' all_configured
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
  local kernel irqpath=(target/packages/bin/dynamic/irqpath)
  # packages.sh has it from making the package; compiling another takes minutes.
  [[ -x ${irqpath[0]} ]] || irqpath=(cargo run --locked --quiet -p irqpath --)
  kernel=$("${irqpath[@]}" lab build --flavour stock-rt --arch arm64 --json | jq -r .image)
  [[ -e $kernel ]] || die 'there is no kernel for the guest'
  (cd "$root" && find . -xdev -print0 | cpio --quiet --null -o -H newc) >"$work/initrd"
  timeout "$limit" qemu-system-aarch64 -machine virt,gic-version=3 -cpu cortex-a57 -smp 2 -m 3072 \
    -nodefaults -nographic -serial stdio -no-reboot -kernel "$kernel" -initrd "$work/initrd" \
    -append 'console=ttyAMA0 rdinit=/init quiet panic=-1' </dev/null >"$work/console" 2>"$work/qemu" || true
}

unpack_debian
configure_debian
echo "arm64: the root is made ($SECONDS s)"
write_init
run_guest
echo "arm64: the guest ended ($SECONDS s)"
tr -d '\r' <"$work/console" | sed -n 's/^GUEST //p' >"$work/said"
cat "$work/said"
if ! grep -qx end "$work/said"; then
  tail -n 15 "$work/console" "$work/qemu" >&2
  echo "arm64: the guest did not come to its end within $limit s" >&2
  exit 1
fi
! grep -q '^FAILED' "$work/said"
