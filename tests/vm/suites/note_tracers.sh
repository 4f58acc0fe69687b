# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# SDT notes of a module, traced by perf and bpftrace with the definitions in the file sdt/notes; and
# notes of a program, which have a semaphore that both tracers increment.
# shellcheck source=tests/vm/lib_notes.sh
. /tests/lib_notes.sh
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

note_file=/modules/kmarkers_test_notes.ko

# require_note_tracer NAME: succeeds if the tracer is installed in this test kernel; else skips its
# test
require_note_tracer() {
	[ -x "/usr/bin/$1" ] && return
	skip "$1 traces notes" "this test kernel does not have it"
	return 1
}

# define_for_perf: run the perf commands in sdt/notes, with the path of the module's file inserted
define_for_perf() {
	list_notes_of_level o2 "perf probe" | sed "s|\"\$(modinfo -n kmarkers_test_notes)\"|$note_file|" >/tmp/commands
	[ -s /tmp/commands ] && sh -e /tmp/commands >/tmp/said 2>&1 && return
	head -n 10 /tmp/said | sed 's/^/# /'
	return 1
}

# Only these SDT notes are compared, because their arguments have 4 and 8 bytes: perf script prints
# shorter arguments without their sign.
words="^(registers|constants|global|many|nested|loop) "

test_notes_in_perf() {
	require_note_tracer perf || return
	try "perf accepts the commands in sdt/notes" define_for_perf
	try "perf records notes" perf record -q -a -o /tmp/perf.data -e 'tnotes:*' \
		sh -c "echo o2 >$tnotes/pass"
	perf script -i /tmp/perf.data 2>/dev/null |
		sed -n 's/^.* tnotes:\([a-z]*\)_[0-9]*: ([^)]*)\(.*\)/\1\2/p' |
		sed 's/ a[0-9]=/ /g; s/ *$//' | grep -E "$words" >/tmp/report
	grep -E "$words" /tmp/wanted >/tmp/wanted_perf
	same_lines /tmp/report /tmp/wanted_perf
	result $? "perf shows the same hits and arguments as a handler gets"
	perf probe -q -d 'tnotes:*'
	same "no event of notes is left after perf" "$(cat "$tracing/kprobe_events")" ""
}

report_matches() {
	[ "$(grep -c "$1" /tmp/report)" -ge "$2" ]
}

test_notes_in_bpftrace() {
	require_note_tracer bpftrace || return
	if [ "$(bpftrace_version)" -lt 21 ]; then
		skip "bpftrace traces notes" "this one is older than 0.21: $(bpftrace --version)"
		return
	fi
	list_notes_of_level o2 bpftrace | sed "s/^bpftrace -e '\(.*\)'\$/\1/" >/tmp/program.bt
	echo 'BEGIN { printf("ready\n"); }' >>/tmp/program.bt
	bpftrace /tmp/program.bt >/tmp/report 2>&1 &
	tracing_notes=$!
	within 300 report_matches ready 1
	result $? "bpftrace accepts the programs in sdt/notes"
	put o2 "$tnotes/pass"
	within 60 report_matches "^[a-z]*_[0-9]" "$(wc -l </tmp/wanted)"
	end_tracer $tracing_notes
	sed -n 's/^\([a-z]*\)_[0-9]*\(.*\)/\1\2/p' /tmp/report >/tmp/reported
	same_lines /tmp/reported /tmp/wanted || head -n 10 /tmp/report | sed 's/^/# /'
	same_lines /tmp/reported /tmp/wanted
	result $? "bpftrace shows the same hits and arguments as a handler gets"
}

usdt_has_printed() {
	[ "$(wc -l </tmp/usdt_said)" -ge "$1" ]
}

# step_until TEXT: make the program execute its probe repeatedly until it prints the text
step_until() {
	for _ in $(seq 300); do
		echo >&3
		nr_steps=$((nr_steps + 1))
		within 20 usdt_has_printed $nr_steps
		[ "$(tail -n 1 /tmp/usdt_said)" = "$1" ] && return
		usleep 200000
	done
	return 1
}

