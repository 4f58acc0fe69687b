# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Functions for the suites that test names of markers as trace events.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

own=$tracing/events/kmarkers
# The parameter that takes the commands of markers/control, also where debugfs is locked down.
# shellcheck disable=SC2034
control_outside=/sys/module/kmarkers_markers/parameters/control
cpus=$(nproc)

# hit_fields WHAT: hit markers on every CPU, in the first module or in the one that $again selects
hit_fields() {
	put "$1" "/sys/module/kmarkers_test_fields$again/parameters/hit"
}
again=

# records NAME [INSTANCE]: print the text of each record of the event
records() {
	sed -n "s/.*: $1: //p" "$tracing/${2:+instances/$2/}trace"
}

# recorded NAME EVENT HIT WANTED: hit, and pass if the event has that many records
recorded() {
	echo >"$tracing"/trace
	hit_fields "$3"
	same "$1" "$(records "$2" | wc -l)" "$4"
}

is_on() {
	grep -q "^$1 on" "$debugfs"/markers/list
}

# bpftrace_reads_events NAME: succeeds if bpftrace can read an event of the kernel's own
bpftrace_reads_events() {
	command -v bpftrace >/dev/null && bpftrace \
		-e 'tracepoint:sched:sched_process_exec { printf("pid %d\n", args->pid); }' \
		-c /bin/busybox 2>&1 | grep -q "^pid [1-9]" && return
	skip "$1" "no bpftrace in this test kernel that reads the kernel's own events"
	return 1
}

# The beginning of commands that trace-cmd runs: a recorder that is stopped before it has begun
# records nothing.
# shellcheck disable=SC2034
begun="sleep 1; "

# has_ended PID: succeeds if the process has ended, even if nobody has waited for it
has_ended() {
	! grep -q "^State:[[:space:]]*[^Z[:space:]]" "/proc/$1/status" 2>/dev/null
}

# end_tracer PID: interrupt bpftrace until it ends: it loses an interrupt that arrives while it is
# not waiting for events
end_tracer() {
	for _ in 1 2 3; do
		kill -INT "$1"
		within 30 has_ended "$1" && break
		echo "# interrupted once more"
	done
	wait "$1"
}

# bpftrace_version: print the version of bpftrace as a number, 21 for 0.21.0
bpftrace_version() {
	bpftrace --version 2>/dev/null | sed -n 's/^bpftrace v0\.\([0-9]*\).*/\1/p'
}

test_own_records() {
	same "off at first" "$(cat "$own"/fd_request/enable)" 0
	recorded "no record while it is off" fd_request request 0
	try "on" put 1 "$own"/fd_request/enable
	is_on fd_request
	result $? "sites of an event are on"
	recorded "a record of each hit" fd_request "request 100" $((100 * cpus))
	recorded "a record of one more hit" fd_request request "$cpus"
	same "what a record says" "$(records fd_request | sort -u)" "sector 0 bytes 512 name even"
	put 1 "$own"/fd_typed/enable
	recorded "a record of each hit of a typed marker" fd_typed "typed 10" $((10 * cpus))
	same "what records of a typed marker say" "$(records fd_typed | sort -u | head -n 1)" \
		"sector 0 bytes 512"
	put 1 "$own"/fd_bad/enable
	echo >"$tracing"/trace
	hit_fields bad
	same "strings that cannot be read" "$(records fd_bad | sort -u)" \
		"string (fault) and ab then 0"
	put 1 "$own"/fd_array/enable
	echo >"$tracing"/trace
	hit_fields array
	same "arrays of bytes" "$(records fd_array | sort -u)" \
		"mac 00:1f:a0:ff:05:60 key 00 1f a0 ff bad 0000 nr 0"
	put 0 "$own"/fd_array/enable
	put 1 "$own"/fd_changing/enable
	recorded "a record of each hit whose string changes" fd_changing "changing 500" $((500 * cpus))
	same "no record of a string that ends elsewhere" "$(records fd_changing | grep -vc '^string [ab]*$')" 0
	put 0 "$own"/fd_changing/enable
	try "off" put 0 "$own"/fd_request/enable
	put 0 "$own"/fd_typed/enable
	put 0 "$own"/fd_bad/enable
	! is_on fd_request
	result $? "sites of an event are off"
	recorded "no record after it was switched off" fd_request request 0
	try "all of them on" put 1 "$own"/enable
	recorded "a record with all on" fd_request request "$cpus"
	try "all of them off" put 0 "$own"/enable
	! is_on fd_
	result $? "all sites are off"
}

test_own_filters() {
	put 1 "$own"/fd_request/enable
	try "filter of a number" put "sector >= 3" "$own"/fd_request/filter
	recorded "what passes it" fd_request "request 10" $((7 * cpus))
	try "filter of a string" put 'name == "odd" && bytes == 512' "$own"/fd_request/filter
	recorded "what passes that" fd_request "request 10" $((5 * cpus))
	refused "filter of a field that is not there" "Invalid argument" \
		put "nothing == 1" "$own"/fd_request/filter
	put 0 "$own"/fd_request/filter
	recorded "all without a filter" fd_request "request 10" $((10 * cpus))
	if [ -e "$own"/fd_request/hist ]; then
		try "histogram" put "hist:keys=name:vals=sector" "$own"/fd_request/trigger
		hit_fields "request 10"
		grep -q "name: odd .*hitcount: *$((5 * cpus))  sector: *$((25 * cpus))\$" "$own"/fd_request/hist
		result $? "hits and sums in it"
		put "!hist:keys=name:vals=sector" "$own"/fd_request/trigger
	else
		skip "histogram" "this kernel has none"
	fi
	put 0 "$own"/fd_request/enable
}
