# SPDX-License-Identifier: GPL-2.0-or-later
# The job of shield.rs, in a guest with four CPUs; VERSION, STRIDE (0: no kills), FIRST and STORM come
# before it.
# What must not be goes into failures, each check with the guest's time into checks.

fail() { echo "$*" >> failures; }
check() { echo "$(cut -d ' ' -f 1 /proc/uptime) $*" >> checks; }

# same WHAT: the host is as it was, and so is what was born meanwhile.
same() {
  hoststate before 0-3 > diff.out 2>&1 || fail "$1: $(cat diff.out)"
  [ -e /var/lib/irqpath/shield.journal ] && fail "$1: a journal is left"
  check "$1"
}

affinity() { awk '/^Cpus_allowed_list:/ { print $2 }' "/proc/$1/status"; }
# put FILE VALUE: what another program would write.
put() { echo "$2" > "$1"; }

mkdir -p /var/lib
umount /sys/fs/cgroup
grep -q 0-3 /sys/devices/system/cpu/online || fail "CPUs $(cat /sys/devices/system/cpu/online)"
sleep 100000 & free=$!
sleep 100000 & bound=$!
sleep 100000 & member=$!
taskset -p 2 $bound > /dev/null
# A group of somebody else. On version 1 it is half on the CPUs that are to be shielded; on version 2 a
# sibling that overlaps would make the partition invalid.
theirs=0-1
left=0-1
case $VERSION in
  v2 | kernel)
    mount -t cgroup2 none /sys/fs/cgroup
    put /sys/fs/cgroup/cgroup.subtree_control +cpuset
    ;;
  v1)
    mount -t cgroup -o cpuset none /sys/fs/cgroup
    theirs=1-2
    left=1
    ;;
  # The controller is not switched on; there is none.
  bare | off) mount -t cgroup2 none /sys/fs/cgroup ;;
esac
group=/sys/fs/cgroup/theirs
has_group() { [ "$VERSION" = v2 ] || [ "$VERSION" = v1 ] || [ "$VERSION" = kernel ]; }
if has_group; then
  mkdir $group
  put $group/cpuset.cpus $theirs
  put $group/cpuset.mems 0
  put $group/cgroup.procs $member
fi
# A unit, as systemd makes it.
unit=/sys/fs/cgroup/system.slice/motor.service
if [ "$VERSION" = v2 ]; then
  sleep 100000 & worker=$!
  mkdir -p $unit
  put $unit/cgroup.procs $worker
fi
hoststate before
grep -c ^t before > nr_tasks

# refused WORDS COMMAND...: an error with these words, and nothing changed.
refused() {
  words=$1
  shift
  if "$@" > refused.txt 2>&1; then
    fail "not refused: $*"
  fi
  grep -q "$words" refused.txt || fail "$*: $(cat refused.txt)"
}
refused 'list is empty' irqpath shield set --cpus ''
refused 'leave at least one' irqpath shield set --cpus 0-3
put /sys/devices/system/cpu/cpu3/online 0
refused 'CPU 3 is offline' irqpath shield set --cpus 2-3
put /sys/devices/system/cpu/cpu3/online 1
[ -e /proc/self/ns/pid ] &&
  refused 'process ids of its own' unshare -p -f irqpath shield set --cpus 2-3
[ -e /proc/self/ns/user ] &&
  refused 'outside of the container' unshare -U irqpath shield set --cpus 2-3
if [ "$VERSION" = v2 ] || [ "$VERSION" = bare ]; then
  mount -o remount,ro /sys/fs/cgroup
  refused 'read-only here' irqpath shield set --cpus 2-3
  mount -o remount,rw /sys/fs/cgroup
fi
same 'after what was refused'

irqpath shield set --cpus 2-3 --dry-run > dry.txt 2>&1 || fail "dry run: $(cat dry.txt)"
same 'after a dry run'

irqpath shield set --cpus 2-3 > set.txt 2>&1 || fail "set: $(cat set.txt)"
[ "$(affinity $free)" = 0-1 ] || fail "the free task has $(affinity $free)"
[ "$(affinity $bound)" = 1 ] || fail "the bound task has $(affinity $bound)"
sleep 100000 & heir=$!
[ "$(affinity $heir)" = 0-1 ] || fail "a new task has $(affinity $heir)"
if has_group; then
  [ "$(affinity $member)" = $left ] || fail "the member has $(affinity $member)"
fi
irqpath shield verify -d 1s > verify.txt 2>&1 || fail "verify: $(cat verify.txt)"
irqpath shield run --cpus 3 -p f:80 --mlock -- sh -c '
  grep -E "^(Cpus_allowed_list|VmLck):" /proc/$$/status; cat /proc/$$/cgroup
  awk "{ print \"policy\", \$41, \"priority\", \$40 }" /proc/$$/stat' > run.txt 2>&1 ||
  fail "run: $(cat run.txt)"

