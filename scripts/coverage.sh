#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints how much of the code the tests run, file by file: every test but those in guests. The lines
# themselves are pages in target/llvm-cov/html. Takes cargo-llvm-cov from PATH, else installs the
# pinned version below target/tools; it needs the LLVM tools of the Rust toolchain, which rustup adds.
# Nothing depends on the figure. Exit codes: 0 all tests passed, 1 one failed, 2 a tool is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=0.9.1
PATH=$PATH:$PWD/target/tools/bin
if ! command -v cargo-llvm-cov >/dev/null; then
  cargo install --locked cargo-llvm-cov --version "$version" --root target/tools || exit 2
fi
if ! compgen -G "$(rustc --print sysroot)/lib/rustlib/*/bin/llvm-cov" >/dev/null; then
  if ! command -v rustup >/dev/null || ! rustup --quiet component add llvm-tools; then
    echo 'coverage: the LLVM tools of the Rust toolchain are missing: rustup component add llvm-tools' >&2
    exit 2
  fi
fi

code=0
cargo llvm-cov --locked --workspace --exclude irqpath-testing --no-report --no-fail-fast --quiet || code=1
cargo llvm-cov report --locked --html >/dev/null
cargo llvm-cov report --locked --summary-only
exit "$code"
