# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Notes are switched, and their module unloads, while they are executed. An emulator with several
# threads may execute the breakpoint of a removed kprobe, which crashes newer kernels.
# shellcheck source=tests/vm/lib_notes.sh
. /tests/lib_notes.sh

# Each execution of a note is counted at most once while notes are switched and their module is
# loaded and unloaded.
test_notes_switched() {
	rm -f /tmp/stop
	while [ ! -e /tmp/stop ]; do
		put 20 "$tnotes/repeat"
	done &
	switched=0
	while [ $switched -lt 10 ] && put "o2_loop:loop count" "$debugfs/sdt/control"; do
		put "o2_loop:loop -count" "$debugfs/sdt/control" || break
		switched=$((switched + 1))
	done
	touch /tmp/stop
	wait
	same "a note is switched while it is executed" $switched 10
}

repeating() {
	while [ ! -e /tmp/stop ]; do
		put 10 "$tnotes/repeat"
	done 2>/dev/null
}

test_notes_leaving() {
	rm -f /tmp/stop
	try "a pattern waits for notes" put "tnotes:::* count" "$debugfs/sdt/control"
	repeating &
	left=0
	while [ $left -lt 5 ] && rmmod kmarkers_test_notes; do
		insmod /modules/kmarkers_test_notes.ko || break
		left=$((left + 1))
	done
	touch /tmp/stop
	wait
	same "a module leaves while its notes are on and hit" $left 5
	put 1 "$tnotes/repeat"
	try "notes that came are on" note_is "o2_loop:loop probed note 1 [1-9]"
	put "tnotes:::* -count" "$debugfs/sdt/control"
	rmmod kmarkers_test_notes
	test_notes_left
}

test_note_storms() {
	must insmod /modules/kmarkers_test_notes.ko || return
	test_notes_switched
	test_notes_leaving
}