# Hotplug between set and reset.
put /sys/devices/system/cpu/cpu3/online 0
put /sys/devices/system/cpu/cpu3/online 1
irqpath shield status > status.txt 2>&1 || fail "status: $(cat status.txt)"
irqpath shield reset > reset.txt 2>&1 || fail "reset: $(cat reset.txt)"
[ "$(affinity $heir)" = 0-3 ] || fail "the heir has $(affinity $heir)"
kill $heir
same 'after hotplug and a reset'

# Somebody retargets an interrupt: that one is left alone, the rest comes back.
old=$(cat /proc/irq/4/smp_affinity)
irqpath shield set --cpus 3 > /dev/null || fail 'second set'
put /proc/irq/4/smp_affinity 2
irqpath shield reset > theirs.txt || fail "reset: $(cat theirs.txt)"
[ "$(cat /proc/irq/4/smp_affinity)" = 2 ] || fail "their irq 4 became $(cat /proc/irq/4/smp_affinity)"
# The kernel's own shield never wrote it.
[ "$VERSION" = kernel ] || grep -q 'irq 4 .*somebody else' theirs.txt || fail "nothing is said of irq 4: $(cat theirs.txt)"
put /proc/irq/4/smp_affinity "$old"
same 'after somebody changed an interrupt'

# Two at once.
irqpath shield set --cpus 2 > /dev/null & one=$!
irqpath shield set --cpus 2-3 > /dev/null & two=$!
wait $one || fail 'one of two'
wait $two || fail 'two of two'
irqpath shield reset > /dev/null || fail 'reset after two at once'
same 'after two at once'

# The unit gets a CPU of its own where it is, and gives it back; so it does after a kill.
if [ "$VERSION" = v2 ]; then
  irqpath shield attach motor --cpus 3 > attach.txt 2>&1 || fail "attach: $(cat attach.txt)"
  state=$(cat $unit/cpuset.cpus.partition)
  [ "$state" = isolated ] || fail "the partition of the unit is $state"
  [ "$(affinity $worker)" = 3 ] || fail "the unit's task has $(affinity $worker)"
  [ "$(affinity $free)" = 0-2 ] || fail "the free task has $(affinity $free) beside the unit"
  grep -q '^0::/system.slice/motor.service$' "/proc/$worker/cgroup" || fail 'the unit lost its task'
  irqpath shield status > attached.txt 2>&1 || fail "status: $(cat attached.txt)"
  irqpath shield reset > reset.txt 2>&1 || fail "reset of attach: $(cat reset.txt)"
  [ "$(affinity $worker)" = 0-3 ] || fail "the unit's task has $(affinity $worker) afterwards"
  same 'after an attached unit'
  for n in 3 9 40; do
    killat $n irqpath shield attach motor --cpus 3 > /dev/null 2>&1
    irqpath shield reset > reset.txt 2>&1 || fail "reset after kill $n of attach: $(cat reset.txt)"
    same "killed at write $n of attach"
  done
fi

