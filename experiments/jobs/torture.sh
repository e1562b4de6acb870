# SPDX-License-Identifier: GPL-2.0-or-later
# Everything at once against the policies of an irqpath kernel, for DURATION_S seconds in rounds of
# ROUND_S; after each round the books must balance: every interrupt that was raised was handled, no
# line is masked, the module goes, and with it what was learned of its interrupts.
#
# Tasks wait for two devices and for packets, a third device raises interrupts as fast as it can.
# The tasks are killed, moved, stopped by ptrace, frozen, demoted and given other priorities, and so are the
# interrupts' threads and lines; one becomes another program again and again, and of one the memory
# is paged out while it waits; CPUs go off and on; hackbench and stress-ng run beside; POLICIES
# and their settings are switched all the time, also while the books are made and the module goes;
# on a kernel with faults every seventh wakeup of a parked task is dropped.
# shellcheck source=/dev/null
. /jobs/clock.sh
P=/sys/kernel/irqpath
: "${POLICIES:=learn migrate direct selective netprio shield}"
[ -z "${FAULTS:-}" ] || [ ! -e $P/faults/drop_every ] || echo 7 > $P/faults/drop_every
rm -rf /tmp/did
rm -f /tmp/failed
mkdir -p /tmp/did /tmp/cgroup
[ -e /tmp/cgroup/cgroup.procs ] || mount -t cgroup2 none /tmp/cgroup
mkdir -p /tmp/cgroup/targets
cpus=$(nproc)

# did NAME [NR]
did() {
	nr=$(cat "/tmp/did/$1" 2> /dev/null || echo 0)
	echo $((nr + ${2:-1})) > "/tmp/did/$1"
}
# forever NAME COMMAND...: until $stop is there; counts how often it went well.
forever() {
	name=$1
	shift
	[ -e "/tmp/did/$name" ] || echo 0 > "/tmp/did/$name"
	while [ ! -e "$stop" ]; do
		# What is killed, gone or not there yet is no error of the kernel's.
		if "$@" > /dev/null 2>&1; then
			did "$name"
		fi
	done
}
# Into a variable: each $(...) has another generator, which begins with its process id and the time, so that
# numbers drawn there are even and odd by turns.
draw() {
	# shellcheck disable=SC3028 # busybox has it
	drawn=$((RANDOM % $1))
}
draw_cpus() {
	draw $(((1 << cpus) - 1))
	drawn=$(printf '%x' $((1 + drawn)))
}
draw_of() {
	draw $#
	shift $drawn
	drawn=$1
}
TARGETS="waiter netping devmemory"
targets() {
	# shellcheck disable=SC2086 # names
	pidof $TARGETS
}
# nice -n 19, which Debian's busybox does not have: the tasks that do all this are ordinary ones, too.
nicely() {
	sh -c 'renice -n 19 -p $$ > /dev/null && exec "$@"' sh "$@"
}

