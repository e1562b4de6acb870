#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs what building irqpath needs and this machine lacks (Debian 12/13, Ubuntu), by apt-get.
# With `--with test` also what the tests and the benchmark use, with `--with lab` what builds and
# runs guests, with `--with packages` what makes and checks packages, with `--with fleet` what tries the
# agent's container, alerts and Ansible role, with `--with slurm` what the tests of campaigns start with
# IRQPATH_SLURM=1; what of that cannot be had is noted, and what wants it is skipped and says so.
# `--with test` also puts DuckDB into target/duckdb, from PyPI.
# Silent and quick when nothing is missing.
# Exit codes: 0 ready, 2 something needed for the build is missing.
set -euo pipefail

usage='usage: scripts/setup.sh [--with test] [--with lab] [--with packages] [--with fleet] [--with slurm]'
with_test=0
with_lab=0
with_packages=0
with_fleet=0
with_slurm=0
while [[ $# -gt 0 ]]; do
  if [[ $1 == --with && $# -gt 1 ]]; then set -- "--with=$2" "${@:3}"; fi
  case $1 in
    --with=test) with_test=1 ;;
    --with=lab) with_lab=1 ;;
    --with=packages) with_packages=1 ;;
    --with=fleet) with_fleet=1 ;;
    --with=slurm) with_slurm=1 ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
  shift
done

# Debian keeps bpftool where users do not look.
PATH=$PATH:/usr/sbin:/sbin
manifest=$(dirname "${BASH_SOURCE[0]}")/../Cargo.toml
duckdb=duckdb==2.0.1 # runs the SQL of docs/analysis.md
distribution=debian
if grep -qs '^ID\(_LIKE\)\?=.*ubuntu' /etc/os-release; then distribution=ubuntu; fi

say() { echo "setup: $*" >&2; }
die() { say "$*"; exit 2; }
has() { command -v "$1" >/dev/null 2>&1; }
library() { pkg-config --exists "$1" 2>/dev/null; }
exists() { [[ -e $1 ]]; }
any() { local tool; for tool; do if has "$tool"; then return 0; fi; done; return 1; }

must=() # packages without which nothing builds
may=()  # packages without which something is skipped
reasons=()

# need LIST DEBIAN UBUNTU WHY CHECK...: adds the package to LIST unless CHECK succeeds.
need() {
  local -n list=$1
  local package=$2 why=$4
  if [[ $distribution == ubuntu ]]; then package=$3; fi
  shift 4
  if "$@"; then return; fi
  list+=("$package")
  reasons+=("$package: $why")
}

check_packages() {
  need must make make 'runs the targets of the Makefile' has make
  need must gcc gcc 'links, and compiles the C parts of some crates' has cc
  need must clang clang 'compiles the BPF programs' has clang
  need must llvm llvm 'strips them (llvm-strip)' has llvm-strip
  need must pkg-config pkg-config 'finds libelf and zlib' has pkg-config
  need must libelf-dev libelf-dev 'libbpf reads object files with it' library libelf
  need must zlib1g-dev zlib1g-dev 'libelf needs it' library zlib
  need may bpftool linux-tools-common 'shows what the kernel has loaded' has bpftool
  if [[ $with_test == 1 ]]; then check_test_packages; fi
  if [[ $with_lab == 1 ]]; then check_lab_packages; fi
  if [[ $with_packages == 1 ]]; then check_packaging_packages; fi
  if [[ $with_fleet == 1 ]]; then check_fleet_packages; fi
  if [[ $with_slurm == 1 ]]; then check_slurm_packages; fi
}

