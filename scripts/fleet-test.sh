#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tries what takes the agent to many hosts, as far as one machine can: the chart, the manifests, the
# container with the privileges that they give it, the alerts, the dashboard and a Collector. A line
# for each step; what this machine lacks is skipped and says so.
#
#   scripts/fleet-test.sh
#
# The container is that of `scripts/packages.sh oci`, run by podman as the DaemonSet's pod. A second
# agent is a process of this machine: the binary of IRQPATH_RELEASE, or target/release/irqpath. Both
# trace this machine. Needs root for that; docs/fleet.md says where helm and kubeconform come from.
# Exit codes: 0 all passed, 1 something failed.
# shellcheck disable=SC2034,SC2154,SC2317 # of root.sh; reached through step
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

label=fleet
suite=host
# shellcheck source=scripts/root.sh
. scripts/root.sh

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
archive=target/packages/irqpath-$version-$(uname -m)-oci.tar
chart=deploy/helm/irqpath
manifests=deploy/kubernetes
agent=127.0.0.1:9464
second=127.0.0.1:19466
binary=${IRQPATH_RELEASE:-target/release/irqpath}
collector=127.0.0.1:14319
prometheus=127.0.0.1:19464
sink=127.0.0.1:14318
kubernetes_version=v1.34.4
operator_version=v0.85.0
work=$(mktemp -d "${TMPDIR:-/var/tmp}/irqpath-fleet.XXXXXX")
started=()

clean_up() {
  local id
  if [[ -d $work/storage ]]; then pod_command pod rm -f irqpath >/dev/null 2>&1 || true; fi
  for id in "${started[@]}"; do kill "$id" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# has WHAT TOOL...: says so if one is missing.
has() {
  local what=$1 tool
  shift
  for tool; do
    command -v "$tool" >/dev/null || { echo "skipped: $label: $what: $tool is not installed"; return 1; }
  done
}

# wait_until SECONDS COMMAND...
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || { echo "never: $*" >&2; return 1; }
    sleep 0.5
  done
}

# The chart.

refuses() {
  local wanted=$1
  shift
  if helm template irqpath "$chart" "$@" >"$work/refused" 2>&1; then return 1; fi
  grep -q -e "$wanted" "$work/refused"
}

lint_chart() {
  helm lint --strict "$chart" >"$work/lint" 2>&1 || { cat "$work/lint" >&2; return 1; }
}

refuses_mistakes() {
  refuses prot --set prot=1
  refuses access --set access=everybody
  refuses 'needs access rbacProxy' --set serviceMonitor.enabled=true
  refuses 'may not set listen' --set-string 'config=listen = []'
  refuses 'may not set record' --set-string 'config=[record]'
  refuses 'may not set directory' --set record.enabled=true --set-string 'record.config=memory_mib = 9'
  refuses memoryMiB --set record.memoryMiB=63
}

# contains_all TEXT...: in what the chart renders with a recorder.
contains_all() {
  local text
  for text; do
    grep -qF -e "$text" "$work/recorder" || { echo "the chart does not render: $text" >&2; return 1; }
  done
}

# The limit of memory and the volume follow the settings of the recorder.
fits_recorder() {
  helm template irqpath "$chart" --set record.enabled=true --set record.memoryMiB=300 \
    --set record.diskMiB=500 >"$work/recorder"
  contains_all 'memory_mib = 300' 'disk_mib = 500' 'memory: 364Mi' 'memory: 300Mi' 'cpu: 20m' \
    'path: /var/lib/irqpath-agent' 'threshold_us = 5000'
  helm template irqpath "$chart" --set record.enabled=true --set record.hostPath= >"$work/recorder"
  contains_all 'sizeLimit: 2048Mi' 'memory: 256Mi'
}

check_alerts() { (cd deploy/prometheus && promtool check rules irqpath.rules.yml && promtool test rules irqpath.tests.yml) >"$work/rules"; }

lint_role() {
  (cd deploy/ansible && ansible-lint --offline --nocolor --profile production agent.yml) >"$work/role" 2>&1 ||
    { head -n 20 "$work/role" >&2; return 1; }
}

# The schemas of Kubernetes and of the Prometheus operator, from their releases.

# module PATH: its directory, downloaded if need be.
module() { go mod download -json "$1" | jq -r .Dir; }

