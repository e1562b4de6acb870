#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Boots Debian with the irqpath kernel of `scripts/packages.sh kernel`: installs its package in a new
# root, which apt gives an initramfs, and starts that root as a virtual machine by its own systemd. A
# neighbour of packages-test.sh. A line for each step.
#
#   scripts/kernel-package-test.sh [--stock | --from DIR] [SUITE...]     bookworm and trixie unless named
#
# DIR has the package of the kernel; without it, target/packages. --stock boots Debian's own -rt kernel
# of the same series in its place, which tries this script: what then fails is not the kernel's fault.
# QEMU translates every instruction: a KVM in a virtual machine cannot run every guest. Needs root,
# debootstrap, QEMU, e2fsprogs and the package irqpath of `scripts/packages.sh deb`.
# Exit codes: 0 all passed, 1 something failed, 2 it cannot run here or there is no package.
# shellcheck disable=SC2154,SC2317 # of root.sh; reached through step
set -euo pipefail
script=$(realpath "${BASH_SOURCE[0]}")
cd "$(dirname "$script")/.."

label=kernel
suite=${IRQPATH_SUITE:-host}
usage='usage: scripts/kernel-package-test.sh [--stock | --from DIR] [SUITE...]'
skip() { echo "skipped: kernel on $suite: $*"; exit 2; }
# shellcheck source=scripts/root.sh
. scripts/root.sh

stock=0
from=target/packages
given=("$@")
case ${1:-} in
  --stock) stock=1; shift ;;
  --from) from=${2:?$usage}; shift 2 ;;
  -*) echo "$usage" >&2; exit 2 ;;