check_test_packages() {
  need may shellcheck shellcheck 'checks the scripts' has shellcheck
  need may openssl openssl 'makes certificates for tests of the agent' has openssl
  need may g++ g++ 'compiles the engine of the fuzzer' has c++
  need may chromium chromium-browser 'opens the HTML report' any chromium chromium-browser
  need may chromium-driver chromium-chromedriver 'steers it' has chromedriver
  need may rt-tests rt-tests 'cyclictest and hackbench, to compare with and as load' has cyclictest
  need may stress-ng stress-ng 'makes load' has stress-ng
  need may bpftrace bpftrace 'is compared with' has bpftrace
  need may linux-perf linux-tools-generic 'is compared with' has perf
  need may trace-cmd trace-cmd 'is compared with' has trace-cmd
  need may debootstrap debootstrap 'makes the root of another Debian' has debootstrap
  need may systemd systemd 'starts the units in a guest' exists /lib/systemd/systemd
  need may e2fsprogs e2fsprogs 'makes the disk of a guest with its own systemd' has mke2fs
  need may python3-venv python3-venv 'holds DuckDB, which runs the SQL of the pages' makes_environments
}

makes_environments() { python3 -c 'import ensurepip' 2>/dev/null; }

check_lab_packages() {
  need may qemu-system-x86 qemu-system-x86 'runs the guests' has qemu-system-x86_64
  need may qemu-system-arm qemu-system-arm 'runs the arm64 guests' has qemu-system-aarch64
  need may bc bc 'a kernel build computes with it' has bc
  need may bison bison 'reads Kconfig' has bison
  need may flex flex 'reads Kconfig' has flex
  need may patch patch 'applies kernel/hooks' has patch
  need may xz-utils xz-utils 'unpacks the source and the modules of kernels' has xz
  need may kmod kmod 'lists what a module depends on' has modinfo
  need may sparse sparse 'checks the C code of the module' has sparse
  need may rt-tests rt-tests 'cyclictest and hackbench, as programs of guests' has cyclictest
  need may stress-ng stress-ng 'makes load in guests' has stress-ng
  need may dbench dbench 'tbench, network load in guests' has tbench
  need may iperf3 iperf3 'network load in guests' has iperf3
  if [[ $distribution == ubuntu ]]; then
    need may debootstrap debootstrap 'knows where the archive of Debian is' has debootstrap
  fi
}

# Debian's start their services, which is why no other group has them.
check_slurm_packages() {
  need may munge munge 'is how the daemons of Slurm know each other' has munged
  need may slurmctld slurmctld 'is the controller' has slurmctld
  need may slurmd slurmd 'is a node' has slurmd
  need may slurm-client slurm-client 'submits and asks' has sbatch
}

# For the packages of the other architecture, the compiler and what its programs link with.
check_packaging_packages() {
  need may debhelper debhelper 'makes Debian packages' has dh
  need may dh-dkms dh-dkms 'packs the kernel module' has dh_dkms
  need may lintian lintian 'checks Debian packages' has lintian
  need may rpm rpm 'makes the rpm' has rpmbuild
  need may buildah buildah 'makes the container image' has buildah
  need may xz-utils xz-utils 'packs the static binary' has xz
  need may debootstrap debootstrap 'makes the roots that packages are tried in' has debootstrap
  need may gcc-aarch64-linux-gnu gcc-aarch64-linux-gnu 'links for arm64' has aarch64-linux-gnu-gcc
  need may libc6-dev-arm64-cross libc6-dev-arm64-cross 'is the C library of that' \
    exists /usr/aarch64-linux-gnu/include/stdio.h
  need may qemu-user qemu-user 'runs the arm64 package' has qemu-aarch64
  need may qemu-user-static qemu-user-static 'configures the root of its guest' has qemu-aarch64-static
  need may qemu-system-arm qemu-system-arm 'installs it in a guest' has qemu-system-aarch64
  need may cpio cpio 'packs the root of that guest' has cpio
  need may jq jq 'reads what the lab says about kernels' has jq
  need may dwarves dwarves 'describes the types of the kernel in its package' has pahole
  need may libssl-dev libssl-dev 'signs its modules' exists /usr/include/openssl/ssl.h
  need may rsync rsync 'packs its headers' has rsync
  need may bc bc 'a kernel build computes with it' has bc
  need may bison bison 'reads Kconfig' has bison
  need may flex flex 'reads Kconfig' has flex
  need may gcc-12 gcc-12 'compiles the kernel, as Debian does' has gcc-12
}