matches_schemas() {
  local kubernetes operator kind definitions=()
  kubernetes=$(module "k8s.io/kubernetes@$kubernetes_version")
  operator=$(module "github.com/prometheus-operator/prometheus-operator@$operator_version")
  for kind in servicemonitors prometheusrules; do
    definitions+=("$operator/example/prometheus-operator-crd/monitoring.coreos.com_$kind.yaml")
  done
  mkdir "$work/schemas"
  scripts/kubernetes-schemas.py "$work/schemas" "$kubernetes/api/openapi-spec/swagger.json" "${definitions[@]}"
  validate "$manifests"/*.yaml
  # A field with a mistake in its name must not pass.
  if sed 's/hostPID:/hostPid:/' "$manifests/agent.yaml" | validate - 2>/dev/null; then return 1; fi
}

validate() {
  kubeconform -strict -schema-location "$work/schemas/{{.ResourceKind}}{{.KindSuffix}}.json" "$@" >"$work/validated" ||
    { cat "$work/validated" >&2; return 1; }
}

# The container, as the pod of the DaemonSet.

pod_command() {
  CONTAINERS_CONF=$work/containers.conf podman --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"
}

# pod_manifest: the DaemonSet's template as a pod. Podman 4.3 reads an annotation, not seccompProfile,
# and its own profile refuses bpf(2) to a container with CAP_BPF: the chart's profile is used.
pod_manifest() {
  local manifest=deploy/kubernetes/agent.yaml
  echo 'apiVersion: v1'
  awk '/^---$/ { on = 0 } /^kind: ConfigMap$/ { on = 1 } on' "$manifest"
  printf -- '---\napiVersion: v1\nkind: Pod\n'
  awk 'on { sub(/^    /, ""); print } /^  template:$/ { on = 1 }' "$manifest" |
    sed "s,image: .*,image: localhost/irqpath:$version,
      s,^metadata:,&\n  name: irqpath,
      s,^  annotations:,&\n    container.seccomp.security.alpha.kubernetes.io/agent: localhost/seccomp.json,"
}

# The network is this machine's; runc knows the hybrid hierarchy of cgroups, crun does not.
start_pod() {
  mkdir "$work/storage"
  cat >"$work/containers.conf" <<END
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
log_driver = "k8s-file"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
END
  pod_command load --quiet --input "$archive" >"$work/load" 2>&1
  pod_manifest >"$work/pod.yaml"
  pod_command kube play --seccomp-profile-root "$PWD/$chart/files" "$work/pod.yaml" >"$work/play" 2>&1 ||
    { tail -n 5 "$work/play" >&2; return 1; }
  wait_until 120 curl -sf "http://$agent/-/healthy" || { pod_command logs irqpath-agent 2>&1 | tail -n 3 >&2; return 1; }
}

# What it was given at its start, and what it has now.
is_confined() {
  local id status
  pod_command inspect irqpath-agent >"$work/inspected" 2>/dev/null
  jq -e '.[0] | .BoundingCaps == ["CAP_BPF", "CAP_PERFMON"] and .EffectiveCaps == .BoundingCaps
    and .HostConfig.ReadonlyRootfs and .HostConfig.PidMode == "private"
    and (.HostConfig.SecurityOpt | index("no-new-privileges")) and .RestartCount == 0' "$work/inspected" >/dev/null
  id=$(jq '.[0].State.Pid' "$work/inspected")
  status=$(cat "/proc/$id/status")
  grep -qP '^CapBnd:\t000000c000000000$' <<<"$status"
  grep -qP '^CapPrm:\t0+$' <<<"$status"
  grep -qP '^Seccomp_filters:\t2$' <<<"$status"
}

# A second agent, a process, which pushes to a Collector if there is one.

build_collector() { scripts/otelcol.sh >"$work/otelcol"; }

# Its log has every point that it gets.
start_collector() {
  cat >"$work/collector.yaml" <<END
receivers: {otlp: {protocols: {http: {endpoint: '$collector'}}}}
exporters: {debug: {verbosity: detailed}}
service:
  telemetry: {metrics: {level: none}}
  pipelines: {metrics: {receivers: [otlp], exporters: [debug]}}
END
  "$(cat "$work/otelcol")" --config "$work/collector.yaml" >"$work/collector.log" 2>&1 &
  started+=($!)
}

# start_second [SETTING]: with the capabilities of its unit. So low a threshold makes slow paths of
# what a quiet machine does, too, so that every table has rows.
start_second() {
  printf '%s\n' "listen = ['$second']" 'threshold_us = 20' "$@" >"$work/second.toml"
  setpriv --bounding-set=-all,+bpf,+perfmon "$binary" agent --config "$work/second.toml" \
    >/dev/null 2>"$work/second.log" &
  second_id=$!
  started+=("$second_id")
}

second_answers() {
  wait_until 120 curl -sf "http://$second/-/healthy" ||
    { tail -n 3 "$work/second.log" >&2; return 1; }
}

has_pushed() {
  curl -sf "http://$second/metrics" >"$work/second.txt"
  grep -qE '^irqpath_otlp_pushes_total\{result="accepted"\} ([2-9]|[1-9][0-9])' "$work/second.txt"
}

collector_takes_everything() {
  local part
  wait_until 60 has_pushed || { tail -n 3 "$work/collector.log" "$work/second.log" >&2; return 1; }
  grep -qE '^irqpath_otlp_rejected_points_total(\{\})? 0(\.0)?$' "$work/second.txt"
  for part in 'Name: irqpath_path_seconds' 'DataType: ExponentialHistogram' Exemplars: 'Max: ' \
    'AggregationTemporality: Cumulative' 'service.name: Str(irqpath-agent)'; do
    grep -qF "$part" "$work/collector.log" ||
      { echo "the Collector got no '$part'" >&2; return 1; }
  done
}

# The two agents, a real Prometheus, the alerts and the dashboard.

# An alert waits for as long as its rule says; here for 4 s, so that the test sees it fire.
start_prometheus() {
  sed -E 's/^( *for: ).*/\14s/' deploy/prometheus/irqpath.rules.yml >"$work/rules.yml"
  cat >"$work/prometheus.yml" <<END
global: {scrape_interval: 2s, evaluation_interval: 2s}
rule_files: [$work/rules.yml]
scrape_configs:
  - {job_name: irqpath, static_configs: [{targets: ['$agent', '$second']}]}
END
  prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/series" \
    --web.listen-address="$prometheus" --enable-feature=native-histograms >"$work/prometheus.log" 2>&1 &
  started+=($!)
}

