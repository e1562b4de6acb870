# SPDX-License-Identifier: GPL-2.0-or-later
# The job of tune.rs. Leaves `said` (the priorities of both devices' threads at each step), what
# the watch printed, and status and reset after it.
set -e
insmod /modules/intsight.ko
cp "$(command -v waiter)" /bin/served

line_of() { awk -v name="$1" '$NF == name { print $1 + 0 }' /proc/interrupts; }
# The thread of a device's interrupt. Nothing is forked for it: this is asked many times.
thread_of() {
	line=$(line_of "$1")
	for process in /proc/[0-9]*; do
		read -r comm 2> /dev/null < "$process/comm" || continue
		case $comm in "irq/$line-"*) echo "${process#/proc/}" ;; esac
	done
}
# priority DEVICE: of its interrupt's thread (field 40 of /proc/PID/stat).
priority() { sed 's/.*) //' "/proc/$(thread_of "$1")/stat" | cut -d ' ' -f 38; }

# As soon as the thread of intsight0 has this priority, or after 20 s.
say() {
	tries=0
	until [ "$(priority intsight0)" = "$2" ] || [ $tries = 100 ]; do
		tries=$((tries + 1))
		sleep 0.2
	done
	echo "$1: $(priority intsight0) $(priority intsight1)" >> said
}

# The task has a name of its own, by which `prio` finds it.
start_task() {
	served -d /dev/intsight0 -n 100000 -t 5000000 -p "$1" > /dev/null 2>&1 &
	task=$!
}

end_task() {
	kill "$1"
	wait "$1" || true
}

# watch_selectively INTERVAL FILE: at work in the background, what it says in the file.
watch_selectively() {
	irqpath tune --apply --selective --watch --learn 200ms --interval "$1" > "$2" 2>&1 &
	watch=$!
}

say begin 50

# An emergency stop: its interrupt has not come since the boot, and its task is there.
irqpath tune pin intsight0 --task stop > pin.txt
cp "$(command -v waiter)" /bin/stop
say "pinned, no task yet" 50
stop -d /dev/intsight0 -n 1 -t 600000000000 -p 90 > /dev/null 2>&1 &
stop=$!
sleep 0.2
grep -E ' intsight0$' /proc/interrupts > never.txt
irqpath tune export -o /tmp/pins.toml > /dev/null
irqpath tune unpin intsight0 > /dev/null
say "unpinned" 50
# What the service does first at each boot.
irqpath tune apply /tmp/pins.toml > apply.txt
say "pinned at boot" 91
irqpath tune --apply --learn 200ms > /dev/null 2> learn.txt
say "learned nothing of it" 91
irqpath tune --apply --selective --learn 200ms > selective.txt 2>&1
say "the pin wins" 91
grep -E ' intsight0$' /proc/interrupts > never-still.txt
kill "$stop"
wait "$stop" || true
printf 'version = 1\n' > /tmp/none.toml
irqpath tune apply /tmp/none.toml > /dev/null
irqpath tune reset > /dev/null
say "no pin" 50

# Who serves nobody is ordinary, and real-time again when it serves a task.
watch_selectively 200ms watched.txt
say "selective, no task" 0
start_task 80
say "selective, a task" 81
end_task "$task"
say "selective, the task is gone" 0
rmmod intsight
insmod /modules/intsight.ko
say "selective, the driver again" 0
start_task 80
say "selective, another task" 81
kill "$watch"
wait "$watch"
end_task "$task"
irqpath tune reset > /dev/null
say "selective, reset" 50
# It does not wait for the next check.
watch_selectively 10m moment.txt
say "selective, long checks" 0
start_task 80
say "selective, at once" 81
kill "$watch"
wait "$watch"
end_task "$task"
irqpath tune reset > /dev/null
say "selective, reset again" 50

prio 33 "irq/$(line_of intsight1)-"
waiter -d /dev/intsight1 -n 100000 -t 5000000 -p 85 > /dev/null 2>&1 &
other=$!
say "the other one by hand" 50
irqpath tune --apply --watch --learn 1s --interval 200ms --json > watch.json 2> watch.err &
watch=$!
start_task 80
say served 81
prio 75 served
say "the task's priority" 76
end_task "$task"
say "the task is gone" 50
start_task 70
say "another task" 71
end_task "$task"
end_task "$other"
rmmod intsight
insmod /modules/intsight.ko
start_task 60
say "the driver again" 61
prio 90 "irq/$(line_of intsight0)-"
sleep 2
say "set by hand" 90
kill "$watch"
wait "$watch"
end_task "$task"
irqpath tune status > status.txt
irqpath tune reset > reset.txt
say reset 90
irqpath tune reset > again.txt

# The next one finds what a watch left that was killed, and that its reason is gone.
prio 50 "irq/$(line_of intsight0)-"
irqpath tune --apply --watch --learn 1s --interval 200ms > /dev/null 2>> watch.err &
watch=$!
start_task 80
say "a second watch" 81
kill -9 "$watch"
wait "$watch" || true
end_task "$task"
say "the watch was killed" 81
irqpath tune --apply --learn 200ms > /dev/null
say "the next one" 50
irqpath tune reset > /dev/null

# A NIC that is plugged in while the watch is at work, and another one with its name.
# napi THREADED PRIORITY: as soon as its NAPI is like this, or after 20 s.
napi() {
	tries=0
	until [ "$now" = "$2 $3" ] || [ $tries = 100 ]; do
		tries=$((tries + 1))
		sleep 0.2
		threaded=$(cat /sys/class/net/isight0/threaded 2> /dev/null || echo none)
		polls=$(grep -l '^napi/isight0-' /proc/[0-9]*/comm | cut -d / -f 3 | head -n 1)
		now="$threaded ${polls:+$(sed 's/.*) //' "/proc/$polls/stat" | cut -d ' ' -f 38)}"
	done
	echo "$1: $now" >> said
	now=
}
plug() {
	rmmod intsight
	insmod /modules/intsight.ko nic=1
}
# Packets for a FIFO 60 task.
receive() {
	echo echo > /sys/class/net/isight0/intsight/peer
	ip addr add 10.9.0.1/24 dev isight0
	ip link set isight0 up
	netsink -n 1000000 -T 60000 -p 60 5000 > /dev/null &
	receiver=$!
	sleep 0.2
	echo 500 > /sys/class/net/isight0/intsight/burst_pps
	echo 1000000 > /sys/class/net/isight0/intsight/burst
}
now=
irqpath tune --apply --watch --packets --learn 200ms --interval 200ms > packets.txt 2>&1 &
watch=$!
sleep 3
plug
napi "a NIC" 1 0
receive
napi "a receiver" 1 61
end_task "$receiver"
napi "no receiver" 1 0
plug
napi "another NIC" 1 0
receive
napi "another receiver" 1 61
echo 0 > /sys/class/net/isight0/threaded
sleep 2
napi "switched back by hand" 0 61
kill "$watch"
wait "$watch"
irqpath tune reset > /dev/null
napi "NIC, reset" 0 0
end_task "$receiver"
