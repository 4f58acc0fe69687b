# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The trace events of markers and SDT probes in trace-cmd, perf and bpftrace of a distribution.
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

export PATH=$PATH:/usr/bin
hits=$debugfs/markers/ev_plain
pass="echo plain 10 >/sys/kernel/debug/kmarkers_test_events/hit"
line="number 42 text abc"

# require_tracer NAME: succeeds if the tracer is installed in this test kernel; else skips its test
require_tracer() {
	[ -x "/usr/bin/$1" ] && return
	skip "$1 shows every hit" "this test kernel does not have it"
	return 1
}

# expect_ten_hits NAME FILE: a test that passes if ten lines of the tracer's output show a hit of
# the marker
expect_ten_hits() {
	count=$(grep -c -F "$line" "$2")
	[ "$count" -eq 10 ] || head -n 20 "$2" | sed 's/^/# /'
	same "$1 shows every hit" "$count" 10
}

test_trace_cmd() {
	require_tracer trace-cmd || return
	try "trace-cmd records the common trace event" trace-cmd record -q -o /tmp/trace.dat -e kmarkers:ev_plain sh -c "$begun$pass"
	trace-cmd report -i /tmp/trace.dat >/tmp/report 2>&1
	expect_ten_hits trace-cmd /tmp/report
}

test_perf() {
	require_tracer perf || return
	try "perf records the common trace event" perf record -q -a -o /tmp/perf.data -e kmarkers:ev_plain sh -c "$pass"
	perf script -i /tmp/perf.data >/tmp/report 2>&1
	expect_ten_hits perf /tmp/report
}

# report_has_lines COUNT TEXT: succeeds if at least COUNT lines of /tmp/report contain the text
report_has_lines() {
	[ "$(grep -c -F "$2" /tmp/report)" -ge "$1" ]
}

# bpftrace_reads_strings: succeeds if bpftrace reads strings of the kernel's own events correctly;
# else skips the test. bpftrace 0.23 does not, because of the bug that pull request 4238 of bpftrace
# describes.
bpftrace_reads_strings() {
	bpftrace_reads %s "str(args->filename)" /bin/busybox && return
	skip "bpftrace shows every hit" "this bpftrace misreads strings of the kernel's own events"
	return 1
}

test_bpftrace() {
	bpftrace_reads_events "bpftrace shows every hit" || return
	bpftrace_reads_strings || return
	bpftrace -e 'BEGIN { printf("ready\n"); }
		tracepoint:kmarkers:ev_plain { printf("number %d text %s\n", args->number, str(args->text)); }' >/tmp/report 2>&1 &
	tracer=$!
	within 300 report_has_lines 1 ready
	result $? "bpftrace attaches to the common trace event"
	sh -c "$pass"
	within 60 report_has_lines 10 "$line"
	end_tracer $tracer
	expect_ten_hits bpftrace /tmp/report
}

# A command that hits fd_request on every CPU, with sectors 0 to 9 and the names "even" and "odd".
ten="echo request 10 >/sys/module/kmarkers_test_fields/parameters/hit"

test_fields_in_trace_cmd() {
	require_tracer trace-cmd || return
	try "trace-cmd records with a filter" \
		trace-cmd record -q -o /tmp/trace.dat -e kmarkers:fd_request -f "sector >= 3" sh -c "$begun$ten"
	trace-cmd report -i /tmp/trace.dat >/tmp/report 2>&1
	same "trace-cmd shows all records that pass the filter" "$(grep -c "fd_request: *sector [3-9] bytes 512 name " /tmp/report)" \
		$((7 * cpus))
	same "trace-cmd shows no record that does not pass the filter" "$(grep -c "fd_request:" /tmp/report)" $((7 * cpus))
	trace-cmd record -q -o /tmp/trace.dat -e kmarkers:fd_array \
		sh -c "${begun}echo array >/sys/module/kmarkers_test_fields/parameters/hit"
	trace-cmd report -i /tmp/trace.dat >/tmp/report 2>&1
	same "trace-cmd shows fields that are arrays" \
		"$(grep -c "fd_array: *mac 00:1f:a0:ff:05:60 key 00 1f a0 ff bad 0000 nr 0" /tmp/report)" "$cpus"
	if [ ! -e "$own"/fd_request/hist ]; then
		skip "trace-cmd sets a histogram" "this kernel has none"
		return
	fi
	try "trace-cmd sets a histogram" \
		trace-cmd start -e kmarkers:fd_request -R "hist:keys=name:vals=sector"
	sh -c "$ten"
	grep -q "name: odd .*hitcount: *$((5 * cpus))  sector: *$((25 * cpus))\$" "$own"/fd_request/hist
	result $? "the histogram of trace-cmd has the hits and the sums"
	trace-cmd reset >/dev/null 2>&1
}

test_fields_in_perf() {
	require_tracer perf || return
	try "perf records with a filter" perf record -q -a -o /tmp/perf.data -e kmarkers:fd_request \
		--filter 'name == "odd" && bytes == 512' sh -c "$ten"
	perf script -i /tmp/perf.data >/tmp/report 2>&1
	same "perf shows all records that pass the filter" "$(grep -c "fd_request: sector [13579] bytes 512 name odd" /tmp/report)" \
		$((5 * cpus))
	same "perf shows no record that does not pass the filter" "$(grep -c "fd_request:" /tmp/report)" $((5 * cpus))
	perf record -q -a -o /tmp/perf.data -e kmarkers:fd_request sh -c "$ten"
	perf report -i /tmp/perf.data --stdio -s sector >/tmp/report 2>&1
	tenths=$(grep -c "^ *10.00%  [0-9] bytes" /tmp/report)
	[ "$tenths" -eq 10 ] || head -n 30 /tmp/report | sed 's/^/# /'
	same "perf report shows 10 % of the records for each sector" "$tenths" 10
}

