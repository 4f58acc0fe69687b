# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The commands of Documentation/tracing.md, run verbatim.
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

export PATH=$PATH:/usr/bin

# commands HEADING NUMBER: print the block of commands with that number under the heading
commands() {
	awk -v heading="## $1" -v wanted="$2" '
		/^## / { here = $0 == heading; number = 0 }
		/^    / { number += !inside; if (here && number == wanted) print substr($0, 5) }
		{ inside = /^    / }
	' /tracing.md
}

# task NAME HEADING NUMBER PROGRAM: run a block of commands; its output is in /tmp/said
task() {
	if [ "$4" ] && ! command -v "$4" >/dev/null; then
		skip "$1" "$4 is not in this test kernel"
		return 1
	fi
	commands "$2" "$3" >/tmp/commands
	[ -s /tmp/commands ] && sh -e /tmp/commands >/tmp/said 2>&1
	code=$?
	[ "$code" -eq 0 ] || sed 's/^/# /' /tmp/said
	result "$code" "$1"
}

# said PATTERN UNWANTED: succeeds if at least three lines of output match PATTERN, and none matches
# UNWANTED
said() {
	[ "$(grep -c "$1" /tmp/said)" -ge 3 ] && ! grep -q "$2" /tmp/said && return
	head -n 30 /tmp/said | sed 's/^/# /'
	return 1
}

test_bpftrace_task() {
	if task "bpftrace counts" "Count in the kernel" 2 ""; then
		grep -q "@@@" /tmp/said
		result $? "bpftrace has a histogram"
	fi
}

# in_use MODULE: succeeds if something uses the module
in_use() {
	[ "$(sed -n "s/^$1 [0-9]* \([0-9]*\) .*/\1/p" /proc/modules)" -gt 0 ]
}

# request_is STATE: succeeds if the marker of example_typed is on or off
request_is() {
	grep -q "^example_request $1 typed" "$debugfs"/markers/list
}

test_raw_tracepoint() {
	try "module with a typed marker" insmod /modules/example_typed.ko
	request_is off
	result $? "the typed marker is off"
	task "a program on the event of a typed marker" "Raw tracepoints" 2 ""
	grep -q "^@\[512\]: [1-9]" /tmp/said
	result $? "the program reads the field of the second argument"
	if [ "$(bpftrace_version)" -lt 21 ]; then
		! bpftrace -e 'rawtracepoint:sched_switch { exit(); }' >/dev/null 2>&1
		result $? "this bpftrace has no raw tracepoints, as the page says"
		rmmod example_typed
		return
	fi
	task "a program on a raw tracepoint" "Raw tracepoints" 1 ""
	grep -q "^@\[512\]: [1-9]" /tmp/said
	result $? "the program gets the second argument"
	bpftrace -e 'rawtracepoint:example_request { @ = count(); } interval:s:5 { exit(); }' \
		>/tmp/held 2>&1 &
	bpftrace=$!
	within 30 in_use example_typed
	result $? "a program holds the marked module"
	within 30 request_is on
	result $? "a program switches the typed marker on"
	refused "rmmod while a program is attached" "in use\|temporarily unavailable" \
		rmmod example_typed
	wait $bpftrace
	within 30 request_is off
	result $? "the typed marker is off again"
	within 30 rmmod example_typed
	result $? "the module with a typed marker leaves"
	refused "a raw tracepoint of a classic marker" "" \
		bpftrace -e 'rawtracepoint:example_tick { @ = count(); } interval:s:1 { exit(); }'
}

test_module_held_by_perf() {
	perf record -q -a -o /tmp/held.data -e kmarkers:example_tick sleep 5 >/dev/null 2>&1 &
	perf=$!
	within 30 in_use example_client
	result $? "perf holds the marked module"
	refused "rmmod while perf records" "in use\|temporarily unavailable" rmmod example_client
	wait $perf
	within 30 not_held
	result $? "perf has let go of the marked module"
}

not_held() {
	! in_use example_client
}

test_tracing() {
	try "marked module" insmod /modules/example_client.ko
	put 20 /sys/module/example_client/parameters/period_ms
	if task "a marker is watched" "Watch a marker" 1 trace-cmd; then
		said "example_tick: *tick [0-9]*" nothing
		result $? "trace-cmd shows ticks"
	fi
	task "a filter keeps some" "Keep what matters" 1 ""
	said "example_tick: tick [0-9]*[13579]$" "example_tick: tick [0-9]*[02468]$"
	result $? "the trace has odd ticks alone"
	if task "perf takes a filter" "Keep what matters" 2 perf; then
		said "example_tick: tick [0-9]*[13579]" "example_tick: tick [0-9]*[02468]$"
		result $? "perf shows odd ticks alone"
	fi
	if [ -e "$tracing"/events/kmarkers/example_tick/hist ]; then
		task "the kernel counts" "Count in the kernel" 1 ""
		grep -q "Hits: [1-9]" /tmp/said
		result $? "the histogram has hits"
	else
		skip "the kernel counts" "this kernel has no histograms"
	fi
	! bpftrace_reads_events "bpftrace counts" || test_bpftrace_task
	! bpftrace_reads_events "a program on a raw tracepoint" || test_raw_tracepoint
	if command -v perf >/dev/null; then
		test_module_held_by_perf
	else
		skip "perf holds the marked module" "perf is not in this test kernel"
	fi
	same "the event is off" "$(cat "$tracing"/events/kmarkers/example_tick/enable)" 0
	try "marked module leaves" rmmod example_client
}
