# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The trace event in trace-cmd, perf and bpftrace of a distribution.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

export PATH=$PATH:/usr/bin
hits=$debugfs/markers/ev_plain
pass="echo plain 10 >/sys/kernel/debug/kmarkers_test_events/hit"
line="ev_plain: number 42 text abc (kmarkers_test_events hit_plain events.c:"

# tracer NAME: succeeds if it is in this test kernel
tracer() {
	[ -x "/usr/bin/$1" ] && return
	skip "$1 shows every hit" "this test kernel does not have it"
	return 1
}

# shown NAME FILE: passes if ten lines of the file show a hit of the marker
shown() {
	count=$(grep -c -F "$line" "$2")
	[ "$count" -eq 10 ] || head -n 20 "$2" | sed 's/^/# /'
	same "$1 shows every hit" "$count" 10
}

test_trace_cmd() {
	tracer trace-cmd || return
	try "trace-cmd records" trace-cmd record -q -o /tmp/trace.dat -e kmarkers:marker sh -c "$pass"
	trace-cmd report -i /tmp/trace.dat >/tmp/report 2>&1
	shown trace-cmd /tmp/report
}

test_perf() {
	tracer perf || return
	try "perf records" perf record -q -a -o /tmp/perf.data -e kmarkers:marker sh -c "$pass"
	perf script -i /tmp/perf.data >/tmp/report 2>&1
	shown perf /tmp/report
}

# lines COUNT TEXT: succeeds if that many lines of the report hold the text
lines() {
	[ "$(grep -c -F "$2" /tmp/report)" -ge "$1" ]
}

test_bpftrace() {
	tracer bpftrace || return
	bpftrace -e 'BEGIN { printf("ready\n"); }
		tracepoint:kmarkers:marker {
			printf("%s: %s (%s)\n", str(args->name), str(args->text), str(args->site));
		}' >/tmp/report 2>&1 &
	tracer=$!
	within 300 lines 1 ready
	result $? "bpftrace attaches"
	sh -c "$pass"
	within 60 lines 10 "$line"
	kill -INT $tracer
	wait $tracer
	shown bpftrace /tmp/report
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
}
