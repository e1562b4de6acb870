# SPDX-License-Identifier: GPL-2.0-or-later
# Everything at once against the policies of an irqpath kernel, for DURATION_S seconds; then the
# books must balance: every interrupt that was raised was handled, no line is masked.
#
# Tasks wait for two devices and for packets; they are killed, moved and given other priorities, and
# so are the interrupts' threads and lines; a CPU goes off and on; policies are switched ten times a
# second; on a kernel with faults every seventh wakeup of a parked task is dropped.
P=/sys/kernel/irqpath
insmod /modules/intsight.ko nr_devices=2 nic=1
server=$(netserver 5000)
irqs=$(awk '$NF ~ /^(intsight|isight)/ { print $1 + 0 }' /proc/interrupts)
[ -z "${FAULTS:-}" ] || [ ! -e $P/migrate/drop_every ] || echo 7 > $P/migrate/drop_every
mkdir -p /tmp/did

# forever NAME COMMAND...: until /tmp/did/stop; counts how often.
forever() {
	name=$1
	shift
	nr=0
	while [ ! -e /tmp/did/stop ]; do
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
wait_for_device() {
	waiter -d "/dev/intsight$1" -n 300 -t 300000 -p $((50 + $(random 40))) -s "$2"
}
wait_for_packets() {
	netping -n 200 -p $((50 + $(random 40))) "$@" 10.9.0.2 5000
}
kill_one() {
	sleep 0.3
	pidof -s waiter netping | xargs -r kill -9
}
move_one() {
	sleep 0.05
	for pid in $(pidof waiter netping); do
		taskset -p $((1 + $(random 3))) "$pid"
	done
	for irq in $irqs; do
		echo $((1 + $(random 3))) > "/proc/irq/$irq/smp_affinity"
	done
}
other_priorities() {
	sleep 0.05
	for irq in $irqs; do
		prio $((1 + $(random 98))) "irq/$irq-"
	done
	prio $((40 + $(random 50))) waiter
}
switch_policies() {
	for file in migrate/enabled direct/enabled selective/enabled learn/enabled migrate/las migrate/early_demux; do
		echo $(($(random 3) > 0)) > $P/$file
		sleep 0.03
	done
}
hotplug() {
	sleep 0.5
	echo 0 > /sys/devices/system/cpu/cpu1/online
	sleep 0.2
	echo 1 > /sys/devices/system/cpu/cpu1/online
}

forever device_0 wait_for_device 0 read &
forever device_1 wait_for_device 1 poll &
forever tcp wait_for_packets -t &
forever udp wait_for_packets &
forever kills kill_one &
forever moves move_one &
forever priorities other_priorities &
# POLICIES=off: the same without them, for what the kernel complains of by itself.
[ "${POLICIES:-}" = off ] || forever switches switch_policies &
[ "${HOTPLUG:-1}" = 0 ] || forever hotplugs hotplug &
sleep "$DURATION_S"
touch /tmp/did/stop
sleep 1
# What still waits for a device that nobody else asks for an interrupt has had its last one.
pidof waiter netping | xargs -r kill -9
wait
[ "${POLICIES:-}" = off ] || echo 1 | tee $P/migrate/enabled > $P/direct/enabled
[ ! -e $P/migrate/drop_every ] || echo 0 > $P/migrate/drop_every

unbalanced=0
wrong() {
	echo "wrong: $*"
	unbalanced=$((unbalanced + 1))
}
for device in 0 1; do
	waiter -d /dev/intsight$device -n 100 -t 300000 -p 80 > /tmp/last.csv || wrong "device $device"
	awk '/^# expired/ { seen = 1; print; wrong = $5 != $7 } END { exit !seen || wrong }' /tmp/last.csv ||
		wrong "device $device: raised and not handled"
done
netping -t -n 100 -p 80 10.9.0.2 5000 > /tmp/last.csv || wrong "packets: $(tail -n 2 /tmp/last.csv)"
grep . /sys/class/net/isight0/intsight/raised /sys/class/net/isight0/intsight/handled
kill "$server"
for policy in migrate direct selective learn; do
	echo 0 > $P/$policy/enabled
done
rmmod intsight || wrong "the module does not go"
if grep intsight $P/associations; then
	wrong "an association outlives its handler"
fi
{
	echo "unbalanced $unbalanced"
	rm /tmp/did/stop
	for file in /tmp/did/*; do
		echo "${file##*/} $(cat "$file")"
	done
	for name in offered demuxed migrated mispredicted lazy mm_switched lost elsewhere rescued; do
		echo "$name $(cat $P/migrate/$name)"
	done
	for name in switched overtaken busy outranked remote unfit; do
		echo "$name $(cat $P/direct/$name)"
	done
	for name in promoted demoted; do
		echo "$name $(cat $P/selective/$name)"
	done
} > "/results/$SERIES.values"
cat "/results/$SERIES.values"
