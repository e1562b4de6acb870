# SPDX-License-Identifier: GPL-2.0-or-later
# What a job sources before it does anything, if it needs a clock finer than ticks, and timers that fire by it.
#
# A kernel that could not measure its TSC, because the host took the processor away meanwhile, can be left with
# a clock of ticks; one that could not verify a local timer does not use any. Every figure is one of ticks then, timers
# fire with them, and a tick ends each loan of direct's. 75: boot again, which the lab does, five boots in all.

# Whether a CPU has no such timers. A TSC is good for them only when it was measured again, a second after boot.
timers_tick() {
	grep '\.hres_active *: 0' /proc/timer_list
}
for _ in $(seq 50); do
	if grep jiffies /sys/devices/system/clocksource/clocksource0/current_clocksource; then
		exit 75
	fi
	timers_tick > /dev/null || break
	sleep 0.2
done
if timers_tick; then
	exit 75
fi
