# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Functions for tests that measure several methods alternately. Each method has a name and a file
# with measurements in microseconds.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# read_microseconds: set $now to the time since boot in microseconds. The function starts no
# process, because that would take longer than some of the measured commands.
read_microseconds() {
	{
		read -r _
		read -r _
		read -r _ _ now _
	} </proc/timer_list
	now=$((now / 1000))
}

# add_measurement NAME MICROSECONDS: add a measurement of the method NAME
add_measurement() {
	echo "$2" >>"/tmp/turns-$1"
}

# measure_command NAME COMMAND...: run a command that starts no process, and add its duration as a
# measurement of the method NAME
measure_command() {
	turn=$1
	shift
	read_microseconds
	began=$now
	"$@" || result 1 "the command measured for $turn succeeds: $*"
	read_microseconds
	add_measurement "$turn" $((now - began))
}

# print_median NAME: print the median of the measurements of the method
print_median() {
	sort -n "/tmp/turns-$1" | awk '{ took[NR] = $1 } END { print took[int((NR + 1) / 2)] }'
}

# print_minimum NAME: print the smallest measurement of the method
print_minimum() {
	sort -n "/tmp/turns-$1" | head -n 1
}