# A command that makes the program execute its probe, and waits until the probe's semaphore is 1.
one_step="echo >/tmp/usdt_steps
	for _ in \$(seq 200); do
		grep -q 'semaphore 1' /tmp/usdt_said && break
		sleep 0.1
	done"

test_usdt_in_perf() {
	require_note_tracer perf || return
	try "perf reads the notes of a program" perf buildid-cache --add /usdt
	try "perf accepts a probe of a program" perf probe -q sdt_server:request__start
	# perf increments the semaphore before it starts recording, and records while the command
	# $one_step runs.
	try "perf records a probe of a program" \
		perf record -q -a -o /tmp/perf.data -e sdt_server:request__start sh -c "$one_step"
	nr_steps=$((nr_steps + 1))
	same "perf increments the semaphore of a probe" "$(tail -n 1 /tmp/usdt_said)" "described 6 semaphore 1"
	step_until "described 0 semaphore 0"
	result $? "perf decrements the semaphore of the probe when it ends"
	perf script -i /tmp/perf.data >/tmp/script 2>&1
	sed -n 's/^.* sdt_server:request__start: ([^)]*) *\(.*[^ ]\) *$/\1/p' /tmp/script | sort -u >/tmp/report
	[ -s /tmp/report ] || head -n 5 /tmp/script | sed 's/^/# /'
	same "perf shows the arguments of a program's probe" "$(tr '\n' ';' </tmp/report)" \
		"arg1=1 arg2=1000;arg1=2 arg2=2000;arg1=3 arg2=3000;arg1=4 arg2=4000;arg1=5 arg2=5000;arg1=6 arg2=6000;"
	perf probe -q -d 'sdt_server:*'
}

# step_until_reported: make the program execute its probe until bpftrace has reported the last hit of
# two passes, thus each hit of the second pass. While bpftrace attaches its program, the semaphore is
# 1 before the program runs: hits of that time are not reported.
step_until_reported() {
	for _ in $(seq 300); do
		echo >&3
		nr_steps=$((nr_steps + 1))
		report_matches "^6 6000$" 2 && return
		usleep 200000
	done
	return 1
}

test_usdt_in_bpftrace() {
	require_note_tracer bpftrace || return
	bpftrace -B line -e 'usdt:/usdt:server:request__start { printf("%d %d\n", arg0, arg1); }' \
		>/tmp/report 2>&1 &
	tracing_usdt=$!
	step_until "described 6 semaphore 1"
	result $? "bpftrace increments the semaphore of a probe"
	step_until_reported
	result $? "bpftrace reports each hit of a program's probe"
	end_tracer $tracing_usdt
	step_until "described 0 semaphore 0"
	result $? "bpftrace decrements the semaphore of the probe when it ends"
	same "bpftrace shows the arguments of a program's probe" \
		"$(grep '^[0-9]' /tmp/report | sort -u | tr '\n' ';')" \
		"1 1000;2 2000;3 3000;4 4000;5 5000;6 6000;"
}

# The notes of a program that was compiled with the <sys/sdt.h> of kmarkers.
test_usdt() {
	if [ ! -x /usdt ]; then
		skip "tracers increment and decrement the semaphore of a probe" "the program was not built"
		return
	fi
	nr_steps=0
	mkfifo /tmp/usdt_steps
	/usdt </tmp/usdt_steps >/tmp/usdt_said &
	usdt=$!
	exec 3>/tmp/usdt_steps
	step_until "described 0 semaphore 0"
	result $? "the semaphore of the probe is 0 before a tracer runs"
	test_usdt_in_perf
	test_usdt_in_bpftrace
	exec 3>&-
	wait $usdt
	result $? "the program with the probe exits with 0"
}

test_note_tracers() {
	must insmod /modules/kmarkers_test_notes.ko || return
	test_notes_in_perf
	test_notes_in_bpftrace
	rmmod kmarkers_test_notes
	test_usdt
}
