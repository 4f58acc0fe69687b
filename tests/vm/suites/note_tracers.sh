# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Notes of a module, traced by perf and bpftrace as the file sdt/notes tells them.
# shellcheck source=tests/vm/lib_notes.sh
. /tests/lib_notes.sh
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

note_file=/modules/kmarkers_test_notes.ko

# note_tracer NAME: succeeds if the tracer is in this test kernel
note_tracer() {
	[ -x "/usr/bin/$1" ] && return
	skip "$1 traces notes" "this test kernel does not have it"
	return 1
}

# define_for_perf: run the commands of the file, with the place of the module's file
define_for_perf() {
	note_lines o2 "perf probe" | sed "s|\"\$(modinfo -n kmarkers_test_notes)\"|$note_file|" >/tmp/commands
	[ -s /tmp/commands ] && sh -e /tmp/commands >/tmp/said 2>&1 && return
	head -n 10 /tmp/said | sed 's/^/# /'
	return 1
}

# Notes whose arguments have 4 and 8 bytes: perf script prints shorter ones without a sign.
words="^(registers|constants|global|many|nested|loop) "

test_notes_in_perf() {
	note_tracer perf || return
	try "perf takes the commands for notes" define_for_perf
	try "perf records notes" perf record -q -a -o /tmp/perf.data -e 'tnotes:*' \
		sh -c "echo o2 >$tnotes/pass"
	perf script -i /tmp/perf.data 2>/dev/null |
		sed -n 's/^.* tnotes:\([a-z]*\)_[0-9]*: ([^)]*)\(.*\)/\1\2/p' |
		sed 's/ a[0-9]=/ /g; s/ *$//' | grep -E "$words" >/tmp/report
	grep -E "$words" /tmp/wanted >/tmp/wanted_perf
	alike /tmp/report /tmp/wanted_perf
	result $? "perf shows what handlers see"
	perf probe -q -d 'tnotes:*'
	same "perf leaves no event of notes" "$(cat "$tracing/kprobe_events")" ""
}

reported() {
	[ "$(grep -c "$1" /tmp/report)" -ge "$2" ]
}

test_notes_in_bpftrace() {
	note_tracer bpftrace || return
	if [ "$(bpftrace_version)" -lt 21 ]; then
		skip "bpftrace traces notes" "this one is older than 0.21: $(bpftrace --version)"
		return
	fi
	note_lines o2 bpftrace | sed "s/^bpftrace -e '\(.*\)'\$/\1/" >/tmp/program.bt
	echo 'BEGIN { printf("ready\n"); }' >>/tmp/program.bt
	bpftrace /tmp/program.bt >/tmp/report 2>&1 &
	tracing_notes=$!
	within 300 reported ready 1
	result $? "bpftrace takes the programs for notes"
	put o2 "$tnotes/pass"
	within 60 reported "^[a-z]*_[0-9]" "$(wc -l </tmp/wanted)"
	end_tracer $tracing_notes
	sed -n 's/^\([a-z]*\)_[0-9]*\(.*\)/\1\2/p' /tmp/report >/tmp/reported
	alike /tmp/reported /tmp/wanted || head -n 10 /tmp/report | sed 's/^/# /'
	alike /tmp/reported /tmp/wanted
	result $? "bpftrace shows what handlers see"
}

test_note_tracers() {
	must insmod /modules/kmarkers_test_notes.ko || return
	test_notes_in_perf
	test_notes_in_bpftrace
	rmmod kmarkers_test_notes
}
