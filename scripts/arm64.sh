#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds irqpath for arm64, into target/aarch64-unknown-linux-gnu/debug, for the guests of
# crates/irqpath-testing/tests/guests/kernels.rs. On x86-64 the compiler and the libraries come from Debian's
# archive into the lab's cache, as kernels do; nothing of the host changes.
# With --environment it only prints, as shell commands, what makes cargo build for arm64 on x86-64.
# Exit codes: 0 built, 1 it does not build, 2 there is no compiler for it here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

triple=aarch64-unknown-linux-gnu
build() {
  # The C library as well: guests have none for arm64.
  CARGO_PROFILE_DEV_DEBUG=0 cargo rustc --locked --quiet --target "$triple" -p irqpath --bin irqpath -- \
    -C target-feature=+crt-static || exit 1
  echo "${CARGO_TARGET_DIR:-target}/$triple/debug/irqpath"
}
if [[ $(uname -m) == aarch64 ]]; then
  build
  exit
fi
if ! aarch64-linux-gnu-gcc --version >/dev/null 2>&1; then
  echo 'arm64: aarch64-linux-gnu-gcc is not installed; scripts/setup.sh --with packages installs it' >&2
  exit 2
fi
tools=$(cargo run --locked --quiet -p irqpath-lab --example arm64_toolchain) || exit 2
export RUSTC=$tools/rustc
export CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
# `lib` has libelf.a and libz.a only, so these are linked statically.
export LIBBPF_SYS_LIBRARY_PATH_aarch64_unknown_linux_gnu=$tools/lib
export LIBBPF_SYS_EXTRA_CFLAGS=-I$tools/include
if [[ ${1:-} == --environment ]]; then
  export -p | grep -E '^declare -x (RUSTC|CC_aarch64|CARGO_TARGET_AARCH64|LIBBPF_SYS)'
  exit
fi
build
