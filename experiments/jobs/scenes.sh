# SPDX-License-Identifier: GPL-2.0-or-later
# One series of trace-truth-smp: a scene that is known, irqpath looks on.
#
# KIND: the scene. COUNT: how many wakeups. THRESHOLD_US: what irqpath calls slow.
# shellcheck source=/dev/null
. /jobs/irqpath.sh
scenes online
[ -d /sys/module/nmishot ] || insmod /modules/nmishot.ko
irqpath trace once -T "$THRESHOLD_US" --task scenes -d 600s --json "/results/$SERIES.trace.json" > "/results/$SERIES.txt" 2>&1 &
tracer=$!
# Idle time is skipped; loading is not.
sleep 10
scenes -o "/results/$SERIES" -n "$COUNT" "$KIND"
sleep 1
cp "/results/$SERIES.csv" "/results/$SERIES.truth.txt"
kill -INT "$tracer"
# 1: paths were longer than the threshold, as they are meant to be.
wait "$tracer" || [ $? = 1 ]
