# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Functions for tests that measure several methods in turns. Each name has a file with its
# measurements in microseconds.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# microseconds: set $now to the time since boot, without a process, which takes longer than some of
# what is measured
microseconds() {
	{
		read -r _
		read -r _
		read -r _ _ now _
	} </proc/timer_list
	now=$((now / 1000))
}

# note NAME MICROSECONDS: add a measurement
note() {
	echo "$2" >>"/tmp/turns-$1"
}

# timed_turn NAME COMMAND...: note how long a command takes that starts no process
timed_turn() {
	turn=$1
	shift
	microseconds
	began=$now
	"$@" || result 1 "measured for $turn: $*"
	microseconds
	note "$turn" $((now - began))
}

# median_of NAME: print the median of the measurements
median_of() {
	sort -n "/tmp/turns-$1" | awk '{ took[NR] = $1 } END { print took[int((NR + 1) / 2)] }'
}

# least_of NAME: print the smallest measurement
least_of() {
	sort -n "/tmp/turns-$1" | head -n 1
}
