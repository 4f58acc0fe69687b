# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The commands in Documentation/tracing.md, run verbatim.
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

export PATH=$PATH:/usr/bin

# print_commands HEADING NUMBER: print the block of commands with that number under the heading
print_commands() {
	awk -v heading="## $1" -v wanted="$2" '
		/^## / { here = $0 == heading; number = 0 }
		/^    / { number += !inside; if (here && number == wanted) print substr($0, 5) }
		{ inside = /^    / }
	' /tracing.md
}

# run_block NAME HEADING NUMBER PROGRAM: run a block of commands of the document, with its output in
# /tmp/said; a test that is skipped if PROGRAM is not installed
run_block() {
	if [ "$4" ] && ! command -v "$4" >/dev/null; then
		skip "$1" "$4 is not in this test kernel"
		return 1
	fi
	print_commands "$2" "$3" >/tmp/commands
	[ -s /tmp/commands ] && sh -e /tmp/commands >/tmp/said 2>&1
	code=$?
	[ "$code" -eq 0 ] || sed 's/^/# /' /tmp/said
	result "$code" "$1"
}

# output_has PATTERN UNWANTED: succeeds if at least three lines of the output match PATTERN, and
# none matches UNWANTED
output_has() {
	[ "$(grep -c "$1" /tmp/said)" -ge 3 ] && ! grep -q "$2" /tmp/said && return
	head -n 30 /tmp/said | sed 's/^/# /'
	return 1
}

test_bpftrace_task() {
	if run_block "the document's bpftrace program counts hits" "Count in the kernel" 2 ""; then
		grep -q "@@@" /tmp/said
		result $? "the output of bpftrace has a histogram"
	fi
}

# module_is_in_use MODULE: succeeds if something uses the module
module_is_in_use() {
	[ "$(sed -n "s/^$1 [0-9]* \([0-9]*\) .*/\1/p" /proc/modules)" -gt 0 ]
}

# request_is STATE: succeeds if the marker of example_typed is on or off
request_is() {
	grep -q "^example_request $1 typed" "$debugfs"/markers/list
}

test_raw_tracepoint() {
	try "example_typed loads" insmod /modules/example_typed.ko
	request_is off
	result $? "the list shows the typed marker off before bpftrace runs"
	run_block "the document's bpftrace program on the event of a typed marker runs" "Raw tracepoints" 2 ""
	grep -q "^@\[512\]: [1-9]" /tmp/said
	result $? "the program on the event reads the field of the second argument"
	if [ "$(bpftrace_version)" -lt 21 ]; then
		! bpftrace -e 'rawtracepoint:sched_switch { exit(); }' >/dev/null 2>&1
		result $? "bpftrace before 0.21 has no raw tracepoints of modules"
		rmmod example_typed
		return
	fi
	run_block "the document's bpftrace program on a raw tracepoint runs" "Raw tracepoints" 1 ""
	grep -q "^@\[512\]: [1-9]" /tmp/said
	result $? "the program on the raw tracepoint gets the second argument"
	bpftrace -e 'rawtracepoint:example_request { @ = count(); } interval:s:5 { exit(); }' \
		>/tmp/held 2>&1 &
	bpftrace=$!
	within 30 module_is_in_use example_typed
	result $? "a bpftrace program holds a reference to example_typed"
	within 30 request_is on
	result $? "a bpftrace program switches the typed marker on"
	refused "rmmod is refused while a bpftrace program is attached" "in use\|temporarily unavailable" \
		rmmod example_typed
	wait $bpftrace
	within 30 request_is off
	result $? "the typed marker is off after the bpftrace program has ended"
	within 30 rmmod example_typed
	result $? "example_typed unloads after the bpftrace program has ended"
	refused "a raw tracepoint of an untyped marker is refused" "" \
		bpftrace -e 'rawtracepoint:example_tick { @ = count(); } interval:s:1 { exit(); }'
}

test_module_held_by_perf() {
	perf record -q -a -o /tmp/held.data -e kmarkers:example_tick sleep 5 >/dev/null 2>&1 &
	perf=$!
	within 30 module_is_in_use example_client
	result $? "perf holds a reference to example_client"
	refused "rmmod is refused while perf records" "in use\|temporarily unavailable" rmmod example_client
	wait $perf
	within 30 client_is_not_in_use
	result $? "perf has dropped its reference to example_client"
}

client_is_not_in_use() {
	! module_is_in_use example_client
}

test_tracing() {
	try "example_client loads" insmod /modules/example_client.ko
	put 20 /sys/module/example_client/parameters/period_ms
	if run_block "the document's trace-cmd commands record a marker" "Watch a marker" 1 trace-cmd; then
		output_has "example_tick: *tick [0-9]*" nothing
		result $? "trace-cmd shows the marker's arguments"
	fi
	run_block "the document's filter commands run" "Keep what matters" 1 ""
	output_has "example_tick: tick [0-9]*[13579]$" "example_tick: tick [0-9]*[02468]$"
	result $? "the trace has only records that pass the filter"
	if run_block "the document's perf commands with a filter run" "Keep what matters" 2 perf; then
		output_has "example_tick: tick [0-9]*[13579]" "example_tick: tick [0-9]*[02468]$"
		result $? "perf shows only records that pass the filter"
	fi
	if [ -e "$tracing"/events/kmarkers/example_tick/hist ]; then
		run_block "the document's histogram commands run" "Count in the kernel" 1 ""
		grep -q "Hits: [1-9]" /tmp/said
		result $? "the histogram of the kernel has hits"
	else
		skip "the document's histogram commands run" "this kernel has no histograms"
	fi
	! bpftrace_reads_events "the document's bpftrace program counts hits" || test_bpftrace_task
	! bpftrace_reads_events "the document's bpftrace program on a raw tracepoint runs" || test_raw_tracepoint
	if command -v perf >/dev/null; then
		test_module_held_by_perf
	else
		skip "perf holds a reference to example_client" "perf is not in this test kernel"
	fi
	same "the event is disabled after all commands" "$(cat "$tracing"/events/kmarkers/example_tick/enable)" 0
	try "example_client unloads" rmmod example_client
}
