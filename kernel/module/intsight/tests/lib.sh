# SPDX-License-Identifier: GPL-2.0-only
#
# Shared by the tests of intsight: the module, and a benchmark in one line.
# Sourced by run.sh after common.sh of the kernel's selftests of irqpath, which
# defines a test. POSIX sh with the applets of busybox.

D=/sys/kernel/debug/intsight
KO=${KO:-/intsight.ko}

# Cleans up for the next test.
recover() {
	rmmod intsight 2> /dev/null
}

# soon COMMAND...: it succeeds within half a minute.
soon() {
	read -r uptime _ < /proc/uptime
	latest=$((${uptime%.*} + 30))
	until "$@"; do
		read -r uptime _ < /proc/uptime
		[ "${uptime%.*}" -lt $latest ] || return 1
		sleep 0.01
	done
}

# is_bound PORT [PID]: the port has a socket in the network namespace of the
# process.
is_bound() {
	net=/proc/${2:-self}/net
	cat $net/udp $net/tcp $net/udp6 $net/tcp6 2> /dev/null |
		grep -q "$(printf ':%04X ' "$1")"
}

# until_open PID FILE: waits until the process has it open.
until_open() {
	soon is_open "$@" || fail "$2 is not opened"
}

is_open() {
	ls -l "/proc/$1/fd" 2> /dev/null | grep -q "$2"
}

load() {
	insmod "$KO" || fail "cannot load $KO"
	echo > $D/init || fail "init refused"
}

# rmmod refuses while a program has a file of the module open.
unload() {
	rmmod intsight || fail "cannot unload"
}

# set_ FILE VALUE: the file accepts the value and shows it.
set_() {
	echo "$2" > "$D/$1" || fail "$1 refuses '$2'"
	[ "$(cat "$D/$1")" = "$2" ] || fail "$1 is '$(cat "$D/$1")', not '$2'"
}

# refused FILE VALUE: the write fails with EINVAL and changes nothing.
refused() {
	before=$(parameters)
	if message=$( (echo "$2" > "$D/$1") 2>&1); then
		fail "$1 takes '$2'"
	fi
	case $message in
	*"Invalid argument"*) ;;
	*) fail "$1 refuses '$2' with: $message" ;;
	esac
	[ "$(parameters)" = "$before" ] || fail "'$2' changed something"
}

parameters() {
	for file in bottom_handler reps delay_ms delay_us delay_type \
		checkpoint_capacity trigger tracepoints; do
		echo "$file=$(cat $D/$file)"
	done
}

step() {
	echo > "$D/$1_trigger"
}

benchmark() {
	step prepare || fail "prepare_trigger refused"
	step do || fail "do_trigger refused"
	step postprocess || fail "postprocess_trigger refused"
}

clocks() {
	cat $D/available_clocks
}

# check_results REPS: there is one line per run. Each begins with
# trigger,top_half and ends with bottom_half. It has a stamp for each name, none
# earlier than the last one.
check_results() {
	for clock in $(clocks); do
		awk -F, -v reps="$1" -v clock="$clock" '
		function bad(why) {
			print "# " clock ", run " FNR ": " why ": " $0
			wrong = 1
			exit
		}
		NR == FNR { names[NR] = $0; next }
		{
			nr = split(names[FNR], name, ",")
			if (name[1] != "trigger" || name[nr] != "bottom_half")
				bad("names " names[FNR])
			if (names[FNR] !~ /,top_half,/)
				bad("no top_half in " names[FNR])
			if (nr != NF)
				bad(nr " names")
			for (i = 2; i <= NF; i++)
				if (length($i) == length($(i - 1)) ?
				    $i "" < $(i - 1) "" :
				    length($i) < length($(i - 1)))
					bad("time runs backwards")
		}
		END {
			if (!wrong && FNR != reps) {
				print "# " clock ": " FNR " lines"
				wrong = 1
			}
			exit wrong
		}' $D/csv_results/name "$D/csv_results/$clock" ||
			fail "results are wrong"
	done
}