# query EXPRESSION: its result as JSON; fails if Prometheus does not understand it.
query() { curl -sf --data-urlencode "query=$1" "http://$prometheus/api/v1/query" | jq -ec '.data.result'; }

has_rows() { [[ $(query "$1" | jq length) -gt 0 ]]; }

both_are_scraped() {
  wait_until 60 has_rows 'count(up{job="irqpath"} == 1) == 2'
  wait_until 60 has_rows 'count(histogram_quantile(0.99,
    sum by (instance) (rate(irqpath_path_seconds[10s]))) > 0) == 2'
  wait_until 30 has_rows 'count(
    sum by (instance) (irqpath_hardirqs_total{origin=~"[0-9]+:.+"}) > 0) == 2'
}

# Every query of the dashboard with its variables filled in, and every rule. Each query has rows but
# that of isolated CPUs, which a machine need not have.
answers_dashboard() {
  local expression rules
  while IFS= read -r expression; do
    # shellcheck disable=SC2016 # Grafana's variables
    expression=$(sed 's/\$instance/.*/g; s/\$__rate_interval/10s/g' <<<"$expression")
    query "$expression" >"$work/result" || { echo "no answer: $expression" >&2; return 1; }
    if [[ $expression == *irqpath_isolated_cpu_* ]]; then continue; fi
    wait_until 30 has_rows "$expression" || { echo "no rows: $expression" >&2; return 1; }
  done < <(jq -r '.. | .expr? // empty' deploy/grafana/irqpath.json)
  rules=$(grep -c ' alert: ' deploy/prometheus/irqpath.rules.yml)
  curl -sf "http://$prometheus/api/v1/rules" | jq -e --argjson n "$rules" \
    '[.data.groups[].rules[]] | length == $n and all(.health == "ok")' >/dev/null
}

# Of the agent that ended, not of the other one.
alert_fires() {
  local down='ALERTS{alertname="IrqpathAgentDown", alertstate="firing"'
  if has_rows "$down}"; then echo 'it fires while both agents answer' >&2; return 1; fi
  kill "$second_id"
  wait_until 60 has_rows "$down, instance=\"$second\"}"
  if has_rows "$down, instance=\"$agent\"}"; then echo 'it names the wrong agent' >&2; return 1; fi
}

# The same pod with TLS, a password and pushes to a collector, which need system calls of their own.

# openssl_quietly ARGUMENT...
openssl_quietly() { openssl "$@" 2>"$work/openssl" || { tail -n 3 "$work/openssl" >&2; return 1; }; }

make_certificates() {
  local key=(-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes)
  mkdir "$work/tls"
  openssl_quietly req -x509 "${key[@]}" -keyout "$work/ca.key" -out "$work/tls/ca.crt" -subj /CN=test -days 2
  openssl_quietly req "${key[@]}" -keyout "$work/tls/server.key" -out "$work/request" -subj /CN=agent
  printf 'subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n' >"$work/extensions"
  openssl_quietly x509 -req -in "$work/request" -CA "$work/tls/ca.crt" -CAkey "$work/ca.key" -CAcreateserial \
    -extfile "$work/extensions" -days 2 -out "$work/tls/server.crt"
  chmod 600 "$work/tls/server.key"
  # The password is `secret`.
  cat >"$work/tls/web.yml" <<'END'
tls_server_config: {cert_file: server.crt, key_file: server.key}
basic_auth_users: {prometheus: '$2b$10$mMAErCPQIOh6fcrwIuEFHOLPMmH8CRfnJ8oMePFAk9tWhYooZgFY6'}
END
}

