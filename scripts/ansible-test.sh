#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs the Ansible role of deploy/ansible on a Debian that was just made and boots by its own systemd, in
# a container of systemd-nspawn: install, again without a change, refuse a setting that is wrong, change
# one, remove. The agent traces this machine meanwhile. A line for each step.
#
#   scripts/ansible-test.sh [SUITE]      bookworm unless named
#
# Needs root, debootstrap, systemd-nspawn, and the Debian package of `scripts/packages.sh deb`.
# Exit codes: 0 all passed, 1 something failed, 2 it cannot run here.
# shellcheck disable=SC2154,SC2317 # of root.sh; reached through step
set -euo pipefail
script=$(realpath "${BASH_SOURCE[0]}")
cd "$(dirname "$script")/.."

suite=${1:-bookworm}
label=ansible
skip() { echo "skipped: ansible on $suite: $*"; exit 2; }
# shellcheck source=scripts/root.sh
. scripts/root.sh

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
package=target/packages/irqpath_$version-1_$(dpkg --print-architecture).deb
require_root_tools
command -v systemd-nspawn >/dev/null || skip 'systemd-nspawn is not installed; run scripts/setup.sh --with packages'
[[ -e $package ]] || skip 'there is no package; run scripts/packages.sh deb'
in_namespace "$@"

# The agent needs its two capabilities and bpf(2); a container has neither of its own.
start() {
  systemd-nspawn --quiet --register=no --keep-unit --boot --directory="$root" --console=read-only \
    --capability=CAP_BPF,CAP_PERFMON --system-call-filter='bpf perf_event_open' </dev/null >"$root.boot" 2>&1 &
  nspawn=$!
  trap 'kill "$nspawn" 2>/dev/null; wait "$nspawn" 2>/dev/null || true' EXIT
  local left=60
  until leader=$(pgrep -P "$nspawn"); do
    ((left-- > 0)) || { tail -n 5 "$root.boot" >&2; exit 1; }
    sleep 1
  done
}

is_booted() {
  local left=120
  until [[ $(inside systemctl is-system-running 2>/dev/null) == running ]]; do
    ((left-- > 0)) || { tail -n 5 "$root.boot" >&2; return 1; }
    sleep 1
  done
}

# With nothing of this environment.
inside() {
  nsenter --all --target "$leader" env -i HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# play CHANGED SETTING...: runs the playbook; CHANGED is how many tasks changed something, or `some`.
play() {
  local changed=$1 setting options=()
  shift
  for setting; do options+=(-e "$setting"); done
  inside ansible-playbook -i localhost, -c local /deploy/agent.yml "${options[@]}" >"$root.play" 2>&1 ||
    { tail -n 12 "$root.play" >&2; return 1; }
  grep -qE "changed=$([[ $changed == some ]] && echo '[1-9]' || echo "$changed") .*failed=0 " "$root.play" ||
    { grep -E '^changed|changed=' "$root.play" >&2; return 1; }
}

answers() { inside python3 -c 'import urllib.request as u; print(u.urlopen("http://127.0.0.1:9464/metrics").read().decode())'; }

runs() {
  [[ $(inside systemctl is-enabled irqpath-agent) == enabled ]]
  [[ $(inside systemctl is-active irqpath-agent) == active ]]
  answers >"$root.metrics"
  grep -q '^irqpath_hardirqs_total{' "$root.metrics"
}

# What the unit gives: no capability is left, and systemd's own judgement of it.
unit_is_confined() {
  local id
  id=$(inside systemctl show -p MainPID --value irqpath-agent)
  inside grep -qP '^CapEff:\t0+$' "/proc/$id/status"
  inside grep -qP '^Uid:\t[1-9]' "/proc/$id/status"
  inside systemd-analyze verify --man=no irqpath-agent.service
  inside systemd-analyze security --threshold=20 irqpath-agent >"$root.security" ||
    { tail -n 2 "$root.security" >&2; return 1; }
  tail -n 1 "$root.security"
}

# The unit has procps' kill, and shield and tune its other programs.
has_dependencies() {
  inside dpkg-query -W procps >/dev/null
  inside dpkg --status irqpath | grep -qE '^Depends: (.*, )?procps\b'
}

refuses_mistake() {
  if play some 'irqpath_agent_package=/deploy/irqpath.deb' '{"irqpath_agent_settings": {"max_path": 3}}'; then return 1; fi 2>/dev/null
  grep -q 'unknown field' "$root.play"
  runs
}

changes_setting() {
  play some 'irqpath_agent_package=/deploy/irqpath.deb' '{"irqpath_agent_settings": {"per_cpu": true, "targets": "units"}}'
  runs
  grep -q 'cpu="0"' "$root.metrics"
  grep -q 'unit="' "$root.metrics"
}

is_gone() {
  inside test ! -e /usr/bin/irqpath -a ! -e /etc/irqpath -a ! -e /var/cache/irqpath -a ! -e /var/lib/irqpath
  [[ $(inside systemctl is-active irqpath-agent || true) == inactive ]]
}

make_root ca-certificates,dbus,procps,python3,python3-apt,systemd,systemd-sysv
step 'ansible-core' in_root / DEBIAN_FRONTEND=noninteractive sh -c \
  'apt-get -qq update && apt-get -qq install --no-install-recommends ansible-core >/dev/null 2>&1'
rm "$root/usr/sbin/policy-rc.d"
for part in proc sys dev run; do umount --recursive --lazy "$root/$part"; done
cp -r deploy/ansible "$root/deploy"
cp "$package" "$root/deploy/irqpath.deb"
start
step 'boot' is_booted
step 'install, enable, start' play some irqpath_agent_package=/deploy/irqpath.deb
step 'it traces and answers' runs
step 'the unit as it runs: user, capabilities, verify, security' unit_is_confined
step 'what the package depends on is there' has_dependencies
step 'once more: nothing changes' play 0 irqpath_agent_package=/deploy/irqpath.deb
step 'a mistake in the settings: refused, the agent goes on' refuses_mistake
step 'other settings' changes_setting
step 'remove' play some irqpath_agent_state=absent
step 'nothing is left' is_gone
step 'remove once more: nothing changes' play 0 irqpath_agent_state=absent
exit "$failed"
