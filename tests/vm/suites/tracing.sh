# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The commands of Documentation/tracing.md, as they stand there.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

export PATH=$PATH:/usr/bin

# commands HEADING NUMBER: that block of them under a heading
commands() {
	awk -v heading="## $1" -v wanted="$2" '
		/^## / { here = $0 == heading; number = 0 }
		/^    / { number += !inside; if (here && number == wanted) print substr($0, 5) }
		{ inside = /^    / }
	' /tracing.md
}

# task NAME HEADING NUMBER PROGRAM: carry out a block; what it says is in /tmp/said
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

# said PATTERN UNWANTED: at least three lines match, and none matches the other
said() {
	[ "$(grep -c "$1" /tmp/said)" -ge 3 ] && ! grep -q "$2" /tmp/said && return
	head -n 30 /tmp/said | sed 's/^/# /'
	return 1
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
	if task "bpftrace counts" "Count in the kernel" 2 bpftrace; then
		grep -q "@@@" /tmp/said
		result $? "bpftrace has a histogram"
	fi
	same "the event is off" "$(cat "$tracing"/events/kmarkers/example_tick/enable)" 0
	try "marked module leaves" rmmod example_client
}