check_fleet_packages() {
  need may podman podman 'runs the container of the agent' has podman
  need may runc runc 'is the runtime of that' has runc
  need may catatonit catatonit 'is the first process of its pod' has catatonit
  need may prometheus prometheus 'scrapes it, and lets the alerts fire' has promtool
  need may jq jq 'reads what they say' has jq
  need may ansible-lint ansible-lint 'checks the Ansible role' has ansible-lint
  need may systemd-container systemd-container 'boots the root that the role is tried in' has systemd-nspawn
  need may debootstrap debootstrap 'makes that root' has debootstrap
}

check_rust() {
  local wanted found
  has cargo || die 'no Rust toolchain: install it from https://rustup.rs, open a new shell, and run this again'
  wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$manifest")
  found=$(rustc --version | cut -d' ' -f2)
  if [[ $(printf '%s\n' "$wanted" "$found" | sort -V | head -n1) != "$wanted" ]]; then
    die "Rust $found is too old, $wanted or newer is needed: rustup update stable"
  fi
  if [[ $with_test == 1 ]] && has rustup && ! { has cargo-fmt && cargo clippy --version; } >/dev/null 2>&1; then
    say 'adding rustfmt and clippy to the Rust toolchain'
    rustup --quiet component add rustfmt clippy || say 'note: cannot add them; their checks are skipped'
  fi
}

# as_root COMMAND...: asks for a password only where somebody can type one.
as_root() {
  if [[ $EUID == 0 ]]; then "$@"
  elif [[ -t 0 ]]; then sudo "$@"
  else sudo -n "$@"
  fi
}

apt() {
  as_root env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -qq \
    -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 "$@" >"$log" 2>&1
}

install() { apt install -y --no-install-recommends "$@"; }

install_must() {
  if [[ ${#must[@]} == 0 ]] || install "${must[@]}"; then return; fi
  tail -n 20 "$log" >&2
  die "apt-get could not install ${must[*]}; its last words are above"
}

# All at once is fast; one by one finds the one that cannot be had.
install_may() {
  local package
  if [[ ${#may[@]} == 0 ]] || install "${may[@]}"; then return; fi
  for package in "${may[@]}"; do
    install "$package" || say "note: $package cannot be installed here; what uses it is skipped"
  done
}

provide_duckdb() {
  local place
  if [[ $with_test == 0 ]]; then return; fi
  place=$(cd "$(dirname "$manifest")" && realpath -m "${CARGO_TARGET_DIR:-target}/duckdb")
  if "$place/bin/python" -c 'import duckdb' 2>/dev/null; then return; fi
  say "installing $duckdb in $place"
  if ! { python3 -m venv --clear "$place" &&
    "$place/bin/pip" -q --disable-pip-version-check install --only-binary :all: "$duckdb"; } >&2; then
    say 'note: it cannot be installed; the SQL of docs/analysis.md is not tested'
  fi
}

check_packages
check_rust
if [[ ${#reasons[@]} == 0 ]]; then provide_duckdb; exit 0; fi

problem=''
if ! has apt-get; then
  problem="there is no apt-get here; install what Debian calls ${must[*]} ${may[*]}"
elif [[ $EUID != 0 ]] && ! has sudo; then
  problem="neither root nor sudo; as root run: apt-get install ${must[*]} ${may[*]}"
fi
if [[ -n $problem ]]; then
  if [[ ${#must[@]} == 0 ]]; then say "note: $problem"; provide_duckdb; exit 0; fi
  die "$problem"
fi

say 'installing with apt-get, because they are missing:'
printf '  %s\n' "${reasons[@]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt update || say 'note: apt-get update failed; trying with the package lists that are there'
install_must
install_may
provide_duckdb
say 'done'
