#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The shield-* rows on this machine: scripts/shield-live.sh CPU [SECONDS] [DIR]
#
# Runs the loop test and the response test on CPU three times under the same load: unshielded,
# shielded by irqpath, and shielded by tuna where it is installed; then compares. Needs root and a
# machine that nobody else uses meanwhile. What was shielded is reset whatever happens.
set -eu
cpu=${1:?which CPU shall be shielded?}
seconds=${2:-60}
dir=${3:-shield-result}
irqpath=${IRQPATH:-irqpath}
[ "$(id -u)" = 0 ] || { echo "needs root" >&2; exit 2; }
[ ! -e "$dir" ] || { echo "$dir exists; choose another name" >&2; exit 2; }
mkdir -p "$dir"

load=
noise=$(mktemp -d)
clean() {
	for pid in $load; do
		kill "$pid" 2> /dev/null || true
	done
	"$irqpath" shield reset > /dev/null 2>&1 || true
	put_back
	rm -rf "$noise"
}
trap clean EXIT
trap 'exit 2' INT TERM HUP

# What tuna moves is put back by this script: `include` of 0.15 ends in an error, and it gives
# every task the CPU, also one that did not have it.
affinities() {
	for task in /proc/[0-9]*/task/[0-9]*; do
		taskset -p "${task##*/}" 2> /dev/null |
			sed -n "s/^pid \([0-9]*\)'s current affinity mask: \(.*\)/\1 \2/p"
	done > "$dir/before-tuna.tasks"
	grep -H '' /proc/irq/*/smp_affinity_list /proc/irq/default_smp_affinity > "$dir/before-tuna.irqs"
}
put_back() {
	[ -e "$dir/before-tuna.tasks" ] || return 0
	while read -r task mask; do
		taskset -p "$mask" "$task" > /dev/null 2>&1 || true
	done < "$dir/before-tuna.tasks"
	while IFS=: read -r file value; do
		[ "$(cat "$file")" = "$value" ] || (echo "$value" > "$file") 2> /dev/null || true
	done < "$dir/before-tuna.irqs"
	rm -f "$dir/before-tuna.tasks" "$dir/before-tuna.irqs"
}

# The document's disk noise, in files that are synced; a copy over the loopback device in the place
# of the network; stress-ng where it is installed.
disk_noise() {
	cd "$noise"
	while :; do
		for n in 1 2 3 4 5 6 7 8; do
			dd if=/dev/zero of="$n" bs=64k count=64 conv=fsync
			cat ./* > all
		done
		rm -f ./*
	done
}
start_load() {
	(disk_noise) > /dev/null 2>&1 &
	load="$load $!"
	if command -v stress-ng > /dev/null; then
		stress-ng --quiet --pipe 1 --timer 1 --sock 1 --fault 1 &
		load="$load $!"
	fi
	sleep 2
}

# The loop of all runs, and its ideal: on the shielded CPU, without a load.
"$irqpath" shield set --cpus "$cpu" > "$dir/set.txt"
"$irqpath" shield run --cpus "$cpu" -- "$irqpath" jitter --cpus "$cpu" -d 5s --json > "$dir/ideal.json"
"$irqpath" shield reset > "$dir/reset.txt"
field() { sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p" "$dir/ideal.json" | head -n 1; }
sines=$(field nr_sines)
ideal=$(field ideal_ns)ns
start_load

measure() {
	name=$1
	shift
	"$@" "$irqpath" jitter --cpus "$cpu" --sines "$sines" --ideal "$ideal" -d "${seconds}s" \
		-o "$dir/jitter-$name" > "$dir/jitter-$name.txt"
	"$@" "$irqpath" respond --cpus "$cpu" -d "${seconds}s" -o "$dir/respond-$name" \
		> "$dir/respond-$name.txt"
}
measure unshielded
"$irqpath" shield set --cpus "$cpu" >> "$dir/set.txt"
measure shielded "$irqpath" shield run --cpus "$cpu" --
"$irqpath" shield reset >> "$dir/reset.txt"
# tuna has commands since 0.17; before that a word that is no option starts its window.
if command -v tuna > /dev/null; then
	affinities
	if tuna --help 2> /dev/null | grep -q -e --isolate; then
		tuna --cpus="$cpu" --isolate
	else
		tuna isolate --cpus "$cpu"
	fi
	measure tuna taskset -c "$cpu"
	put_back
fi
for result in "$dir"/jitter-*.txt; do
	printf '%s\n' "$result"
	grep -E '^(ideal|max|jitter):' "$result"
done
"$irqpath" compare "$dir/respond-unshielded" "$dir/respond-shielded"
if [ -e "$dir/respond-tuna" ]; then
	"$irqpath" compare "$dir/respond-tuna" "$dir/respond-shielded"
fi
