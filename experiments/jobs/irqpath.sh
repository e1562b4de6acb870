# SPDX-License-Identifier: GPL-2.0-or-later
# What jobs on an irqpath kernel share; they source it.
#
# POLICIES are switched on for a series, once SETTINGS (policy/file=value) are written.
P=/sys/kernel/irqpath

# Before anything else is done: nothing else is measured under the name of what is missing.
policies_needed() {
	# shellcheck disable=SC2086 # words
	for file in $(printf '%s/enabled\n' ${POLICIES:-}) ${SETTINGS:-}; do
		if [ "$file" != /enabled ] && [ ! -e "$P/${file%=*}" ]; then
			echo "this kernel has no $P/${file%=*}" >&2
			exit 1
		fi
	done
}

policies_on() {
	for setting in ${SETTINGS:-}; do
		cat "$P/${setting%=*}" > "/tmp/setting-${setting##*/}"
		echo "${setting#*=}" > "$P/${setting%=*}"
	done
	for policy in ${POLICIES:-}; do
		echo 1 > "$P/$policy/enabled"
	done
}

# The settings are put back: the next series may not name them.
policies_off() {
	for policy in ${POLICIES:-}; do
		echo 0 > "$P/$policy/enabled"
		grep -r . "$P/$policy" > "/results/$SERIES.$policy"
	done
	for setting in ${SETTINGS:-}; do
		cat "/tmp/setting-${setting##*/}" > "$P/${setting%=*}"
	done
}

# nic_on RTT_US SERVER_PRIO PARAMETER...: the module with its test NIC. A server by TCP in another
# namespace answers, at this priority; with none the NIC's own peer answers UDP.
N=/sys/class/net/isight0/intsight
server=
nic_on() {
	rtt_us=$1 server_prio=$2
	shift 2
	insmod /modules/intsight.ko nic=1 "$@"
	echo "$rtt_us" > $N/rtt_us
	if [ -n "$server_prio" ]; then
		server=$(netserver 5000)
		prio "$server_prio" netserver
	else
		echo echo > $N/peer
		ip addr add 10.9.0.1/24 dev isight0
		ip link set isight0 up
	fi
}
nic_off() {
	[ -z "$server" ] || kill "$server"
	server=
	rmmod intsight
}

# What migrate has counted: handlers that tasks ran, and those of them that woke another task.
migrated() {
	cat $P/migrate/migrated
}
mispredicted() {
	cat $P/migrate/mispredicted
}
# Handlers that were run without a prediction.
stood_in() {
	cat $P/migrate/stood_in
}
# Address spaces that were loaded for a handler's sake.
mm_switched() {
	cat $P/migrate/mm_switched
}

# success MIGRATED MISPREDICTED MM_SWITCHED STOOD_IN: what has come since then, the share of predictions
# that were right, and how many address spaces were loaded for a handler.
success() {
	runs=$(($(migrated) - $1))
	misses=$(($(mispredicted) - $2))
	switches=$(($(mm_switched) - $3))
	unpredicted=$(($(stood_in) - $4))
	echo "migrated $runs"
	echo "mispredicted $misses"
	echo "stood_in $unpredicted"
	[ $runs = $unpredicted ] || awk -v runs=$runs -v misses=$misses -v switches=$switches \
		-v predicted=$((runs - unpredicted)) 'BEGIN {
		print "success", 100 - 100 * misses / predicted
		print "mm_switches", switches / runs
	}'
}

# irq_priority PRIORITY NAME: of the threads of the interrupts of this name, which is a pattern; an
# empty priority is the kernel's default.
irq_priority() {
	[ -n "$1" ] || return 0
	# shellcheck disable=SC2013 # numbers
	for irq in $(awk -v name="^$2\$" '$NF ~ name { print $1 + 0 }' /proc/interrupts); do
		prio "$1" "irq/$irq-"
	done
}

# The CPU-bound task below all others, from calc_on until calc_off.
calc_on() {
	mkfifo /tmp/ready /tmp/hold
	hog 1 < /tmp/hold > /tmp/ready &
	calc=$!
	exec 9> /tmp/hold
	read -r _ < /tmp/ready
}
calc_off() {
	kill "$calc"
	wait "$calc" || true
	exec 9>&-
	rm /tmp/ready /tmp/hold
}

# Milliseconds of CLOCK_MONOTONIC, so much later than now.
later_ms() {
	awk -v later="$1" '{ print int($1 * 1000) + later }' /proc/uptime
}
