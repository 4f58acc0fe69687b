# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The markers of kmarkers_test_events, and the trace event.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

markers=$debugfs/markers
events=/sys/kernel/debug/kmarkers_test_events

hit() {
	put "$1" "$events"/hit
}

clear_trace() {
	echo >"$tracing"/trace
}

# traced: what the event said, one line for each
traced() {
	sed -n 's/.*: marker: //p' "$tracing"/trace
}

trace_on() {
	put trace "$markers/$1/probe"
}
