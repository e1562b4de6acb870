# SPDX-License-Identifier: GPL-2.0-or-later
# One series of selective-tbench: CLIENTS of tbench for LENGTH_S seconds, with RT=1 beside a FIFO 80
# task that waits for the intsight device all the time, DELAY_NS after it has asked.
# shellcheck source=/dev/null
. /jobs/irqpath.sh
policies_needed
[ -d /sys/module/intsight ] || insmod /modules/intsight.ko
ip link set lo up
policies_on
tbench_srv > /dev/null 2>&1 &
server=$!
task=
if [ "$RT" = 1 ]; then
	waiter -n 100000 -t "$DELAY_NS" -p 80 > /dev/null &
	task=$!
fi
# The server listens by then.
sleep 0.2
tbench -c /usr/share/dbench/client.txt -t "$LENGTH_S" "$CLIENTS" 127.0.0.1 > "/results/$SERIES.txt"
awk '/^Throughput/ { print "mb_per_s", $2 }' "/results/$SERIES.txt" > "/results/$SERIES.values"
for pid in $server $task; do
	kill "$pid"
	wait "$pid" || true
done
policies_off
