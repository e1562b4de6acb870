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

# shellcheck source=scripts/go-tool.sh
. scripts/go-tool.sh

# Kubernetes 1.N.P is the module k8s.io/kubernetes v1.N.P, and its parts are v0.N.P.
# shellcheck disable=SC2317 # called by go_tool, with the version
build_kubelet() {
  local module parts=${version/v1/v0}
  module=$(go mod download -json "k8s.io/kubernetes@$version" |
    sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
  cp -r --no-preserve=mode "$module" "$1/source"
  cd "$1/source"
  # Its parts are directories of its repository, which the module does not have.
  sed -i -E "s#^(\s*)(k8s.io/[a-z0-9-]+) => \./staging/.*#\1\2 => \2 $parts#" go.mod
  rm -f go.work
  CGO_ENABLED=0 go build -mod=mod -buildvcs=false -trimpath -o "$1/kubelet" -ldflags "-s -w \
    -X k8s.io/component-base/version.gitVersion=$version \
    -X k8s.io/component-base/version.gitMajor=1" ./cmd/kubelet
}

go_tool kubelet v1.32.10 build_kubelet
