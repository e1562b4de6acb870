#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the tracepoints that irqpath's programs attach to and this kernel has, as `group:name`.
# They are read from the sources of the programs, so that the comparison cannot drift from them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tracepoints() {
  sed -nE 's/^SEC\("tp_btf\/([a-z0-9_]+)"\).*/\1/p' bpf/*.bpf.c
  sed -nE 's/^IP_VECTOR\(([a-z0-9_]+),.*/\1_entry\n\1_exit/p' bpf/*.bpf.c
}

for name in $(tracepoints); do
  for path in /sys/kernel/tracing/events/*/"$name"; do
    if [[ -d $path ]]; then echo "$(basename "$(dirname "$path")"):$name"; fi
  done
done | sort -u
