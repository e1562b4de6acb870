#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Makes Debian packages of the irqpath kernel for a whole system: Debian's source with our part, and
# the configuration of Debian's -rt kernel with kernel/config/distribution.config. A neighbour of
# packages.sh, which calls it as kind `kernel`.
#
#   scripts/kernel-package.sh [--configure] DIR
#
# DIR becomes the build; the packages lie beside what is built there. --configure stops when the
# configuration is there and was checked, which takes a minute; the whole takes hours, on IRQPATH_JOBS
# CPUs (all unless set), and goes on where it was when it is called again.
# Exit codes: 0 made, 1 something failed, 2 a tool is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage='usage: scripts/kernel-package.sh [--configure] DIR'
only_configure=0
if [[ ${1:-} == --configure ]]; then only_configure=1; shift; fi
build=$(realpath -m "${1:?$usage}")
fragment=$PWD/kernel/config/distribution.config
hooks=$PWD/kernel/hooks/6.12
if [[ $(uname -m) != x86_64 ]]; then echo 'kernel: it is built on x86-64, for x86-64' >&2; exit 2; fi

die() { echo "kernel: $*" >&2; exit "${2:-1}"; }

for tool in bc bison flex gcc-12 pahole rsync cpio dpkg-deb kmod openssl; do
  command -v "$tool" >/dev/null || {
    echo "kernel: $tool is not installed; run scripts/setup.sh --with packages" >&2
    exit 2
  }
done
[[ -e /usr/include/openssl/ssl.h ]] || { echo 'kernel: libssl-dev is not installed; run scripts/setup.sh --with packages' >&2; exit 2; }

# Debian's source with our files and patches, in a directory of its own. One that was made before stays,
# with what was built in it: a build of hours that was ended goes on where it was, and after a change
# of our part only what reads a file that differs is built again.
make_source() {
  local pristine=$1 patch inputs fresh=$build/linux.new
  inputs=$({ echo "$pristine"; cat "$pristine/inputs"; find kernel/overlay "$hooks" -type f -print0 | sort -z | xargs -0 sha256sum; } | sha256sum)
  if [[ -e $build/source && $(<"$build/source") == "$inputs" ]]; then return; fi
  rm -rf "$fresh" "$build/source"
  mkdir -p "$build"
  cp -a --reflink=auto "$pristine" "$fresh"
  # What the lab's cache knows it by.
  rm -f "$fresh/inputs"
  cp -r kernel/overlay/. "$fresh/"
  while read -r patch; do
    case $patch in '' | '#'*) continue ;; esac
    patch -d "$fresh" -p1 --quiet --no-backup-if-mismatch <"$hooks/$patch" || die "$patch does not apply"
  done <"$hooks/series"
  (cd "$fresh" && find . -type f | sort) >"$build/files.new"
  if [[ -d $build/linux ]]; then
    # make goes by times: a file of the same content keeps its own, one that differs is as new as the copy.
    rsync -rlpc "$fresh/" "$build/linux/"
    if [[ -e $build/files ]]; then
      comm -23 "$build/files" "$build/files.new" | (cd "$build/linux" && xargs -r -d '\n' rm -f --)
    fi
    rm -rf "$fresh"
  else
    mv "$fresh" "$build/linux"
  fi
  mv "$build/files.new" "$build/files"
  echo "$inputs" >"$build/source"
}

make_kernel() { make -C "$build/linux" CC=gcc-12 HOSTCC=gcc-12 LOCALVERSION= "$@"; }

# The options of a configuration as NAME=VALUE, those that are off as NAME=n.
list_options() { sed -nE 's/^CONFIG_([A-Za-z0-9_]+)=/\1=/p; s/^# CONFIG_([A-Za-z0-9_]+) is not set$/\1=n/p' "$1"; }

# What two compilers of the same series may differ in.
of_tools='^((CC|RUSTC|BINDGEN)_VERSION_TEXT|(GCC|CLANG|AS|LD|LLD|PAHOLE|RUSTC|RUSTC_LLVM)_VERSION|RUSTC?_.*|HAVE_RUST|CC_HAS_.*|AS_HAS_.*)$'

# check_config DEBIANS OURS: each option of the fragment came true, each of Debian's that it does not
# name is kept or listed as lost, and what is new and on is ours.
check_config() {
  local problems lost
  lost="^($(grep -vE '^(#|$)' "${fragment%.config}.lost" | paste -sd '|'))$"
  list_options "$1" >"$build/list.debian"
  list_options "$fragment" >"$build/list.wanted"
  list_options "$2" >"$build/list.ours"
  problems=$(awk -v of_tools="$of_tools" -v lost="$lost" '
    { at = index($0, "="); name = substr($0, 1, at - 1); value = substr($0, at + 1) }
    FILENAME ~ /debian$/ { debian[name] = value }
    FILENAME ~ /wanted$/ { wanted[name] = value }
    FILENAME ~ /ours$/ { ours[name] = value }
    END {
      for (name in wanted) if (ours[name] != wanted[name]) print "did not come true: " name
      for (name in debian) if (!(name in wanted) && name !~ of_tools) {
        if (!(name in ours) && name ~ lost) { nr_lost++; continue }
        if (ours[name] == debian[name]) continue
        print "is not as in the configuration of Debian: " name " was " debian[name] ", is " ours[name]
      }
      for (name in ours) if (!(name in debian) && !(name in wanted) && name !~ of_tools && name !~ /^IRQPATH_/ && ours[name] != "n")
        print "is new and neither from Debian nor ours: " name
      print nr_lost + 0 > "'"$build"'/nr_lost"
    }' "$build"/list.{debian,wanted,ours})
  [[ -z $problems ]] || { echo "$problems" >&2; die "the configuration is not what it should be"; }
  echo "kernel: of $(wc -l <"$build/list.debian") options of Debian, $(<"$build/nr_lost") are lost as listed;" \
    "$(wc -l <"$build/list.wanted") are ours"
}

mapfile -t paths < <(cargo run --locked --quiet -p irqpath-lab --example distribution_kernel)
[[ ${#paths[@]} == 2 ]] || die "the source cannot be had" 2
make_source "${paths[0]}"
cp "${paths[1]}" "$build/debian.config"
(
  cd "$build/linux"
  KCONFIG_CONFIG=.config scripts/kconfig/merge_config.sh -m -Q "$build/debian.config" "$fragment"
) >"$build/merge.log" 2>&1 || { tail -n 5 "$build/merge.log" >&2; die 'the configurations cannot be merged'; }
make_kernel olddefconfig >"$build/configure.log" 2>&1 || { tail -n 5 "$build/configure.log" >&2; die 'make olddefconfig failed'; }
check_config "$build/debian.config" "$build/linux/.config"
if [[ $only_configure == 1 ]]; then exit; fi

# Those of an earlier build, which are not of this one.
rm -f "$build"/*.deb
export KBUILD_BUILD_USER=irqpath KBUILD_BUILD_HOST=irqpath
KBUILD_BUILD_TIMESTAMP=$(git log -1 --format=%cd --date=rfc2822)
export KBUILD_BUILD_TIMESTAMP
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
make_kernel -j"${IRQPATH_JOBS:-$(nproc)}" KDEB_PKGVERSION="1:$version-1" \
  DEBFULLNAME='irqpath developers' DEBEMAIL=irqpath@example.org bindeb-pkg >"$build/build.log" 2>&1 ||
  { tail -n 20 "$build/build.log" >&2; die "make bindeb-pkg failed; $build/build.log has the rest"; }
ls "$build"/*.deb
