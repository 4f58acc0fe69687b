#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Switch a marker on and print its trace events, until COUNT events are printed or until the script
# is interrupted:
#
#	examples/reader/reader.sh NAME [COUNT]
#
# The script reads events from a trace instance of its own, so that other readers lose none.
set -eu

[ $# -ge 1 ] || {
	echo "usage: $0 NAME [COUNT]" >&2
	exit 2
}
marker=/sys/kernel/debug/kmarkers/markers/$1
[ -d "$marker" ] || {
	echo "$0: no marker $1: /sys/kernel/debug/kmarkers/markers/list has the names of all markers" >&2
	exit 1
}
instance=/sys/kernel/tracing/instances/reader.$$
event=$instance/events/kmarkers/$1

# The event does not exist if its module was unloaded, or if the marker has no trace event.
disable_event_and_remove_instance() {
	[ ! -e "$event/enable" ] || echo 0 >"$event/enable" || :
	rmdir "$instance"
}

mkdir "$instance"
trap disable_event_and_remove_instance EXIT
trap 'exit 130' HUP INT TERM
echo 1 >"$event/enable"
awk -v name="$1: " -v count="${2:-0}" '
	at = index($0, ": " name) { print substr($0, at + 2); fflush(); if (++seen == count) exit }
' "$instance/trace_pipe"
