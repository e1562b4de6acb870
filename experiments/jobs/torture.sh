# SPDX-License-Identifier: GPL-2.0-or-later
# Everything at once against the policies of an irqpath kernel, for DURATION_S seconds in rounds of
# ROUND_S; after each round the books must balance: every interrupt that was raised was handled, no
# line is masked, the module goes, and with it what was learned of its interrupts.
#
# Tasks wait for two devices and for packets, a third device raises interrupts as fast as it can.
# The tasks are killed, moved, stopped by ptrace, frozen and given other priorities, and so are the
# interrupts' threads and lines; CPUs go off and on; hackbench and stress-ng run beside; POLICIES
# are switched all the time, also while the books are made and the module goes; on a kernel with
# faults every seventh wakeup of a parked task is dropped.
P=/sys/kernel/irqpath
: "${POLICIES:=learn migrate direct selective netprio shield}"
[ -z "${FAULTS:-}" ] || [ ! -e $P/migrate/drop_every ] || echo 7 > $P/migrate/drop_every
rm -rf /tmp/did
mkdir -p /tmp/did /tmp/cgroup
[ -e /tmp/cgroup/cgroup.procs ] || mount -t cgroup2 none /tmp/cgroup
mkdir -p /tmp/cgroup/targets
cpus=$(nproc)

# forever NAME COMMAND...: until $stop is there; counts how often.
forever() {
	name=$1
	shift
	nr=$(cat "/tmp/did/$name" 2> /dev/null || echo 0)
	while [ ! -e "$stop" ]; do
		# What is killed, gone or not there yet is no error of the kernel's.
		"$@" > /dev/null 2>&1 || true
		nr=$((nr + 1))
		echo $nr > "/tmp/did/$name"
	done
}
random() {
	# shellcheck disable=SC3028 # busybox has it
	echo $((RANDOM % $1))
}
some_cpus() {
	printf '%x\n' $((1 + $(random $(((1 << cpus) - 1)))))
}
targets() {
	pidof waiter netping
}

wait_for_device() {
	waiter -d "/dev/intsight$1" -n 300 -t 300000 -p $((50 + $(random 40))) -s "$2"
}
wait_for_packets() {
	netping -n 200 -p $((50 + $(random 40))) "$@" 10.9.0.2 5000
}
storm() {
	waiter -d /dev/intsight2 -n 2000 -t 1000 -p $((1 + $(random 40)))
}
kill_one() {
	sleep 0.3
	pidof -s waiter netping | xargs -r kill -9
}
move_one() {
	sleep 0.05
	for pid in $(targets); do
		taskset -p "$(some_cpus)" "$pid"
	done
}
other_priorities() {
	sleep 0.05
	for irq in $irqs; do
		prio $((1 + $(random 98))) "irq/$irq-"
	done
	prio $((40 + $(random 50))) waiter
}
trace_some() {
	sleep 0.1
	# shellcheck disable=SC2046 # numbers
	stopper $(targets)
}
freeze_some() {
	sleep 0.2
	for pid in $(targets); do
		echo "$pid" > /tmp/cgroup/targets/cgroup.procs
	done
	echo 1 > /tmp/cgroup/targets/cgroup.freeze
	sleep 0.02
	echo 0 > /tmp/cgroup/targets/cgroup.freeze
}
processes() {
	nice -n 15 hackbench -p -g 2 -l 100
}
memory() {
	nice -n 15 stress-ng -q -t 5 --membarrier 1 --tlb-shootdown 1 --mmap 1 --mmap-bytes 8m --fork 1 --futex 1 --timer 1
}
# Not while a CPU is on its way: Debian's unmodified kernel complains then (docs/kernel.md). Each affinity has
# time to reach the interrupt's thread.
move_interrupts() {
	for irq in $(awk '$NF ~ /^(intsight|isight)/ { print $1 + 0 }' /proc/interrupts); do
		some_cpus > "/proc/irq/$irq/smp_affinity"
	done
}
hotplug() {
	cpu=/sys/devices/system/cpu/cpu$((1 + $(random $((cpus - 1)))))/online
	move_interrupts
	sleep 0.5
	echo 0 > "$cpu"
	move_interrupts
	sleep 0.2
	echo 1 > "$cpu"
}