# It takes every push, as a collector would, over TLS.
start_sink() {
  cat >"$work/sink.py" <<'END'
import http.server, ssl, sys
class Sink(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Sink)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[2] + "/server.crt", sys.argv[2] + "/server.key")
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
END
  python3 "$work/sink.py" "${sink##*:}" "$work/tls" >"$work/sink.log" 2>&1 &
  started+=($!)
}

securely() { curl -s --cacert "$work/tls/ca.crt" "$@"; }

pushes() {
  securely -f -u prometheus:secret "https://$agent/metrics" | grep -qE '^irqpath_otlp_pushes_total\{result="accepted"\} [1-9]'
}

start_secure_pod() {
  pod_command pod rm -f irqpath >/dev/null 2>&1
  sed "s,^    targets = .*,&\n    web_config = \"/tls/web.yml\"\n    otlp = { endpoint = \"https://$sink\"\, interval_s = 1\, ca_file = \"/tls/ca.crt\" },
    s,^      volumeMounts:$,&\n        - {name: tls\, mountPath: /tls\, readOnly: true},
    s,^  volumes:$,&\n    - {name: tls\, hostPath: {path: $work/tls\, type: Directory}}," "$work/pod.yaml" >"$work/secure.yaml"
  pod_command kube play --seccomp-profile-root "$PWD/$chart/files" "$work/secure.yaml" >"$work/play" 2>&1 ||
    { tail -n 5 "$work/play" >&2; return 1; }
  wait_until 120 securely -f -u prometheus:secret "https://$agent/-/healthy" ||
    { pod_command logs irqpath-agent 2>&1 | tail -n 3 >&2; return 1; }
  [[ $(securely -o /dev/null -w '%{http_code}' "https://$agent/metrics") == 401 ]]
  wait_until 30 pushes
}

# Fails if there is no container here.
test_container() {
  if [[ ! -e $archive ]]; then
    echo "skipped: $label: the container: run scripts/packages.sh oci"
    return 1
  fi
  has 'the container' podman runc catatonit jq curl || return 1
  step "the DaemonSet's pod starts" start_pod
  step 'it has CAP_BPF and CAP_PERFMON to start, and nothing then' is_confined
}

test_collector() {
  local settings=()
  if has 'the Collector' go; then
    step 'a Collector is built' build_collector
    if [[ -s $work/otelcol ]]; then
      start_collector
      settings=("otlp = { endpoint = 'http://$collector', interval_s = 1 }")
    fi
  fi
  start_second "${settings[@]}"
  step 'a second agent answers' second_answers
  if [[ ${#settings[@]} == 0 ]]; then return; fi
  step 'the Collector takes every point' collector_takes_everything
}

test_agents() {
  if [[ $EUID != 0 ]]; then echo "skipped: $label: the agents: they need root"; return; fi
  test_container || return 0
  if [[ ! -x $binary ]]; then
    echo "skipped: $label: the second agent: there is no $binary; set IRQPATH_RELEASE"
    return
  fi
  has 'the second agent' setpriv || return 0
  test_collector
  has 'the scrape' prometheus || return 0
  start_prometheus
  step 'Prometheus scrapes both: native histograms, names of lines' both_are_scraped
  step "the dashboard's queries have rows, and the rules are sound" answers_dashboard
  step 'the alert of an agent that is down fires, for that one' alert_fires
  has 'TLS and OTLP in the pod' openssl python3 || return 0
  make_certificates
  start_sink
  step 'with TLS, a password and pushes over OTLP: the profile allows it' start_secure_pod
  step 'it is as confined then' is_confined
}

step 'the manifests are what the chart renders' scripts/manifests.sh
if has 'the chart' helm; then
  step 'helm lint' lint_chart
  step 'mistakes in values are refused' refuses_mistakes
  step 'the memory and the volume of a recorder follow its settings' fits_recorder
fi
if has 'the alerts' promtool; then step 'every alert fires' check_alerts; fi
if has 'the schemas of Kubernetes' go kubeconform jq python3; then
  step "the manifests match the schemas of Kubernetes $kubernetes_version" matches_schemas
fi
if has 'the Ansible role' ansible-lint; then step 'ansible-lint' lint_role; fi
test_agents
exit "$failed"
