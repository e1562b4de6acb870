# SPDX-License-Identifier: GPL-2.0-or-later
# One series of a shield experiment: a CPU shielded in one way, a load, and a test on that CPU.
#
# SHIELD: none; irqpath (irqpath shield by MECHANISM); attach (irqpath shield attach, a cgroup of its own); moved
# (every task and interrupt that can be moved, by hand, which is what tuna isolate does); boot (kernel parameters
# alone). TEST: loops; counted (loops whose instructions the lab counts); kernel (what this kernel ran on the CPU meanwhile); answered (REPS responses to
# a device that another CPU raises HZ times a second; EDU=1: by an MSI; WAITER: options of the task). CPU, SINES,
# LENGTH_S: the test. LOAD: 0 leaves it away.
# shellcheck source=/dev/null
. /jobs/clock.sh
out=/results/$SERIES
test_on=

move_all() {
	# What cannot be moved (threads bound to one CPU, some interrupts) says so and stays.
	for task in /proc/[0-9]*/task/[0-9]*; do
		taskset -p 1 "${task##*/}" > /dev/null 2>&1 || true
	done
	for irq in /proc/irq/*/smp_affinity_list /proc/irq/default_smp_affinity; do
		(echo "$1" > "$irq") 2> /dev/null || true
	done
}

# What the device's and the disk's drivers do before anybody shields.
if [ "$TEST" = answered ]; then
	for module in virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk; do
		[ ! -e /modules/$module.ko ] || insmod /modules/$module.ko
	done
	insmod /modules/intsight.ko nic=1 nic_spread=1 edu="${EDU:-0}"
	echo 200 > /sys/class/net/isight0/intsight/rtt_us
	netserver 5000 > /dev/null
fi
# The device of that test is bound to the CPU by hand.
bind_device() {
	for name in intsight0 intsight-edu; do
		line=$(awk -v name=$name '$NF == name { print $1 + 0 }' /proc/interrupts)
		[ -z "$line" ] || echo "$CPU" > /proc/irq/"$line"/smp_affinity_list
	done
}
bind_device

case $SHIELD in
irqpath)
	irqpath shield set --cpus "$CPU" --mechanism "${MECHANISM:=partition}" > "$out.shield.txt" 2>&1
	# Into a partition only whole processes get.
	[ "$MECHANISM" != partition ] || test_on="irqpath shield run --cpus $CPU --"
	;;
attach)
	mkdir /sys/fs/cgroup/job
	irqpath shield attach /job --cpus "$CPU" > "$out.shield.txt" 2>&1
	test_on=in_job
	;;
moved)
	move_all 0
	bind_device
	;;
esac
in_job() {
	sh -c 'echo $$ > /sys/fs/cgroup/job/cgroup.procs && exec "$@"' in_job "$@"
}

# The documents' disk noise, in memory; the loopback copy in its place of the network; and
# stress-ng: pipes, timers and page faults in the kernel.
disk_noise() {
	mkdir -p /tmp/noise && cd /tmp/noise || return
	while :; do
		echo boo > ./9
		for _ in 1 2 3; do
			for f in 0 1 2 3 4 5 6 7 8 9; do
				cat ./* > /tmp/noise.$f 2> /dev/null; mv /tmp/noise.$f $f
			done
		done
		rm -f ./*
	done
}
copy_noise() {
	while :; do
		nc -l -p 5001 > /dev/null &
		sleep 0.1
		head -c 4000000 /dev/zero | nc -w 1 127.0.0.1 5001 || true
		wait $!
	done
}

loops() {
	$test_on irqpath jitter --cpus "$CPU" --sines "$SINES" "$@"
}

# What the loop takes without a load is the ideal, by the same shield.
if [ "$TEST" = loops ]; then
	loops -d 5s > "$out.ideal.txt"
	ideal=$(awk '/^ideal:/ { sub("sec", "", $2); print $2 "s" }' "$out.ideal.txt")
elif [ "$TEST" = counted ]; then
	$test_on sines "$CPU" 80 "$SINES" 5 > "$out.ideal.txt"
fi

load=
if [ "${LOAD:-1}" = 1 ]; then
	ip link set lo up
	(disk_noise) > /dev/null 2>&1 &
	load="$load $!"
	(copy_noise) > /dev/null 2>&1 &
	load="$load $!"
	if [ "$TEST" = answered ]; then
		(while :; do nc 10.9.0.2 5000 < /dev/zero; done) > /dev/null 2>&1 &
		load="$load $!"
		(while :; do dd if=/dev/vda of=/dev/null bs=4k count=4096 iflag=direct; done) > /dev/null 2>&1 &
		load="$load $!"
	fi
	stress-ng --quiet --pipe 1 --timer 1 --timer-freq 1000 --fault 1 > /dev/null 2>&1 &
	load="$load $!"
	sleep 2
fi

if [ "$TEST" = loops ]; then
	loops --ideal "$ideal" -d "${LENGTH_S}s" > "$out.txt"
	awk '/^ideal:/ { sub("sec", "", $2); print "ideal_s", $2 }
	     /^max:/ { sub("sec", "", $2); print "max_s", $2 }
	     /^jitter:/ { sub("sec", "", $2); gsub("[()%]", "", $3)
			  print "jitter_s", $2; print "jitter_percent", $3 }
	     /^measured/ { print "loops", $2 }' "$out.txt" > "$out.values"
elif [ "$TEST" = counted ]; then
	$test_on sines "$CPU" 80 "$SINES" "$LENGTH_S" > "$out.txt"
	echo "unloaded $(cat "$out.ideal.txt")" > "$out.values"
elif [ "$TEST" = kernel ]; then
	$test_on irqpath jitter --cpus "$CPU" --continuous -d "${LENGTH_S}s" --json "$out.json" > "$out.txt"
	# The kinds of causes that are this kernel's work for others; nothing that a hypervisor takes. In a partition
	# irqpath's own thread that fetches the samples is on the CPU as well: what it takes stands by itself.
	awk '/"lasted_ns":/ { lasted = $2 + 0 }
	     /"kind":/ { ours = $2 ~ /hardirq|softirq|thread|nmi/ }
	     /"who":/ { own = $2 ~ /"irqpath:/ }
	     /"n":/ { n = $2 + 0 }
	     /"total_ns":/ { if (own) own_sum += $2; else if (ours) { sum += $2; nr += n } }
	     END { print "kernel_us_per_s", sum / 1000 / (lasted / 1e9)
		   print "own_us_per_s", own_sum / 1000 / (lasted / 1e9)
		   print "times_per_s", nr / (lasted / 1e9) }' "$out.json" > "$out.values"
	rm "$out.json"
else
	cp /proc/interrupts "$out.before"
	# shellcheck disable=SC2086 # words of a command
	taskset 1 waiter -P $((1000000000 / HZ)) ${WAITER:-} -r &
	raiser=$!
	# It sets the device's mode, which nobody may do beside a task that waits.
	until awk '$NF == "intsight0" && $2 + $3 { found = 1 } END { exit !found }' /proc/interrupts; do
		sleep 0.1
	done
	# shellcheck disable=SC2086 # words of a command
	$test_on waiter -a -c "$CPU" -w "$WARMUP" -n "$REPS" -p 80 ${WAITER:-} > "$out.csv"
	kill $raiser
	cp /proc/interrupts "$out.after"
	printf 'warmup %s\nasked %s\n' "$WARMUP" $((WARMUP + REPS)) > "$out.values"
fi

for pid in $load; do
	kill "$pid" 2> /dev/null || true
done
killall stress-ng nc cat dd 2> /dev/null || true
if [ "$SHIELD" = irqpath ] || [ "$SHIELD" = attach ]; then
	irqpath shield reset >> "$out.shield.txt" 2>&1
fi