esac
suites=("$@")
if [[ ${#suites[@]} == 0 ]]; then suites=(bookworm trixie); fi
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
# What the machine may take to boot, be tried and switch itself off, in seconds.
limit=${IRQPATH_KERNEL_LIMIT:-1200}

# The package of the kernel without those beside it: its debug symbols, its headers.
find_image() { find "$from" -maxdepth 1 -name 'linux-image-*-irqpath-*.deb' ! -name '*-dbg_*' | sort | tail -n 1; }

inside() { in_root / DEBIAN_FRONTEND=noninteractive "$@"; }

apt() {
  inside apt-get -q -y -o Dpkg::Use-Pty=0 "$@" >"$root.apt" 2>&1 || { tail -n 10 "$root.apt" >&2; return 1; }
}

# Debian 12 has this series in its backports.
install_stock() {
  local name=linux-image-rt-amd64 options=()
  if [[ $suite == bookworm ]]; then
    sed 's/ bookworm main/ bookworm-backports main/' "$root/etc/apt/sources.list" >"$root/etc/apt/sources.list.d/b.list"
    options=(-t bookworm-backports)
  fi
  apt update
  apt install --no-install-recommends "${options[@]}" "$name"
}

install_kernel() {
  if [[ $stock == 1 ]]; then
    install_stock
  else
    cp "$(find_image)" "$root/tmp/image.deb"
    apt update
    apt install --no-install-recommends /tmp/image.deb
  fi
  release=$(basename "$(echo "$root"/lib/modules/*)")
  [[ -s $root/boot/vmlinuz-$release && -s $root/boot/initrd.img-$release ]]
}

install_irqpath() {
  cp "target/packages/irqpath_$version-1_amd64.deb" "$root/tmp/irqpath.deb"
  apt install --no-install-recommends /tmp/irqpath.deb
}

# What the machine does when it is up. Its second serial line is for the results alone.
write_trial() {
  mkdir -p "$root/usr/local/sbin"
  cat >"$root/usr/local/sbin/trial" <<'END_TRIAL'
#!/bin/sh
exec >/dev/ttyS1 2>&1
. /etc/trial
step() {
  name=$1
  shift
  if "$@" >/run/trial.log 2>&1; then result=ok; else result=FAILED; fi
  echo "$result $name ($(cut -d. -f1 /proc/uptime) s after the start)"
  if [ "$result" = FAILED ]; then tail -n 5 /run/trial.log | sed 's/^/said /'; fi
}
is_up() { [ "$(systemctl is-system-running --wait)" = running ] && systemctl is-active multi-user.target; }
is_release() { uname -r && [ "$(uname -r)" = "$RELEASE" ]; }
loads_modules() { modprobe dummy && grep '^dummy ' /proc/modules && grep '^virtio_blk ' /proc/modules; }
checks() { irqpath check; [ $? -le 1 ]; }
has_none() { irqpath policy status; [ $? = 2 ]; }
is_set() { [ "$(cat /sys/kernel/irqpath/migrate/enabled)" = "$1" ]; }
switches_on() { is_set 0 && irqpath policy enable migrate && is_set 1; }
switches_off() { irqpath policy disable migrate && is_set 0; }
step 'multi-user.target is reached, no unit failed' is_up
step "uname -r is $RELEASE" is_release
step 'modules of the package are loaded' loads_modules
step 'irqpath check' checks
step 'irqpath trace once -d 1s' irqpath trace once -d 1s
if [ "$STOCK" = 1 ]; then
  step 'irqpath policy status: this kernel has none, exit status 2' has_none
else
  step 'irqpath policy status' irqpath policy status
  step 'irqpath policy enable migrate' switches_on
  step 'irqpath policy disable migrate' switches_off
fi
echo end
systemctl poweroff
END_TRIAL
  chmod 755 "$root/usr/local/sbin/trial"
  # The machine may be slow, which is no failure of a unit.
  mkdir -p "$root/etc/systemd/system.conf.d"
  printf '[Manager]\nDefaultTimeoutStartSec=%s\n' "$limit" >"$root/etc/systemd/system.conf.d/trial.conf"
  printf 'RELEASE=%s\nSTOCK=%s\n' "$release" "$stock" >"$root/etc/trial"
  cat >"$root/etc/systemd/system/trial.service" <<'END_UNIT'
[Unit]
After=multi-user.target
[Service]
ExecStart=/usr/local/sbin/trial
[Install]
WantedBy=multi-user.target
END_UNIT
  inside systemctl --quiet enable trial.service
}

make_disk() {
  local part
  rm -f "$root/usr/sbin/policy-rc.d" "$root"/tmp/*.deb
  inside apt-get clean
  cp "$root/boot/vmlinuz-$release" "$root.vmlinuz"
  cp "$root/boot/initrd.img-$release" "$root.initrd"
  for part in proc sys dev run; do umount --recursive --lazy "$root/$part"; done
  mkfs.ext4 -q -L irqpath -d "$root" "$root.disk" 4G >/dev/null
}

# The disk's device comes from a module in the initramfs.
boot() {
  local started=$SECONDS
  timeout "$limit" qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -cpu max -smp 2 -m 2048 \
    -nodefaults -display none -serial "file:$root.console" -serial "file:$root.said" -no-reboot \
    -kernel "$root.vmlinuz" -initrd "$root.initrd" -drive "file=$root.disk,if=virtio,format=raw" \
    -append 'root=LABEL=irqpath rw console=ttyS0 panic=-1' </dev/null >"$root.qemu" 2>&1 || true
  tr -d '\r' <"$root.said" >"$root.lines"
  sed "s/^/$label $suite: guest: /" "$root.lines"
  echo "$label $suite: guest: on for $((SECONDS - started)) s"
  if grep -qx end "$root.lines"; then return; fi
  tail -n 15 "$root.console" "$root.qemu" >&2
  return 1
}

passes() { grep -q '^ok ' "$root.lines" && ! grep -q '^FAILED ' "$root.lines"; }

# As systemd leaves it: nothing to replay, nothing to repair.
is_switched_off() {
  grep -q 'reboot: Power down' "$root.console"
  dumpe2fs -h "$root.disk" 2>/dev/null >"$root.state"
  grep -q '^Filesystem state: *clean$' "$root.state"
  if grep -q needs_recovery "$root.state"; then return 1; fi
  e2fsck -fn "$root.disk" >"$root.fsck" 2>&1 || { tail -n 5 "$root.fsck" >&2; return 1; }
}

test_suite() {
  make_root ca-certificates,dbus,initramfs-tools,kmod,procps,systemd,systemd-sysv,udev
  step 'install the kernel: image, modules, initramfs' install_kernel
  release=$(basename "$(echo "$root"/lib/modules/*)")
  step 'install irqpath' install_irqpath
  write_trial
  make_disk
  step 'boot to the end' boot
  step 'every step in the guest' passes
  step 'clean poweroff' is_switched_off
}

if [[ -n ${IRQPATH_SUITE:-} ]]; then
  in_namespace "${given[@]}"
  test_suite
  exit "$failed"
fi

require_root_tools
for tool in qemu-system-x86_64 mkfs.ext4; do
  command -v "$tool" >/dev/null || skip "$tool is not installed; run scripts/setup.sh --with lab"
done
[[ $(uname -m) == x86_64 ]] || skip 'the kernel is one for x86-64'
[[ -e target/packages/irqpath_$version-1_amd64.deb ]] || skip 'there is no package irqpath; run scripts/packages.sh deb'
[[ $stock == 1 || -n $(find_image) ]] || skip "there is no package of the kernel in $from; run scripts/packages.sh kernel"
for suite in "${suites[@]}"; do
  IRQPATH_SUITE=$suite "$script" "${given[@]}" || { code=$?; failed=$((code > failed ? code : failed)); }
done
exit "$failed"