# Only hits on CPU 0 are used, because bpftrace loses a hit if two CPUs update a map for the first
# time at once.
test_fields_in_bpftrace() {
	bpftrace_reads_events "bpftrace reads the fields of an event" || return
	bpftrace -e 'BEGIN { printf("ready\n"); }
		tracepoint:kmarkers:fd_request /args->sector >= 3 && cpu == 0/ {
			@hits = count(); @sum = sum(args->sector); @bytes = max(args->bytes);
			@sectors = lhist(args->sector, 0, 10, 5);
		}' >/tmp/report 2>&1 &
	tracer=$!
	within 300 report_has_lines 1 ready
	result $? "bpftrace attaches to the event of a single marker"
	sh -c "$ten"
	end_tracer $tracer
	same "bpftrace counts the records that pass its filter" "$(sed -n 's/^@hits: //p' /tmp/report)" 7
	same "bpftrace adds up a field" "$(sed -n 's/^@sum: //p' /tmp/report)" 42
	same "bpftrace reads a field of 4 bytes" "$(sed -n 's/^@bytes: //p' /tmp/report)" 512
	same "bpftrace makes a histogram of a field" \
		"$(sed -n 's/^\[\(.*\)) *\([0-9]*\) |.*/\1:\2/p' /tmp/report | tr '\n' ' ')" \
		"0, 5:2 5, 10:5 "
}

test_fields_in_tracers() {
	must insmod /modules/kmarkers_test_fields.ko || return
	test_fields_in_trace_cmd
	test_fields_in_perf
	test_fields_in_bpftrace
	within 30 events_are_off
	result $? "no event is on after the tracers have ended"
	rmmod kmarkers_test_fields
}

events_are_off() {
	! is_on fd_
}

# A command that hits sdt_tsdt:io__start in two functions, with the numbers 0 to 9.
ten_probes="echo 10 >/sys/module/kmarkers_test_sdt/parameters/pass"

# expect_probe_hits TRACER: a test that passes if /tmp/report shows each hit of the probe with its
# arguments. The site may be a number, as perf prints it until perf has read the symbols of modules.
expect_probe_hits() {
	shown_hits=$(grep -c "io__start: *site [^ ]*.* arg1 [^ ]* arg2 [0-9]\$" /tmp/report)
	[ "$shown_hits" -eq 20 ] || head -n 20 /tmp/report | sed 's/^/# /'
	same "$1 shows every hit of an SDT probe" "$shown_hits" 20
}

test_probes_in_trace_cmd() {
	require_tracer trace-cmd || return
	try "trace-cmd records an SDT probe" \
		trace-cmd record -q -o /tmp/trace.dat -e sdt_tsdt:io__start sh -c "$begun$ten_probes"
	trace-cmd report -i /tmp/trace.dat >/tmp/report 2>&1
	expect_probe_hits trace-cmd
}

test_probes_in_perf() {
	require_tracer perf || return
	try "perf records an SDT probe" \
		perf record -q -a -o /tmp/perf.data -e sdt_tsdt:io__start sh -c "$ten_probes"
	perf script -i /tmp/perf.data >/tmp/report 2>&1
	expect_probe_hits perf
	perf record -q -a -o /tmp/perf.data -e sdt_tsdt:io__start --filter 'arg2 >= 7' sh -c "$ten_probes"
	perf script -i /tmp/perf.data >/tmp/report 2>&1
	same "perf filters an SDT probe" "$(grep -c " arg2 [789]\$" /tmp/report) $(grep -c io__start: /tmp/report)" "6 6"
}

test_probes_in_bpftrace() {
	bpftrace_reads_events "bpftrace reads the event of an SDT probe" || return
	bpftrace -e 'BEGIN { printf("ready\n"); }
		tracepoint:sdt_tsdt:io__start /args->arg2 >= 3/ { @hits = count(); @sum = sum(args->arg2); }' \
		>/tmp/report 2>&1 &
	tracer=$!
	within 300 report_has_lines 1 ready
	result $? "bpftrace attaches to the event of an SDT probe"
	sh -c "$ten_probes"
	end_tracer $tracer
	same "bpftrace counts hits of an SDT probe and adds up an argument" \
		"$(sed -n 's/^@hits: //p; s/^@sum: //p' /tmp/report | tr '\n' ' ')" "14 84 "
}

probes_are_off() {
	grep -q "^tsdt:.*:io-start off " "$debugfs/sdt/list" &&
		lacks "^tsdt:.*:io-start \(on\|trapped\) " "$debugfs/sdt/list"
}

test_probes_in_tracers() {
	must insmod /modules/kmarkers_test_sdt.ko || return
	try "the event of an SDT probe is added" put "tsdt:::io-start event" "$debugfs/sdt/control"
	test_probes_in_trace_cmd
	test_probes_in_perf
	test_probes_in_bpftrace
	within 30 probes_are_off
	result $? "no site of the probe is on after the tracers have ended"
	try "the event of an SDT probe is removed" put "tsdt:::io-start -event" "$debugfs/sdt/control"
	rmmod kmarkers_test_sdt
}

test_tracers() {
	must insmod /modules/kmarkers_test_events.ko || return
	put trace "$hits/probe"
	test_trace_cmd
	test_perf
	test_bpftrace
	put none "$hits/probe"
	same "no probe is connected after the tracers have ended" "$(cat "$hits/probe")" ""
	rmmod kmarkers_test_events
	test_fields_in_tracers
	test_probes_in_tracers
}
