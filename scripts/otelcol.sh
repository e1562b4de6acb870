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

# shellcheck source=scripts/go-tool.sh
. scripts/go-tool.sh

# shellcheck disable=SC2317 # called by go_tool, with the version
build_otelcol() {
  printf '%s\n' "dist: {name: otelcol, output_path: $1/source}" \
    receivers: "  - gomod: go.opentelemetry.io/collector/receiver/otlpreceiver $version" \
    exporters: "  - gomod: go.opentelemetry.io/collector/exporter/debugexporter $version" \
    >"$1/manifest.yaml"
  cd "$1"
  # The directory belongs to no repository.
  export GOFLAGS="${GOFLAGS:-} -buildvcs=false"
  go run "go.opentelemetry.io/collector/cmd/builder@$version" --config manifest.yaml
  mv source/otelcol otelcol
}

go_tool otelcol v0.165.0 build_otelcol
