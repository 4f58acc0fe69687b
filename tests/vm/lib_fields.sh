# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Functions for tests of the trace events of single markers.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

own=$tracing/events/kmarkers
# The parameter that accepts the commands of markers/control, also where debugfs is locked down.
# shellcheck disable=SC2034
control_parameter=/sys/module/kmarkers_markers/parameters/control
cpus=$(nproc)

# hit_fields WHAT: hit markers on every CPU, in kmarkers_test_fields or, if $again is _again, in
# kmarkers_test_fields_again
hit_fields() {
	put "$1" "/sys/module/kmarkers_test_fields$again/parameters/hit"
}
again=

# records NAME [INSTANCE]: print the text of each record of the event
records() {
	sed -n "s/.*: $1: //p" "$tracing/${2:+instances/$2/}trace"
}

# expect_records NAME EVENT HIT WANTED: run "hit_fields HIT"; the test NAME passes if EVENT then has
# WANTED records
expect_records() {
	echo >"$tracing"/trace
	hit_fields "$3"
	same "$1" "$(records "$2" | wc -l)" "$4"
}

# is_on NAME: succeeds if a marker whose name begins with NAME is on
is_on() {
	grep -q "^$1 on" "$debugfs"/markers/list
}

# bpftrace_reads FORMAT ARGUMENT LINE: succeeds if bpftrace prints an argument of the kernel's event
# sched_process_exec as a line that matches LINE. Up to three attempts are made, because bpftrace
# sometimes ends before it has printed the record of a process that ends at once.
bpftrace_reads() {
	for _ in 1 2 3; do
		bpftrace -e "tracepoint:sched:sched_process_exec { printf(\"$1\\n\", $2); }" \
			-c /bin/busybox >/tmp/reads 2>&1
		grep -q -x "$3" /tmp/reads && return
	done
	head -n 3 /tmp/reads | sed 's/^/# /'
	return 1
}

# bpftrace_reads_events NAME: succeeds if bpftrace can read a tracepoint of the kernel; else skips
# test NAME
bpftrace_reads_events() {
	command -v bpftrace >/dev/null && bpftrace_reads "pid %d" "args->pid" "pid [1-9][0-9]*" && return
	skip "$1" "bpftrace is missing, or cannot read the tracepoints of this kernel"
	return 1
}

# A delay before a command that trace-cmd runs: trace-cmd records nothing if the command ends before
# the recorder of trace-cmd has started.
# shellcheck disable=SC2034
begun="sleep 1; "

# has_ended PID: succeeds if the process has ended or is a zombie
has_ended() {
	! grep -q "^State:[[:space:]]*[^Z[:space:]]" "/proc/$1/status" 2>/dev/null
}

# end_tracer PID: send SIGINT to bpftrace until bpftrace ends. bpftrace may miss a signal that
# arrives while bpftrace is not waiting for events.
end_tracer() {
	for _ in 1 2 3; do
		kill -INT "$1"
		within 30 has_ended "$1" && break
		echo "# process $1 has not ended after SIGINT: sending SIGINT again"
	done
	wait "$1"
}

# bpftrace_version: print the version of bpftrace as a number, 21 for 0.21.0
bpftrace_version() {
	bpftrace --version 2>/dev/null | sed -n 's/^bpftrace v0\.\([0-9]*\).*/\1/p'
}

test_own_records() {
	same "the event is off before it is enabled" "$(cat "$own"/fd_request/enable)" 0
	expect_records "a hit has no record while the event is off" fd_request request 0
	try "the event is enabled" put 1 "$own"/fd_request/enable
	is_on fd_request
	result $? "the sites of an enabled event are on"
	expect_records "each of 100 hits on each CPU has a record" fd_request "request 100" $((100 * cpus))
	expect_records "one more hit on each CPU has a record" fd_request request "$cpus"
	same "a record has the fields of its hit" "$(records fd_request | sort -u)" "sector 0 bytes 512 name even"
	put 1 "$own"/fd_typed/enable
	expect_records "each hit of a typed marker has a record" fd_typed "typed 10" $((10 * cpus))
	same "a record of a typed marker has the fields of its hit" "$(records fd_typed | sort -u | head -n 1)" \
		"sector 0 bytes 512"
	put 1 "$own"/fd_bad/enable
	echo >"$tracing"/trace
	hit_fields bad
	same "a string that cannot be read is recorded as (fault)" "$(records fd_bad | sort -u)" \
		"string (fault) and ab then 0"
	put 1 "$own"/fd_array/enable
	echo >"$tracing"/trace
	hit_fields array
	same "arrays of bytes are recorded" "$(records fd_array | sort -u)" \
		"mac 00:1f:a0:ff:05:60 key 00 1f a0 ff bad 0000 nr 0"
	put 0 "$own"/fd_array/enable
	put 1 "$own"/fd_changing/enable
	expect_records "each hit has a record while its string changes" fd_changing "changing 500" $((500 * cpus))
	same "no record has more than its string" "$(records fd_changing | grep -vc '^string [ab]*$')" 0
	put 0 "$own"/fd_changing/enable
	try "the event is disabled" put 0 "$own"/fd_request/enable
	put 0 "$own"/fd_typed/enable
	put 0 "$own"/fd_bad/enable
	! is_on fd_request
	result $? "the sites of a disabled event are off"
	expect_records "a hit has no record after the event was disabled" fd_request request 0
	try "all events are enabled at once" put 1 "$own"/enable
	expect_records "a hit has a record while all events are enabled" fd_request request "$cpus"
	try "all events are disabled at once" put 0 "$own"/enable
	! is_on fd_
	result $? "all sites are off when all events are disabled"
}

test_own_filters() {
	put 1 "$own"/fd_request/enable
	try "a filter on a number is accepted" put "sector >= 3" "$own"/fd_request/filter
	expect_records "only hits that pass the filter on a number have records" fd_request "request 10" $((7 * cpus))
	try "a filter on a string is accepted" put 'name == "odd" && bytes == 512' "$own"/fd_request/filter
	expect_records "only hits that pass the filter on a string have records" fd_request "request 10" $((5 * cpus))
	refused "a filter on an unknown field is refused" "Invalid argument" \
		put "nothing == 1" "$own"/fd_request/filter
	put 0 "$own"/fd_request/filter
	expect_records "each hit has a record after the filter is removed" fd_request "request 10" $((10 * cpus))
	if [ -e "$own"/fd_request/hist ]; then
		try "a histogram trigger is accepted" put "hist:keys=name:vals=sector" "$own"/fd_request/trigger
		hit_fields "request 10"
		grep -q "name: odd .*hitcount: *$((5 * cpus))  sector: *$((25 * cpus))\$" "$own"/fd_request/hist
		result $? "the histogram has the hits and the sums"
		put "!hist:keys=name:vals=sector" "$own"/fd_request/trigger
	else
		skip "a histogram trigger is accepted" "this kernel has no histogram triggers"
	fi
	put 0 "$own"/fd_request/enable
}
