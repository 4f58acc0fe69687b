# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Functions for tests of the common trace event, with the markers of kmarkers_test_events.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

markers=$debugfs/markers
events=/sys/kernel/debug/kmarkers_test_events

# hit COMMAND: make kmarkers_test_events execute one of its markers
hit() {
	put "$1" "$events"/hit
}

clear_trace() {
	echo >"$tracing"/trace
}

# print_trace_texts: print the text of each record of the trace event, one line each
print_trace_texts() {
	sed -n 's/^.* [0-9]*\.[0-9]*: //p' "$tracing"/trace
}

# trace_on NAME: connect the built-in probe "trace" to a marker
trace_on() {
	put trace "$markers/$1/probe"
}
