# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# SDT notes that are enabled, disabled and unloaded with their module while they are executed. This
# suite runs on an emulator with one thread, because an emulator with several threads may execute
# the breakpoint of a removed kprobe, which crashes newer kernels.
# shellcheck source=tests/vm/lib_notes.sh
. /tests/lib_notes.sh

# An SDT note is enabled and disabled while it is executed.
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
	same "a note is enabled and disabled 10 times while it is executed" $switched 10
}

# execute_notes_repeatedly: execute the SDT notes repeatedly until /tmp/stop exists
execute_notes_repeatedly() {
	while [ ! -e /tmp/stop ]; do
		put 10 "$tnotes/repeat"
	done 2>/dev/null
}

# The module unloads and loads while its SDT notes are enabled and executed.
test_notes_reload() {
	rm -f /tmp/stop
	try "the notes are counted, also those of a module loaded later" put "tnotes:::* count" "$debugfs/sdt/control"
	execute_notes_repeatedly &
	left=0
	while [ $left -lt 5 ] && rmmod kmarkers_test_notes; do
		insmod /modules/kmarkers_test_notes.ko || break
		left=$((left + 1))
	done
	touch /tmp/stop
	wait
	same "the module unloads 5 times while its notes are enabled and executed" $left 5
	put 1 "$tnotes/repeat"
	try "notes of the module that was loaded again are enabled and hit" note_is "o2_loop:loop probed note 1 [1-9]"
	put "tnotes:::* -count" "$debugfs/sdt/control"
	rmmod kmarkers_test_notes
	test_notes_left
}

test_note_storms() {
	must insmod /modules/kmarkers_test_notes.ko || return
	test_notes_switched
	test_notes_reload
}
