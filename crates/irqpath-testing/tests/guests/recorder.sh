# SPDX-License-Identifier: GPL-2.0-or-later
# The job of recorder.rs: all kinds of carriers and moved tasks on two CPUs, and the witness. Leaves
# its report, and its exit status in `code`.
set -e
scenes online
insmod /modules/intsight.ko nic=1
echo echo > /sys/class/net/isight0/intsight/peer
ip addr add 10.9.0.1/24 dev isight0
ip link set isight0 up
echo 1 > /sys/class/net/isight0/threaded

# A thread of the interrupt where handlers are threads, one everywhere (-T), and a kworker (-W).
waiter -d /dev/intsight0 -n 1000000 -t 3000000 > /dev/null &
waiter -d /dev/intsight1 -n 1000000 -t 5000000 "$SECOND" > /dev/null &
netping -n 1000000 -i 3000000 10.9.0.2 5000 > /dev/null &
migration_load 600 &
sleep 1
code=0
witness "$SECONDS_RECORDED" > report 2> errors || code=$?
echo "$code" > code
cat /proc/interrupts > interrupts
