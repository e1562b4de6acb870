#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# lost.sh JSON [why]: how many records `irqpath trace --json` says were lost, or the reasons. Paths
# that had no end to join (the target exited, or had not slept yet) and clamped stamps lose nothing
# and do not count, as in irqpath's own output.
set -euo pipefail
awk -v why="${2:-}" '
  /"loss": *\{/ { inside = 1 }
  inside && /"[a-z_]+": *[0-9]+/ && !/task_exit|thread_coalesced|clock_skew|stale_wakeup/ {
    split($0, part, /[:",]+/)
    lost += part[3]
    reasons = reasons sep part[2] " " part[3] + 0
    sep = ", "
  }
  inside && /\}/ { inside = 0 }
  END { print why ? reasons : lost + 0 }' "$1"
