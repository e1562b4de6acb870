#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Builds the OpenTelemetry Collector that the agent's pushes are tried with, by its own builder, and
# prints the binary's path. It has the receiver and the exporter that this needs. It is built once.
#
#   IRQPATH_OTELCOL=$(scripts/otelcol.sh) cargo test -p irqpath --test cli_agent_push -- real
#
# Needs Go and its modules, from a proxy or from the network. The first build takes minutes.
# Exit codes: 0 built, 1 it does not build, 2 there is no Go.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=v0.165.0
directory=$(realpath -m "${CARGO_TARGET_DIR:-target}/tools/otelcol-$version")
binary=$directory/otelcol

if [[ -x $binary ]]; then
  echo "$binary"
  exit
fi
if ! command -v go >/dev/null; then
  echo 'otelcol: go is not installed: its builder is written in Go' >&2
  exit 2
fi

build=$(mktemp -d "${TMPDIR:-/var/tmp}/irqpath-otelcol.XXXXXX")
trap 'rm -rf --one-file-system "$build"' EXIT
trap 'exit 130' INT TERM HUP

cat >"$build/manifest.yaml" <<END
dist: {name: otelcol, output_path: $build/source}
receivers:
  - gomod: go.opentelemetry.io/collector/receiver/otlpreceiver $version
exporters:
  - gomod: go.opentelemetry.io/collector/exporter/debugexporter $version
END
# The directory belongs to no repository.
export GOFLAGS="${GOFLAGS:-} -buildvcs=false"
if ! (cd "$build" && go run "go.opentelemetry.io/collector/cmd/builder@$version" \
  --config manifest.yaml) >"$build/log" 2>&1; then
  tail -n 5 "$build/log" >&2
  echo "otelcol: the Collector $version does not build" >&2
  exit 1
fi
mkdir -p "$directory"
# Whole at once: a build that was ended leaves none that looks like one.
cp "$build/source/otelcol" "$binary.$$"
mv "$binary.$$" "$binary"
echo "$binary"
