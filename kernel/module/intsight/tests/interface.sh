# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of intsight's files: those that Gerhorst (2018) lists and those added
# since, by name, with the values that each accepts and refuses. Sourced by
# run.sh.

test_only_init_at_first() {
	insmod "$KO" || fail "cannot load"
	[ "$(ls $D)" = init ] || fail "there is already: $(ls $D)"
	[ -z "$(cat $D/init)" ] || fail "init does not read as empty"
	echo "any input" > $D/init || fail "init refused"
	echo > $D/init || fail "a second init refused"
	dmesg | grep "intsight: one checkpoint costs" ||
		fail "the cost was not printed"
	unload
}

test_files() {
	load
	for file in init bottom_handler reps delay_ms delay_type \
		checkpoint_capacity prepare_trigger do_trigger \
		postprocess_trigger vmalloc_checkpoint_matrix \
		delay_us trigger tracepoints overflows checkpoint_cost \
		available_bottom_handlers available_triggers \
		available_tracepoints available_clocks softirq_vector; do
		cat $D/$file > /dev/null || fail "$file is not there"
	done
	[ ! -e $D/csv_results ] || fail "results before a benchmark"
	for file in init prepare_trigger do_trigger postprocess_trigger; do
		[ -z "$(cat $D/$file)" ] || fail "$file does not read as empty"
	done
	unload
}

# Runs the steps of Listing 4.2 in Gerhorst (2018), in its order and with its
# commands: initialize, choose, execute, read the results, copy the directory. A
# script written for that listing must run unchanged, so this test adds no
# checks. On x86 one file that it reads does not exist, and the script goes on.
test_thesis_script() {
	insmod "$KO" || fail "cannot load"
	export HOME=/tmp/thesis
	mkdir -p $HOME
	cat > /tmp/thesis.sh <<-'EOF'
	cd /sys/kernel/debug/intsight
	echo > init
	echo softirq > bottom_handler
	echo 1000 > reps
	for step in prepare do postprocess; do
		echo > ${step}_trigger
	done
	head csv_results/pmccntr
	cat reps
	cp -vrf . ~/my-insight
	EOF
	output=$(sh /tmp/thesis.sh 2>&1)
	[ "$(echo "$output" | grep -cx 1000)" = 1 ] || fail "no reps: $output"
	lines=$(cat $HOME/my-insight/csv_results/name | wc -l)
	[ "$lines" = 1000 ] || fail "$lines lines were copied: $output"
	for file in reps bottom_handler delay_ms checkpoint_capacity \
		csv_results/name "csv_results/$(clocks | cut -d' ' -f1)"; do
		cmp -s $D/$file $HOME/my-insight/$file ||
			fail "$file was not copied: $output"
	done
	[ -e $HOME/my-insight/do_trigger ] || fail "do_trigger was not copied"
	case " $(clocks) " in
	*" pmccntr "*)
		[ "$(echo "$output" | grep -cE '^[0-9]+,[0-9]+,[0-9]+$')" = 10 ] ||
			fail "no head of pmccntr: $output" ;;
	esac
	check_results 1000
	unload
	rm -rf $HOME /tmp/thesis.sh
}

test_parameters() {
	load
	for handler in $(cat $D/available_bottom_handlers); do
		set_ bottom_handler "$handler"
	done
	for trigger in $(cat $D/available_triggers); do
		set_ trigger "$trigger"
	done
	for name in $(cat $D/available_tracepoints); do
		set_ tracepoints "$name"
	done
	set_ tracepoints "$(cat $D/available_tracepoints)"
	set_ tracepoints ""
	set_ reps 1
	set_ reps 10000000
	set_ checkpoint_capacity 3
	set_ checkpoint_capacity 4096
	set_ delay_type udelay
	set_ delay_type usleep_range
	set_ delay_us 0
	set_ delay_us 1999
	[ "$(cat $D/delay_ms)" = 1 ] || fail "1999 us are not 1 ms"
	set_ delay_ms 60000
	[ "$(cat $D/delay_us)" = 60000000 ] || fail "60 s are not 60000000 us"
	unload
}

test_bad_input() {
	load
	for file in bottom_handler reps delay_ms delay_us delay_type \
		checkpoint_capacity trigger; do
		for value in "" " " nonsense -1 1.5 0x10 4294967296 \
			99999999999999999999 "1 2" "none none"; do
			refused $file "$value"
		done
		head=$(cat $D/$file)
		refused $file "${head}x"
		# Longer than a page.
		refused $file "$(seq 1 2000)"
	done
	refused reps 0
	refused reps 10000001
	refused checkpoint_capacity 2
	refused checkpoint_capacity 4097
	refused delay_us 60000001
	refused delay_ms 60001
	set_ tracepoints sched_switch
	refused tracepoints nonsense
	refused tracepoints "irq_handler_entry nonsense"
	refused tracepoints "$(seq 1 2000)"
	before=$(cat $D/reps)
	if printf '5\0\n' > $D/reps 2> /dev/null; then
		fail "a NUL was taken"
	fi
	[ "$(cat $D/reps)" = "$before" ] || fail "a NUL changed reps"
	for file in checkpoint_cost overflows available_clocks \
		vmalloc_checkpoint_matrix; do
		if (echo 1 > $D/$file) 2> /dev/null; then
			fail "$file was written"
		fi
	done
	unload
}

test_wrong_order() {
	load
	set_ reps 10
	set_ delay_us 100
	refused do_trigger ""
	refused postprocess_trigger ""
	step prepare || fail "prepare refused"
	refused postprocess_trigger ""
	step do || fail "do refused"
	refused do_trigger ""
	step postprocess || fail "postprocess refused"
	refused postprocess_trigger ""
	check_results 10
	step prepare || fail "second prepare refused"
	[ ! -e $D/csv_results ] || fail "old results beside a new benchmark"
	unload
}

test_memory() {
	load
	set_ checkpoint_capacity 3
	set_ reps 10
	[ "$(cat $D/vmalloc_checkpoint_matrix)" = N ] || fail "Y before"
	step prepare || fail "prepare refused"
	[ "$(cat $D/vmalloc_checkpoint_matrix)" = N ] || fail "10 runs: Y"
	set_ reps 300000
	step prepare || fail "prepare of 300000 refused"
	[ "$(cat $D/vmalloc_checkpoint_matrix)" = Y ] || fail "300000 runs: N"
	set_ reps 10000000
	set_ checkpoint_capacity 4096
	if (step prepare) 2> /dev/null; then
		fail "prepared more memory than there is"
	fi
	refused do_trigger ""
	unload
}
