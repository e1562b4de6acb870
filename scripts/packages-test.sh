#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tries the packages that `make packages` made in fresh roots of Debian: installs, uses, upgrades,
# removes and purges them, and compares the files before and after. Then the same with the rpm, and
# runs the static binary and the container image where nothing else is. A line for each step.
#
#   scripts/packages-test.sh [--arm64] [SUITE...]      bookworm and trixie unless named
#
# With --arm64 the arm64 package is also installed and purged in an arm64 guest (scripts/arm64-test.sh).
# scripts/root.sh makes the roots and says which mirror it uses. The packages trace this machine for
# a second, and their kernel module is built, not loaded. Needs root, debootstrap, lintian and buildah.
# Exit codes: 0 all passed, 1 something failed, 2 a root cannot be made or there are no packages.
set -euo pipefail
script=$(realpath "${BASH_SOURCE[0]}")
cd "$(dirname "$script")/.."

made=$(realpath -m target/packages)
with_arm64=0
if [[ ${1:-} == --arm64 ]]; then with_arm64=1; shift; fi
if [[ ${1:-} == -* ]]; then echo 'usage: scripts/packages-test.sh [--arm64] [SUITE...]' >&2; exit 2; fi
suites=("$@")
if [[ ${#suites[@]} == 0 ]]; then suites=(bookworm trixie); fi
suite=${IRQPATH_SUITE:-host}
label=packages
skip() { echo "skipped: packages on $suite: $*"; exit 2; }
# shellcheck source=scripts/root.sh
. scripts/root.sh

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
architecture=$(dpkg --print-architecture)
machine=$(uname -m)
module=intsight/$version
log=$made/test/$suite.log
mkdir -p "$made/test"

# quietly PROGRAM...: shows the end of its output only if it fails.
# shellcheck disable=SC2317 # reached through step
quietly() {
  if "$@" >"$log" 2>&1; then return; fi
  tail -n 15 "$log" >&2
  return 1
}

# Outside of any root: the files themselves, and programs that need none.

# shellcheck disable=SC2317 # reached through step
lint() { lintian --display-info --fail-on error,warning,info "$made"/*_"$version"-1_*.deb; }

# shellcheck disable=SC2317 # reached through step
static_binary() {
  local name=irqpath-$version-$machine-static
  tar -C "$alone" --strip-components=1 -xf "$made/$name.tar.xz" "$name/irqpath"
  # ldd says it in one of two ways, and fails with one of them.
  { ldd "$alone/irqpath" 2>&1 || true; } | tee "$log" | grep -qE 'statically linked|not a dynamic exec'
  mkdir "$alone"/{proc,sys}
  [[ $(chroot "$alone" /irqpath --version) == "irqpath $version" ]]
}

# With the kernel's file systems, as every distribution has them.
# shellcheck disable=SC2317 # reached through step
alone_in_root() {
  # shellcheck disable=SC2016 # expanded there
  quietly unshare --mount sh -ec 'mount --rbind /proc "$1/proc"; mount --rbind /sys "$1/sys"
    chroot "$@"' sh "$alone" /irqpath "$@"
}

# shellcheck disable=SC2317 # reached through step
container_image() {
  local buildah=(buildah --root "$alone/root" --runroot "$alone/run" --storage-driver vfs) container
  container=$("${buildah[@]}" from --pull-never --quiet \
    "oci-archive:$made/irqpath-$version-$machine-oci.tar")
  [[ $("${buildah[@]}" inspect --format '{{.OCIv1.Config.Entrypoint}}' "$container") == '[irqpath]' ]]
  [[ $("${buildah[@]}" run --isolation chroot "$container" -- irqpath --version) == "irqpath $version" ]]
}

# The instructions of arm64 are translated here, and the kernel is this machine's.
# shellcheck disable=SC2317 # reached through step
arm64_package() {
  dpkg-deb -x "$made/irqpath_$version-1_arm64.deb" "$alone/arm64"
  [[ $(dpkg-deb -f "$made/irqpath_$version-1_arm64.deb" Architecture) == arm64 ]]
  [[ $(qemu-aarch64 -L /usr/aarch64-linux-gnu "$alone/arm64/usr/bin/irqpath" --version) == "irqpath $version" ]]
}

# The binary of each is known from the package and the tarball.
# shellcheck disable=SC2317 # reached through step
arm64_rpm() {
  local rpm=$made/irqpath-$version-1.aarch64.rpm
  [[ $(rpm --dbpath "$alone/rpmdb" -qp --queryformat '%{ARCH}' "$rpm") == aarch64 ]]
  mkdir "$alone/arm64-rpm"
  (cd "$alone/arm64-rpm" && rpm2cpio "$rpm" | cpio -id --quiet './usr/*')
  cmp "$alone/arm64-rpm/usr/bin/irqpath" "$alone/arm64/usr/bin/irqpath"
  # The pages, written by a binary that runs here.
  [[ -s $(find "$alone/arm64-rpm/usr/share/man" -name 'irqpath.1*') ]]
}

# shellcheck disable=SC2317 # reached through step
arm64_image() {
  local buildah=(buildah --root "$alone/root-arm64" --runroot "$alone/run-arm64" --storage-driver vfs)
  local container
  container=$("${buildah[@]}" from --arch arm64 --pull-never --quiet \
    "oci-archive:$made/irqpath-$version-aarch64-oci.tar")
  [[ $("${buildah[@]}" inspect --format '{{.OCIv1.Architecture}}' "$container") == arm64 ]]
  # The instructions of arm64 are translated here.
  [[ $(qemu-aarch64 "$("${buildah[@]}" mount "$container")/usr/bin/irqpath" --version) == "irqpath $version" ]]
}

test_on_host() {
  local alone
  alone=$(mktemp -d "${TMPDIR:-/var/tmp}/irqpath-alone.XXXXXX")
  step 'lintian' quietly lint
  step 'static binary: version, without libraries' static_binary
  step 'static binary: check, alone in a root' alone_in_root check
  step 'static binary: trace once -d 1s, alone in a root' alone_in_root trace once -d 1s
  step 'container image: entry point, version' container_image
  if [[ -e $made/irqpath_$version-1_arm64.deb ]]; then
    step 'arm64 package: version, by QEMU' arm64_package
    if [[ -e $made/irqpath-$version-1.aarch64.rpm ]]; then
      step 'arm64 rpm: the same binary, and pages' arm64_rpm
    fi
    if [[ -e $made/irqpath-$version-aarch64-oci.tar ]]; then
      step 'arm64 container image: version, by QEMU' arm64_image
    fi
  fi
  if [[ $with_arm64 == 1 ]]; then
    step 'arm64 package: install, trace, purge in a guest' \
      scripts/arm64-test.sh "$made/irqpath_$version-1_arm64.deb" "$made/irqpath-$version-aarch64-static.tar.xz"
  else
    echo "skipped: packages on $suite: the arm64 package in a guest: --arm64"
  fi
  rm -rf --one-file-system "$alone"
}

# In a root of the suite.

# shellcheck disable=SC2317 # reached through step
inside() { in_root / DEBIAN_FRONTEND=noninteractive "$@"; }

# shellcheck disable=SC2317 # reached through step
apt() { quietly inside apt-get -q -y -o Dpkg::Use-Pty=0 "$@"; }

# What the packages depend on, and what the steps use, so that the rest of the root stays as it is.
# shellcheck disable=SC2317 # reached through step
prerequisites() {
  local package depends=()
  for package in "$root"/packages/1/*.deb; do
    depends+=("$(dpkg-deb -f "$package" Depends | sed -E 's/irqpath \([^)]*\),? ?//')")
  done
  apt update
  apt install --no-install-recommends systemd man-db bash-completion rpm file "linux-headers-$architecture"
  apt satisfy --no-install-recommends "${depends[@]}"
}

# tree FILE: every file with its type, mode, owner, size and target, and the digests of /etc. Left
# out is only what apt, dpkg, dkms, depmod, man and rpm keep about all packages.
# shellcheck disable=SC2317 # reached through step
tree() {
  # shellcheck disable=SC2016 # expanded there
  inside sh -ec 'find / -xdev \( -path /packages -o -path /tmp -o -path /var/log -o -path /var/lib/dpkg \
      -o -path /var/lib/apt -o -path /var/lib/rpm -o -path /var/cache/apt -o -path /var/cache/man \
      -o -path "$HOME/.rpmdb" -o -path /var/cache/debconf -o -path /var/cache/ldconfig -o -path "/usr/lib/modules/*/modules.*" \
      -o -path "/var/lib/dkms/mok.*" -o -path /etc/ld.so.cache \) -prune \
      -o -type d -printf "%p %y %m %u:%g\n" -o -printf "%p %y %m %u:%g %s %l\n" | sort
    find /etc -xdev -type f ! -name ld.so.cache -exec sha256sum {} + | sort -k 2' >"$1"
}

# shellcheck disable=SC2317 # reached through step
same_tree() {
  tree "$made/test/$suite.after"
  diff "$made/test/$suite.before" "$made/test/$suite.after" >"$log" || { head -n 20 "$log" >&2; return 1; }
}

# packages DIRECTORY: paths of them, as the root sees them.
# shellcheck disable=SC2317 # reached through step
packages() { (cd "$root" && printf '/%s\n' "packages/$1"/*.deb); }

# shellcheck disable=SC2016,SC2317 # dpkg-query expands it; reached through step
install_packages() {
  local files
  mapfile -t files < <(packages "$1")
  apt install --no-install-recommends "${files[@]}"
  [[ $(inside dpkg-query -W -f '${Version}' irqpath) == "$version-$1" ]]
}

# shellcheck disable=SC2317 # reached through step
prints_version() { [[ $(inside irqpath --version) == "irqpath $version" ]]; }

# Its exit status says that there are problems, which those of this machine may be.
# shellcheck disable=SC2317 # reached through step
checks() {
  local code=0
  inside irqpath check >"$log" 2>&1 || code=$?
  [[ $code -le 1 ]] && grep -q '^problems: ' "$log"
}

# shellcheck disable=SC2317 # reached through step
has_manual() {
  local page
  for page in irqpath irqpath-trace irqpath-shield irqpath-tune irqpath-lab-run; do
    inside man -w "$page" >/dev/null
  done
  inside man irqpath | grep -q SYNOPSIS
}

# shellcheck disable=SC2317 # reached through step
completes() {
  inside bash -c '. /usr/share/bash-completion/completions/irqpath && complete -p irqpath' >/dev/null
  inside test -s /usr/share/zsh/site-functions/_irqpath -a -s /usr/share/fish/vendor_completions.d/irqpath.fish
}

# shellcheck disable=SC2317 # reached through step
units_are_right() {
  local unit
  for unit in irqpath-agent irqpath-shield irqpath-tune; do
    quietly inside systemd-analyze verify "$unit.service"
    [[ $(inside systemctl is-enabled "$unit" || true) == disabled ]]
  done
  quietly inside systemd-analyze verify irqpath-agent.socket
  [[ $(inside systemctl is-enabled irqpath-agent.socket || true) == disabled ]]
  # Its rating, times ten.
  quietly inside systemd-analyze security --offline=true --threshold=20 irqpath-agent.service
}

# shellcheck disable=SC2317 # reached through step
lists_experiments() {
  inside env IRQPATH_CACHE=/packages/cache irqpath lab list >"$log"
  grep -q ihm-timer "$log"
}

# With this machine's cache, because a guest's kernel and compiler are downloaded into it.
# shellcheck disable=SC2317 # reached through step
runs_experiment() {
  quietly inside env IRQPATH_CACHE=/packages/cache irqpath lab run ihm-timer --set REPS=20 -o /tmp/lab
  [[ -s $root/tmp/lab/reproduction.html ]]
}

# The headers' kernel is the only one there.
# shellcheck disable=SC2317 # reached through step
module_is_built() {
  inside dkms status "$module" | tee "$log" | grep -q ': installed' || { cat "$log"; return 1; }
  inside sh -c 'modinfo -F license /lib/modules/*/updates/dkms/intsight.ko*' | grep -q GPL
}

# What an administrator leaves behind: removing keeps it, purging does not.
# shellcheck disable=SC2317 # reached through step
set_up_unit() {
  inside sh -ec 'echo "TUNE=--force" >/etc/default/irqpath-tune; mkdir -p /var/lib/irqpath /etc/irqpath
    echo "# no settings" >/etc/irqpath/agent.toml; irqpath agent --check; touch /var/lib/irqpath/tune.journal; systemctl --quiet enable irqpath-tune'
}

# shellcheck disable=SC2317 # reached through step
keeps_setup() {
  inside test -s /etc/default/irqpath-tune -a -s /etc/irqpath/agent.toml -a -e /var/lib/irqpath/tune.journal \
    -a -h /etc/systemd/system/multi-user.target.wants/irqpath-tune.service
}

# shellcheck disable=SC2317 # reached through step
upgrade() {
  install_packages 2
  keeps_setup
  prints_version
  module_is_built
}

names=(irqpath irqpath-lab irqpath-intsight-dkms)
# shellcheck disable=SC2317 # reached through step
remove() {
  apt remove "${names[@]}"
  keeps_setup
  inside test ! -e /usr/bin/irqpath
}

# shellcheck disable=SC2317 # reached through step
purge() { apt purge "${names[@]}"; }

# Debian's rpm knows none of Debian's packages: --nodeps. Some versions refuse to install on Debian.
# shellcheck disable=SC2317 # reached through step
rpms() {
  local options=(--nodeps)
  if inside rpm --help | grep -q -e --force-debian; then options+=(--force-debian); fi
  quietly inside rpm "${options[@]}" "$@"
}

# shellcheck disable=SC2317 # reached through step
rpm_lives() {
  rpms -i "/packages/1/irqpath-$version-1.$machine.rpm" "/packages/1/irqpath-lab-$version-1.noarch.rpm"
  prints_version
  lists_experiments
  rpms -U "/packages/2/irqpath-$version-2.$machine.rpm" "/packages/2/irqpath-lab-$version-2.noarch.rpm"
  prints_version
  rpms -e irqpath irqpath-lab
}

test_in_root() {
  local revision from
  make_root ca-certificates
  for revision in 1 2; do
    from=$made
    if [[ $revision == 2 ]]; then from=$made/next; fi
    mkdir -p "$root/packages/$revision"
    cp "$from"/*_"$version-$revision"_{"$architecture",all}.deb "$root/packages/$revision"
    cp "$from"/*-"$version-$revision".*.rpm "$root/packages/$revision"
  done
  mkdir -p "${IRQPATH_CACHE:-$HOME/.cache/irqpath}" "$root/packages/cache"
  mount --bind "${IRQPATH_CACHE:-$HOME/.cache/irqpath}" "$root/packages/cache"
  step 'prerequisites' prerequisites
  tree "$made/test/$suite.before"
  step 'install' install_packages 1
  step 'irqpath --version' prints_version
  step 'irqpath check' checks
  step 'irqpath trace once -d 1s' quietly inside irqpath trace once -d 1s
  step 'manual pages' has_manual
  step 'completions' completes
  step 'units: verified, not enabled, the agent rated under 2' units_are_right
  step 'irqpath lab list' lists_experiments
  step 'irqpath lab run ihm-timer' runs_experiment
  step 'module built by DKMS' module_is_built
  step 'a unit is set up' set_up_unit
  step 'upgrade' upgrade
  step 'remove' remove
  step 'purge' purge
  step 'no file is left' same_tree
  step 'rpm: install, run, upgrade, erase' rpm_lives
  step 'no file of the rpm is left' same_tree
}

if [[ -n ${IRQPATH_SUITE:-} ]]; then
  in_namespace "$@"
  test_in_root
  exit "$failed"
fi

require_root_tools
ls "$made"/irqpath_"$version"-1_*.deb >/dev/null 2>&1 || skip 'there are none; run make packages'
step 'the next revision' quietly scripts/packages.sh --revision 2 --to "$made/next" deb rpm
test_on_host
for suite in "${suites[@]}"; do
  IRQPATH_SUITE=$suite "$script" || { code=$?; failed=$((code > failed ? code : failed)); }
done
exit "$failed"