# A policy on or off, mostly on, and its settings.
switch_one() {
	on=$(($(random 3) > 0))
	case $1 in
	shield)
		[ $on = 1 ] && mask=2 || mask=0
		echo "$mask" > "/proc/shield/$([ "$(random 2)" = 0 ] && echo procs || echo irqs)"
		;;
	*) echo $on > "$P/$1/enabled" ;;
	esac
	[ "$1" != migrate ] || echo $(($(random 3) > 0)) > $P/migrate/early_demux
	[ "$1" != migrate ] || echo $(($(random 2))) > $P/migrate/las
}
switch_policies() {
	for policy in $POLICIES; do
		switch_one "$policy"
		sleep 0.03
	done
}
all_policies() {
	for policy in $POLICIES; do
		case $policy in
		off) ;;
		shield) echo 0 | tee /proc/shield/procs > /proc/shield/irqs ;;
		*) echo "$1" > "$P/$policy/enabled" ;;
		esac
	done
}

unbalanced=0
wrong() {
	echo "wrong: $*"
	unbalanced=$((unbalanced + 1))
}
books() {
	for device in 0 1 2; do
		timeout 60 waiter -d /dev/intsight$device -n 100 -t 300000 -p 80 > /tmp/last.csv ||
			wrong "device $device is not served"
		awk '/^# expired/ { seen = 1; print; wrong = $5 != $7 } END { exit !seen || wrong }' /tmp/last.csv ||
			wrong "device $device: raised and not handled"
	done
	timeout 60 netping -t -n 100 -p 80 10.9.0.2 5000 > /tmp/last.csv || wrong "packets: $(tail -n 2 /tmp/last.csv)"
	grep . /sys/class/net/isight0/intsight/raised /sys/class/net/isight0/intsight/handled
	for irq in $irqs; do
		! grep -s IRQD_IRQ_MASKED "/sys/kernel/debug/irq/irqs/$irq" || wrong "line $irq is masked"
	done
}

# The module, the tasks and their faults for ROUND_S seconds.
torture_round() {
	stop=/tmp/did/stop
	insmod /modules/intsight.ko nr_devices=3 nic=1
	server=$(netserver 5000)
	irqs=$(awk '$NF ~ /^(intsight|isight)/ { print $1 + 0 }' /proc/interrupts)
	jobs=
	# shellcheck disable=SC2086 # words
	while read -r name command; do
		forever $name $command &
		jobs="$jobs $!"
	done <<- END
		device_0 wait_for_device 0 read
		device_1 wait_for_device 1 poll
		storms storm
		tcp wait_for_packets -t
		udp wait_for_packets
		kills kill_one
		moves move_one
		priorities other_priorities
		traced trace_some
		frozen freeze_some
	END
	sleep "$ROUND_S"
	touch $stop
	sleep 1
	# What still waits for a device that nobody else asks for an interrupt has had its last one.
	targets | xargs -r kill -9 || true
	# shellcheck disable=SC2086 # numbers
	wait $jobs
	rm $stop
	books
	kill "$server"
	rmmod intsight || wrong "the module does not go"
	! grep intsight $P/associations || wrong "an association outlives its handler"
}

# Linux 6.12 counts a CPU's deadline server for ordinary tasks as a running task, and may complain when the CPU
# goes off with it (mended upstream by 52d15521eb75): CPUs that go off have none.
for cpu in $(seq $((cpus - 1))); do
	echo 0 > "/sys/kernel/debug/sched/fair_server/cpu$cpu/runtime"
done
all_policies 1
stop=/tmp/did/end
forever processes processes &
[ ! -x /usr/bin/stress-ng ] || forever memory memory &
# POLICIES=off: the same without them, for what the kernel complains of by itself.
[ "$POLICIES" = off ] || forever switches switch_policies &
[ "$cpus" = 1 ] || [ "${HOTPLUG:-1}" = 0 ] || forever hotplugs hotplug &
rounds=0
while [ $((rounds * ROUND_S)) -lt "$DURATION_S" ]; do
	torture_round
	rounds=$((rounds + 1))
done
touch /tmp/did/end
wait
[ ! -e $P/migrate/drop_every ] || echo 0 > $P/migrate/drop_every
all_policies 0
{
	echo "unbalanced $unbalanced"
	echo "rounds $rounds"
	rm /tmp/did/end
	for file in /tmp/did/*; do
		echo "${file##*/} $(cat "$file")"
	done
	for name in offered demuxed migrated mispredicted lazy mm_switched lost elsewhere rescued; do
		echo "$name $(cat $P/migrate/$name)"
	done
	for name in switched overtaken busy outranked remote unfit blocked; do
		echo "$name $(cat $P/direct/$name)"
	done
	for name in promoted demoted; do
		echo "$name $(cat $P/selective/$name)"
	done
	for name in held served expired; do
		echo "$name $(cat $P/netprio/$name)"
	done
} > "/results/$SERIES.values"
cat "/results/$SERIES.values"