wait_for_device() {
	draw 40
	waiter -d "/dev/intsight$1" -n 300 -t 300000 -p $((50 + drawn)) -s "$2"
}
wait_for_packets() {
	draw 40
	netping -n 200 -p $((50 + drawn)) "$@" 10.9.0.2 5000
}
storm() {
	draw 40
	waiter -d /dev/intsight4 -n 2000 -t 1000 -p $((1 + drawn))
}
# live COMMAND...: one run of devmemory, which looks at its memory, and at what its devices count. What it
# finds wrong is for the books; that it is killed is not.
live() {
	code=0
	"$@" > "/tmp/said.$name" 2>&1 || code=$?
	[ $code != 1 ] || cat "/tmp/said.$name" >> /tmp/failed
	return $code
}
# Its memory is not locked. Without swap nothing goes, but all is prepared for it. Not nicely: who pages out would not
# come to it while the task waits.
page_out_one() {
	live devmemory swap || return
	did swapped "$(awk '/^# swapped in/ { print $4 }' "/tmp/said.$name")"
}
# Five programs one after the other in one task, with the devices that the first one had.
exec_one() {
	live devmemory 4 5 6 5<> /dev/intsight5 6<> /dev/intsight6
}
# while_cpus_stay COMMAND...: no CPU goes off or comes back meanwhile. A task that is on its way to a CPU that goes
# stays where it may not be, as a comment marked XXX in migration_cpu_stop() says, and PREEMPT_RT warns of it.
while_cpus_stay() {
	until mkdir /tmp/moving 2> /dev/null; do
		sleep 0.01
	done
	"$@"
	code=$?
	rmdir /tmp/moving
	return $code
}
processes() {
	nicely hackbench -p -g 1 -f 5 -l 100
}
# Without --tlb-shootdown, which sets its own affinity all the time: see while_cpus_stay.
memory() {
	nicely stress-ng -q -t 5 --membarrier 1 --mmap 1 --mmap-bytes 8m --fork 1 --futex 1 --timer 1
}
# Not while a CPU is on its way: see while_cpus_stay, and docs/kernel.md. Each affinity has time to reach the
# interrupt's thread.
move_interrupts() {
	for irq in $(awk '$NF ~ /^(intsight|isight)/ { print $1 + 0 }' /proc/interrupts); do
		draw_cpus
		echo "$drawn" > "/proc/irq/$irq/smp_affinity"
	done
}
switch_cpu() {
	echo "$1" > "/sys/devices/system/cpu/cpu$cpu/online"
}
hotplug() {
	draw $((cpus - 1))
	cpu=$((1 + drawn))
	move_interrupts
	sleep 0.5
	while_cpus_stay switch_cpu 0
	move_interrupts
	sleep 0.2
	while_cpus_stay switch_cpu 1
}

# CPU 1 shielded or not. Only what the kernel took counts: it refuses ltmrs and all without nohz_full=,
# and everything without a second CPU.
switch_shield() {
	draw_of 0 2 2
	mask=$drawn
	draw_of procs irqs ltmrs all
	if echo "$mask" > "/proc/shield/$drawn" && [ "$mask" != 0 ]; then
		did "shield_$drawn"
	fi
}
# What is switched beside the policies, put back in the end. watchdog_us is never 0, as what drop_every has
# dropped would stay so; other kernels refuse it.
SETTINGS="migrate/early_demux migrate/las migrate/watchdog_us selective/quiet
	netprio/max_hold_us netprio/napi_hold_us"
values_of() {
	case $1 in
	migrate/watchdog_us) echo 50 200 200 2000 ;;
	selective/quiet) echo 10 1000 ;;
	netprio/max_hold_us) echo 1000 100000 ;;
	netprio/napi_hold_us) echo 0 1000 20000 ;;
	migrate/early_demux) echo 0 1 1 ;;
	*) echo 0 1 ;;
	esac
}
switch_settings() {
	for file in $SETTINGS; do
		[ "${file%/*}" = "$1" ] || continue
		# shellcheck disable=SC2046 # words
		draw_of $(values_of "$file")
		echo "$drawn" > "$P/$file"
	done
}
# A policy on or off, mostly on, and its settings.
switch_one() {
	case $1 in
	shield) switch_shield ;;
	*)
		draw_of 0 1 1
		echo "$drawn" > "$P/$1/enabled"
		;;
	esac
	switch_settings "$1"
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
		shield)
			echo 0 | tee /proc/shield/procs > /proc/shield/irqs
			cat /tmp/ltmrs > /proc/shield/ltmrs
			;;
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
	for device in $(seq 0 6); do
		timeout 60 waiter -d /dev/intsight$device -n 100 -t 300000 -p 80 > /tmp/last.csv ||
			wrong "device $device is not served"
		awk '/^# expired/ { seen = 1; print; wrong = $5 != $7 } END { exit !seen || wrong }' /tmp/last.csv ||
			wrong "device $device: raised and not handled"
	done
	# The load goes on, and the whole guest may stand still for a while (docs/kernel.md): late is not lost.
	timeout 120 netping -t -T 60000 -n 100 -p 80 10.9.0.2 5000 > /tmp/last.csv ||
		wrong "packets: $(tail -n 2 /tmp/last.csv)"
	grep . /sys/class/net/isight0/intsight/raised /sys/class/net/isight0/intsight/handled
	for irq in $irqs; do
		! grep -s IRQD_IRQ_MASKED "/sys/kernel/debug/irq/irqs/$irq" || wrong "line $irq is masked"
	done
	[ ! -e /tmp/failed ] || wrong "a task that was paged out or became another program: $(cat /tmp/failed)"
	rm -f /tmp/failed
}

