# SPDX-License-Identifier: GPL-2.0-only
#
# Two tasks share a NIC, and a third one never leaves the CPU to the NIC's
# thread. Each interrupt that comes while its task is awake would wait for ever,
# and mask the line for both. Sourced by run.sh.

# talks PRIORITY PORT: asks the echo until it has done so for 800 ms; an answer
# that takes a tenth of a second is lost.
talks() {
	netping -n 100000 -d 800 -T 100 -j 50000 -p "$1" 10.9.0.2 "$2"
}

# answered FILE: the task had many answers, and lost none.
answered() {
	awk '/^# transactions/ { seen = $3 > 100 && !$5 } END { exit !seen }' "$1"
}

test_irqpath_stands_in() {
	needs netping fifo
	for demux in 0 1; do
		load_nic
		configure rtt_us 100 peer echo
		ip addr add 10.9.0.1/24 dev isight0
		ip link set isight0 up
		echo 1 > $P/migrate/enabled
		echo $demux > $P/migrate/early_demux
		stood_in=$(cat $P/migrate/stood_in)
		deferred=$(cat $P/migrate/deferred)
		talks 80 5000 > /tmp/high.csv &
		high=$!
		talks 70 6000 > /tmp/low.csv &
		low=$!
		# Both are known by then, and the thread is not needed any more.
		fifo 90 sh -c "sleep 0.2
			fifo 60 sh -c 'while :; do :; done' &
			hog=\$!
			sleep 0.4
			kill -9 \$hog" > /tmp/commands 2>&1
		wait $high || fail "high: $(tail -2 /tmp/high.csv)"
		wait $low || fail "low: $(tail -2 /tmp/low.csv)"
		stood_in=$(($(cat $P/migrate/stood_in) - stood_in))
		deferred=$(($(cat $P/migrate/deferred) - deferred))
		echo "# early_demux $demux: stood in $stood_in times, deferred $deferred," \
			"$(grep transactions /tmp/high.csv), $(grep transactions /tmp/low.csv)"
		answered /tmp/high.csv || fail "high: $(tail -2 /tmp/high.csv)"
		answered /tmp/low.csv || fail "low: $(tail -2 /tmp/low.csv)"
		[ $stood_in -gt 0 ] || fail "nobody stood in"
		echo 0 > $P/migrate/enabled
		unload
		nothing_left
	done
}
