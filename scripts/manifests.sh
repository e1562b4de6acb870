#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The plain manifests in deploy/kubernetes, for clusters without Helm, are what the chart in
# deploy/helm/irqpath renders. This compares both, and writes them anew with --write. Without helm it
# still compares the rules and the dashboard, in the chart and in the manifests, with the files that they
# are copies of. Helm reads nothing outside of a chart, and links are lost where somebody unpacks one.
#
#   scripts/manifests.sh [--write]
#
# helm is of version 3 or newer: go install helm.sh/helm/v3/cmd/helm@latest
# Exit codes: 0 the same, or written; 1 they differ; 2 helm is missing for --write.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

chart=deploy/helm/irqpath
manifests=deploy/kubernetes
copied=(deploy/prometheus/irqpath.rules.yml deploy/grafana/irqpath.json)
monitored=(access=rbacProxy serviceMonitor.enabled=true prometheusRule.enabled=true dashboard.enabled=true)

# render SETTING...: without what only Helm has a use for.
render() {
  local settings=() setting
  for setting; do settings+=(--set "$setting"); done
  echo '# SPDX-License-Identifier: GPL-2.0-or-later'
  echo '# Rendered from deploy/helm/irqpath by scripts/manifests.sh --write. Do not edit.'
  helm template irqpath "$chart" --namespace irqpath "${settings[@]}" |
    sed 's, *$,,' | grep -vE '^# Source: |helm\.sh/chart: |app\.kubernetes\.io/managed-by: '
}

# contains FILE KIND BEGIN INDENT: every line of FILE, indented, must follow the line BEGIN of the last
# object of this kind.
contains() {
  local file=$1 manifest=$manifests/monitored.yaml
  if awk -v kind="kind: $2" -v begin="$3" -v indent="$4" '
    NR == FNR { want[++n] = $0 == "" ? "" : indent $0; next }
    $0 == kind { at = 0; in_kind = 1; next }
    in_kind && !at && $0 == begin { at = 1; next }
    at && at <= n && $0 != want[at] { at = 0; in_kind = 0; next }
    at && at <= n { at++ }
    END { exit at != n + 1 }' "$file" "$manifest"; then return; fi
  echo "manifests: $manifest has not the content of $file; run scripts/manifests.sh --write" >&2
  return 1
}

if [[ ${1:-} == --write ]]; then
  command -v helm >/dev/null || { echo 'manifests: helm is not installed; the head of this script says how' >&2; exit 2; }
  cp "${copied[@]}" "$chart/files"
  render >"$manifests/agent.yaml"
  render "${monitored[@]}" >"$manifests/monitored.yaml"
  exit
fi

failed=0
for file in "${copied[@]}"; do
  cmp "$file" "$chart/files/${file##*/}" || failed=1
done
contains deploy/prometheus/irqpath.rules.yml PrometheusRule 'spec:' '  ' || failed=1
contains deploy/grafana/irqpath.json ConfigMap '  irqpath.json: |' '    ' || failed=1
if command -v helm >/dev/null; then
  diff -u "$manifests/agent.yaml" <(render) || failed=1
  diff -u "$manifests/monitored.yaml" <(render "${monitored[@]}") || failed=1
else
  echo 'skipped: the manifests rendered anew: helm is not installed'
fi
exit "$failed"