# What the policies have counted since boot, which may be that of other series.
counted() {
	for file in learn/learned migrate/offered migrate/demuxed migrate/migrated migrate/stood_in migrate/mispredicted \
		migrate/lazy migrate/mm_switched migrate/deferred migrate/lost migrate/elsewhere migrate/rescued migrate/lent \
		direct/switched direct/overtaken direct/busy direct/outranked direct/remote direct/unfit direct/blocked \
		selective/promoted selective/demoted \
		netprio/classified netprio/passed netprio/held netprio/dropped netprio/served netprio/expired \
		netprio/purged netprio/kept; do
		[ ! -e "$P/$file" ] || echo "${file#*/} $(cat "$P/$file")"
	done
}
# The sums that Documentation/ABI/testing/sysfs-kernel-irqpath-* promises when nothing is under way, of what was
# counted in this series.
sums() {
	counted | awk 'NR == FNR { before[$1] = $2; next } { print $1, $2 - before[$1] }' /tmp/before - > /tmp/here
	awk '{ n[$1] = $2 }
	     END { print "offered", n["offered"], n["migrated"] + n["lost"] + n["elsewhere"] + n["rescued"]
		   print "classified", n["classified"], n["passed"] + n["held"] + n["dropped"]
		   print "held", n["held"], n["served"] + n["expired"] + n["purged"] }' /tmp/here > /tmp/sums
	while read -r name whole parts; do
		[ "$whole" = "$parts" ] || wrong "$name $whole, its parts $parts"
	done < /tmp/sums
}

# The module, the tasks and their faults for ROUND_S seconds.
torture_round() {
	stop=/tmp/did/stop
	insmod /modules/intsight.ko nr_devices=7 nic=1
	server=$(netserver 5000)
	irqs=$(awk '$NF ~ /^(intsight|isight)/ { print $1 + 0 }' /proc/interrupts)
	jobs=
	# shellcheck disable=SC2086 # words
	while read -r name command; do
		forever $name $command &
		jobs="$jobs $!"
	done <<- END
		device_2 wait_for_device 2 read
		device_3 wait_for_device 3 poll
		storms storm
		tcp wait_for_packets -t
		udp wait_for_packets
		paged_out page_out_one
		executed exec_one
	END
	while read -r name fault ms; do
		# shellcheck disable=SC2086 # names
		harass "$fault" "$ms" "/tmp/did/$name" $stop $TARGETS &
		jobs="$jobs $!"
	done <<- END
		kills kill 1000
		moves move 200
		priorities prioritise 200
		demotions demote 150
		threads thread 5000
		traced trace 400
		frozen freeze 800
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
counted > /tmp/before
for file in $SETTINGS; do
	[ ! -e "$P/$file" ] || echo "$file $(cat "$P/$file")"
done > /tmp/settings
[ ! -e /proc/shield ] || cat /proc/shield/ltmrs > /tmp/ltmrs
if [ -e /proc/swaps ] && [ -b /dev/ram0 ]; then
	mkswap /dev/ram0
	swapon /dev/ram0
	echo 0 > /tmp/did/swapped
fi
[ ! -e /proc/shield ] || echo 0 | tee /tmp/did/shield_procs /tmp/did/shield_irqs /tmp/did/shield_ltmrs > /tmp/did/shield_all
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
[ ! -e $P/faults/drop_every ] || echo 0 > $P/faults/drop_every
all_policies 0
while read -r file value; do
	echo "$value" > "$P/$file"
done < /tmp/settings
sums
! grep -qs ram0 /proc/swaps || swapoff /dev/ram0
{
	echo "unbalanced $unbalanced"
	echo "rounds $rounds"
	rm /tmp/did/end
	for file in /tmp/did/*; do
		echo "${file##*/} $(cat "$file")"
	done
	cat /tmp/here
} > "/results/$SERIES.values"
cat "/results/$SERIES.values"
