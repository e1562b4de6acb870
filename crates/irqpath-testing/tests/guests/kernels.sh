# SPDX-License-Identifier: GPL-2.0-or-later
# The job of kernels.rs, in a guest with two CPUs. What must not be goes into failures.

fail() { echo "$*" >> failures; }

mkdir -p /var/lib
mount -t cgroup2 none /sys/fs/cgroup 2> /dev/null
echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control
: > failures

irqpath check > check 2>&1 # its exit status tells what it found

# A timer wakes one FIFO task and, where there is one, a device another.
irqpath respond -f 200 -d 10m > /dev/null 2>&1 &
tasks=$!
if [ -e /dev/intsight0 ]; then
  waiter -n 1000000 -t 5000000 -p 70 > /dev/null 2>&1 &
  tasks="$tasks $!"
fi
irqpath trace once -d 2 -o /tmp/trace > trace 2>&1 || fail "trace: $(tail -n 1 trace)"
cp /tmp/trace/summary.json .
irqpath tune --learn 2s > tune 2>&1 || fail "tune: $(tail -n 1 tune)"
# The tasks of a program on a shielded CPU are asked onto it, so they end before.
kill $tasks
wait

hoststate before 2> /dev/null
irqpath shield set --cpus 1 > set.log 2>&1 || fail "set: $(cat set.log)"
sleep 1000 &
[ "$(awk '/^Cpus_allowed_list:/ { print $2 }' /proc/$!/status)" = 0 ] || fail "a new task may use CPU 1"
kill $!
irqpath shield verify -d 1s > verify 2>&1 || fail "verify: $(cat verify)"
irqpath shield reset > reset 2>&1 || fail "reset: $(cat reset)"
hoststate before 0-1 > diff.log 2>&1 || fail "after reset: $(cat diff.log)"