# tid_of PID NAME: the thread of this name.
tid_of() { grep -lx "$2" /proc/"$1"/task/*/comm | cut -d / -f 5; }
# thread_alone: axis is on CPU 3 by itself, in a partition below the unit.
thread_alone() {
  state=$(cat $unit/irqpath.cpu3/cpuset.cpus.partition)
  [ "$state" = isolated ] || fail "the partition of the thread is $state"
  cpus="$(affinity $axis) $(affinity $helper) $(affinity $crew) $(affinity $free)"
  [ "$cpus" = '3 0-2 0-2 0-2' ] || fail "axis, helper, their process, another have CPU $cpus"
  grep -q '^0::/system.slice/motor.service/irqpath.cpu3$' "/proc/$axis/cgroup" ||
    fail "axis is in $(cat "/proc/$axis/cgroup")"
  grep -q "^$crew$" $unit/cgroup.procs || fail 'the unit lost its process'
}
# One thread of the unit gets a CPU of its own, and what it starts goes with it.
if [ "$VERSION" = v2 ]; then
  threads born.go & crew=$!
  put $unit/cgroup.procs $crew
  until helper=$(tid_of $crew helper) && axis=$(tid_of $crew axis) && [ "$helper" ]; do sleep 0.1; done
  hoststate before
  type=$(cat $unit/cgroup.type)
  irqpath shield attach --tid "$axis" --cpus 3 > thread.txt 2>&1 || fail "attach: $(cat thread.txt)"
  thread_alone
  irqpath shield status > threads.txt 2>&1 || fail "status: $(cat threads.txt)"
  # As systemd may do when it reloads.
  put $unit/cgroup.subtree_control -cpuset
  irqpath shield repair > repair.txt 2>&1 || fail "repair: $(cat repair.txt)"
  thread_alone
  touch born.go
  until born=$(tid_of $crew born) && [ "$born" ]; do sleep 0.1; done
  [ "$(affinity $born)" = 3 ] || fail "the thread that axis started has CPU $(affinity $born)"
  irqpath shield reset > reset.txt 2>&1 || fail "reset of a thread: $(cat reset.txt)"
  [ "$(affinity $born)" = 0-3 ] || fail "born has CPU $(affinity $born) afterwards"
  [ "$type" = domain ] && [ "$(cat $unit/cgroup.type)" = domain ] ||
    fail "the unit was $type and is $(cat $unit/cgroup.type)"
  same 'after a thread alone'
  # The writes before these move tasks, as those of a set do.
  n=81
  step=13
  if [ "$STRIDE" = 1 ]; then step=1; fi
  while killat $n irqpath shield attach motor --thread axis --cpus 3 --tasks > /dev/null 2>&1; do
    irqpath shield reset > reset.txt 2>&1 || fail "reset after kill $n of a thread: $(cat reset.txt)"
    [ "$(cat $unit/cgroup.type)" = domain ] || fail "kill $n left $(cat $unit/cgroup.type)"
    same "killed at write $n of a thread's attach"
    n=$((n + step))
  done
  irqpath shield reset > reset.txt 2>&1 || fail "reset of a whole attach: $(cat reset.txt)"
  # Two of its threads, each alone, one of them on what the shield itself had.
  irqpath shield set --cpus 2 > /dev/null 2>&1 || fail 'set before two threads'
  irqpath shield attach --tid "$axis" --cpus 3 > thread.txt 2>&1 || fail "first: $(cat thread.txt)"
  irqpath shield attach --tid "$helper" --cpus 2 > thread.txt 2>&1 || fail "second: $(cat thread.txt)"
  cpus="$(affinity $axis) $(affinity $helper) $(affinity $crew) $(affinity $free)"
  [ "$cpus" = '3 2 0-1 0-1' ] || fail "two threads, their process and another have CPU $cpus"
  irqpath shield reset > reset.txt 2>&1 || fail "reset of two threads: $(cat reset.txt)"
  same 'after two threads of a process'
  # The process ends while its thread is alone.
  irqpath shield attach motor --thread axis --cpus 3 > thread.txt 2>&1 || fail "names: $(cat thread.txt)"
  thread_alone
  kill $crew
  wait $crew
  irqpath shield reset > reset.txt 2>&1 || fail "reset without the process: $(cat reset.txt)"
  [ "$(cat $unit/cgroup.type)" = domain ] || fail "the unit is $(cat $unit/cgroup.type) in the end"
  same 'after the process of a thread ended'
fi

# kill_at WHAT SET N: kill WHAT at its Nth write; SET is done before. False when WHAT ended before.
kill_at() {
  [ -z "$2" ] || irqpath shield set --cpus 2-3 > /dev/null || fail "set before kill $3 of $1"
  killat "$3" irqpath shield $1 > /dev/null 2>&1
  code=$?
  irqpath shield reset > /dev/null 2>killed.txt || fail "reset after kill $3 of $1: $(cat killed.txt)"
  same "killed at write $3 of $1"
  [ $code = 0 ] && kills=$((kills + 1))
}
# kill_all WHAT SET: at every STRIDE-th write until there is none.
kill_all() {
  n=$FIRST
  while kill_at "$1" "$2" $n; do
    n=$((n + STRIDE))
  done
  echo "$1: writes up to $n" >> writes
}
kills=0
if [ "$STRIDE" != 0 ]; then
  kill_all 'set --cpus 2-3' ''
  kill_all reset first
fi
echo $kills > kills

# The same while tasks are forked, an interrupt is retargeted without end and a CPU goes off and on.
retarget() { while :; do put /proc/irq/4/smp_affinity 4; put /proc/irq/4/smp_affinity 3; done; }
hotplug() {
  while :; do
    put /sys/devices/system/cpu/cpu3/online 0
    sleep 0.3
    put /sys/devices/system/cpu/cpu3/online 1
    sleep 0.3
    echo >> hotplugs
  done
}
# The CPU may be off when set looks for it, which is an error and changes nothing.
insist() {
  tries=0
  until irqpath shield "$@" > insist.txt 2>&1; do
    tries=$((tries + 1))
    grep -q 'is offline' insist.txt && [ $tries -lt 50 ] || return 1
  done
}
round=0
while [ $round -lt "$STORM" ]; do
  round=$((round + 1))
  forks 1000 > forks.txt & forks=$!
  retarget & retarget=$!
  # Before 6.2 an affinity that is set while a CPU is off loses that CPU; see docs/shield.md.
  if [ "$VERSION" = v1 ]; then sleep 1000 & else hotplug & fi
  hotplug=$!
  insist set --cpus 2-3 || fail "set in a storm: $(cat insist.txt)"
  irqpath shield status > /dev/null || fail 'status in a storm'
  killat $((round * 37)) irqpath shield reset > /dev/null 2>&1
  insist set --cpus 3 || fail "set after a kill in a storm: $(cat insist.txt)"
  killat $((round * 53)) irqpath shield set --cpus 2-3 > /dev/null 2>&1
  kill $hotplug $retarget
  wait $hotplug $retarget
  put /sys/devices/system/cpu/cpu3/online 1 2> /dev/null
  irqpath shield reset > reset.txt 2>&1 || fail "reset in a storm: $(cat reset.txt)"
  put /proc/irq/4/smp_affinity "$old"
  same "after storm $round"
  kill $forks
  wait $forks
  cat forks.txt >> forked
done
kill $free $bound $member $worker
[ -e failures ] || touch failures
