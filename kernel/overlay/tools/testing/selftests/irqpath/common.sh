# SPDX-License-Identifier: GPL-2.0-only
#
# Sourced by the tests of irqpath: KTAP output, and checks of files that take or
# refuse a value. POSIX sh, with the commands of busybox or coreutils.
#
# A test is a function test_NAME. It returns 0, or calls `fail why` or `skip
# why`. Unlike with ../kselftest/ktap_helpers.sh, each test runs in a subshell,
# so that it can end where it fails and its leftovers are cleaned up.

# Errors are distinguished by their messages.
LC_ALL=C
export LC_ALL
# shellcheck disable=SC2034 # for those who source this
EINVAL="Invalid argument" ERANGE="out of range"

# As in ../kselftest.h.
KSFT_SKIP=4

fail() {
	echo "# $*"
	exit 1
}

skip() {
	echo "# skipped: $*"
	exit $KSFT_SKIP
}

# skip_all WHY: skips the whole script.
skip_all() {
	echo "KTAP version 1"
	echo "1..0 # SKIP $*"
	exit $KSFT_SKIP
}

milliseconds() {
	awk '{ printf "%d\n", $1 * 1000 }' /proc/uptime
}

# Cleans up after a test that failed. A script may redefine it.
recover() {
	:
}

# run_tests NAME...: fails if a test fails, and skips if all tests skip.
run_tests() {
	number=0
	failed=0
	skipped=0
	echo "KTAP version 1"
	echo "1..$#"
	for test in "$@"; do
		number=$((number + 1))
		began=$(milliseconds)
		(cd / && "test_$test")
		verdict=$?
		echo "# $test: $(($(milliseconds) - began)) ms"
		case $verdict in
		0) echo "ok $number $test" ;;
		"$KSFT_SKIP")
			echo "ok $number $test # SKIP"
			skipped=$((skipped + 1)) ;;
		*)
			echo "not ok $number $test"
			failed=$((failed + 1))
			recover ;;
		esac
	done
	echo "# $number run, $failed failed, $skipped skipped"
	[ $skipped -lt $number ] || return $KSFT_SKIP
	[ $failed -eq 0 ]
}

# put FILE VALUE: writes it. Not by the shell's own echo: dash's does not say
# which error it was.
put() {
	env echo "$2" > "$1"
}

# takes FILE VALUE [SHOWN]: is taken and read back.
takes() {
	put "$1" "$2" || fail "$1 refuses '$2'"
	[ "$(cat "$1")" = "${3-$2}" ] ||
		fail "$1 is '$(cat "$1")' after '$2', not '${3-$2}'"
}

# refuses FILE VALUE ERROR: with this message, and nothing changes.
refuses() {
	was=$(cat "$1")
	if message=$( (put "$1" "$2") 2>&1); then
		fail "$1 takes '$2'"
	fi
	case $message in
	*"$3"*) ;;
	*) fail "$1 refuses '$2' with: $message" ;;
	esac
	[ "$(cat "$1")" = "$was" ] || fail "$1 changed with '$2'"
}
