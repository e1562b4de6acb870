# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Sourced by the scripts that build a program of Go for tests, once.
#
# go_tool NAME VERSION BUILD: prints the path of the program. If it is not there, the function BUILD makes
# it as $1/NAME, in a new directory. Exit codes: 0 built, 1 it does not build, 2 there is no Go.

go_tool() {
  local name=$1 version=$2 make=$3 directory binary
  directory=$(realpath -m "${CARGO_TARGET_DIR:-target}/tools/$name-$version")
  binary=$directory/$name
  if [[ -x $binary ]]; then
    echo "$binary"
    exit
  fi
  if ! command -v go >/dev/null; then
    echo "$name: go is not installed" >&2
    exit 2
  fi
  build=$(mktemp -d "${TMPDIR:-/var/tmp}/irqpath-$name.XXXXXX")
  trap 'rm -rf --one-file-system "$build"' EXIT
  trap 'exit 130' INT TERM HUP
  # A process of its own, so that errexit ends a build that fails in its middle.
  if ! "$BASH" -euo pipefail -c "version=$version; $(declare -f "$make"); $make \"\$1\"" sh "$build" >"$build/log" 2>&1; then
    tail -n 20 "$build/log" >&2
    echo "$name: $version does not build" >&2
    exit 1
  fi
  mkdir -p "$directory"
  # Whole at once: a build that was ended leaves none that looks like one.
  cp "$build/$name" "$binary.$$"
  mv "$binary.$$" "$binary"
  echo "$binary"
}
