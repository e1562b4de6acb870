#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the kubelet whose pods `shield hook` is tried with, and prints the binary's path. No package of
# Debian's has one. It is built once.
#
#   IRQPATH_KUBELET=$(scripts/kubelet.sh) IRQPATH_PID1=1 \
#     cargo test -p irqpath-testing --test guests pid1::others
#
# Needs Go and its modules, from a proxy or from the network. The first build takes ten minutes.
# Exit codes: 0 built, 1 it does not build, 2 there is no Go.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Kubernetes 1.N.P is the module k8s.io/kubernetes v1.N.P, and its parts are v0.N.P.
version=32.10
directory=$(realpath -m "${CARGO_TARGET_DIR:-target}/tools/kubelet-v1.$version")
binary=$directory/kubelet

if [[ -x $binary ]]; then
  echo "$binary"
  exit
fi
if ! command -v go >/dev/null; then
  echo 'kubelet: go is not installed' >&2
  exit 2
fi

build=$(mktemp -d "${TMPDIR:-/var/tmp}/irqpath-kubelet.XXXXXX")
trap 'rm -rf --one-file-system "$build"' EXIT
trap 'exit 130' INT TERM HUP

build_kubelet() {
  local module part=component-base/version
  module=$(go mod download -json "k8s.io/kubernetes@v1.$version" |
    sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  cp -r --no-preserve=mode "$module" "$build/source"
  cd "$build/source"
  # Its parts are directories of its repository, which the module does not have.
  sed -i -E "s#^(\s*)(k8s.io/[a-z0-9-]+) => \./staging/.*#\1\2 => \2 v0.$version#" go.mod
  rm -f go.work
  CGO_ENABLED=0 go build -mod=mod -buildvcs=false -trimpath -o "$build/kubelet" \
    -ldflags "-s -w -X k8s.io/$part.gitVersion=v1.$version -X k8s.io/$part.gitMajor=1" ./cmd/kubelet
}

if ! (build_kubelet) >"$build/log" 2>&1; then
  tail -n 20 "$build/log" >&2
  echo 'kubelet: it does not build' >&2
  exit 1
fi
mkdir -p "$directory"
mv "$build/kubelet" "$binary"
echo "$binary"
