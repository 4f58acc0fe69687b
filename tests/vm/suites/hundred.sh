# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# A module with a hundred marker names: insmod adds some as trace events at once, the others are
# added afterwards in the background.
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

list=$debugfs/markers/list

# count_events: print the number of the module's names that are events now
count_events() {
	find "$own" -maxdepth 1 -name 'many_0??' 2>/dev/null | wc -l
}

# count_settled_events: read the list, which waits until all pending events are added or removed,
# and then print the same number as count_events
count_settled_events() {
	cat "$list" >/dev/null && count_events
}

# load_hundred: load the module
load_hundred() {
	insmod /modules/kmarkers_test_hundred.ko
}

# unload_hundred: unload the module
unload_hundred() {
	rmmod kmarkers_test_hundred
}

# is_between LOW HIGH NUMBER: succeeds if the number is in the range
is_between() {
	[ "$1" -le "$3" ] && [ "$3" -le "$2" ]
}

# The module is loaded and unloaded faster than its events are added and removed.
test_hundred_hurry() {
	for _ in 1 2 3 4 5; do
		load_hundred
		unload_hundred
	done
	! loaded kmarkers_test_hundred
	result $? "the module is loaded and unloaded five times in succession"
	same "no event is left after five loads and unloads" "$(count_settled_events)" 0
	load_hundred && unload_hundred && load_hundred
	result $? "the module is loaded again immediately after it was unloaded"
	same "all names are events after the immediate reload" "$(count_settled_events)" 100
	put 1 "$own"/many_099/enable
	echo >"$tracing"/trace
	put 5 /sys/module/kmarkers_test_hundred/parameters/pass
	same "the last event records each hit after the immediate reload" "$(grep -c ': many_099: ' "$tracing"/trace)" 5
	unload_hundred && load_hundred
	result $? "the module is reloaded immediately while an event is enabled"
	same "all names are events after the reload with an event enabled" "$(count_settled_events)" 100
	same "no event is enabled after the reload" "$(cat "$own"/many_0*/enable | sort -u)" 0
}

# write_to_waiting_event TEXT FILE: write TEXT to FILE of an event of the module that was unloaded,
# and set $waiting to the event, which still waits for its removal, and $said to the error of the
# write. If the event is removed meanwhile, try the next one. Leave out the event $held. Fails with
# 2 if no event is left. In eventfs (v6.6), a directory may exist for a moment without its files, and
# the shell, which would create the file, is refused with EACCES.
write_to_waiting_event() {
	for waiting in "$own"/many_[1-9]???; do
		[ "$waiting" != "$held" ] || continue
		said=$( (put "$1" "$waiting/$2") 2>&1) && return
		case $said in
		*"No such file"* | *"nonexistent directory"* | *"Permission denied"*) ;;
		*) return 1 ;;
		esac
	done
	return 2
}

held_event_is_gone() {
	[ ! -e "$held" ]
}

# An event that waits for its removal cannot be enabled. If a trigger enables it nevertheless, it
# exists until the trigger is removed.
test_hundred_waiting() {
	held=
	write_to_waiting_event traceon trigger
	code=$?
	if [ $code = 2 ]; then
		# Skip as many results as there are otherwise.
		for what in "gets a trigger" "cannot be enabled" "stays because of a trigger" "is removed after its trigger"; do
			skip "an event that waits for its removal $what" "this kernel has removed all events"
		done
		return
	fi
	result $code "an event that waits for its removal gets a trigger"
	[ $code = 0 ] || echo "# the write to $waiting/trigger failed: $said"
	held=$waiting
	write_to_waiting_event 1 enable
	code=$?
	[ $code = 2 ] || [ "${said#*No such device}" != "$said" ]
	result $? "an event that waits for its removal cannot be enabled"
	echo "# the write to $waiting/enable ended with $code: $said"
	cat "$list" >/dev/null
	[ -e "$held" ]
	result $? "an event that waits for its removal stays because of a trigger"
	put "!traceon" "$held"/trigger
	try "the event is removed within 10 s after its trigger" within 10 held_event_is_gone
}

# The module unloads and loads while its events still wait for removal, because the events of ten
# thousand other names are removed before them. Only one event, which was enabled, is removed by the
# kernel itself when the module unloads. The module unloads a second time before this event is added
# again.
test_hundred_queue() {
	insmod /modules/kmarkers_test_many.ko && cat "$list" >/dev/null
	result $? "the module with ten thousand names loads"
	put 1 "$own"/many_099/enable
	rmmod kmarkers_test_many && unload_hundred && load_hundred && unload_hundred && load_hundred
	result $? "the module is reloaded while events of the other module are removed"
	[ "$(find "$own" -maxdepth 1 -name 'many_????' | wc -l)" -gt 0 ]
	result $? "events of the other module still exist after the reload"
	test_hundred_waiting
	same "finally the events are exactly the names of the module" \
		"$(count_settled_events) $(find "$own" -maxdepth 1 -name 'many_????' | wc -l)" "100 0"
	for event in "$own"/many_0??; do
		put 1 "$event"/enable
	done
	echo >"$tracing"/trace
	put 5 /sys/module/kmarkers_test_hundred/parameters/pass
	same "events whose removal was cancelled record each hit" "$(grep -c ': many_0..: ' "$tracing"/trace)" 500
	for event in "$own"/many_0??; do
		put 0 "$event"/enable
	done
}

# open_reads_freed_memory: succeeds if KASAN would report what kernels before 6.9 do with all trace
# events: tracing_open_file_tr(), which opens enable and filter, reads the trace_event_file before
# it takes event_mutex, when it may have been freed. Since commit b63db58e2fa5 ("eventfs/tracing:
# Add callback for release of an eventfs_inode", v6.9) the trace_event_file stays while a directory
# entry refers to it. The function looks for eventfs (v6.6), because no kernel between the two is
# tested with KASAN.
open_reads_freed_memory() {
	grep -q ' kasan_report$' /proc/kallsyms && ! grep -q ' eventfs_create_events_dir$' /proc/kallsyms
}

# Files of events are used while the module is loaded and unloaded.
test_hundred_races() {
	rm -f /tmp/stop
	formats_only=
	if open_reads_freed_memory; then
		formats_only=1
		skip "enable and filter of events are opened while the module is unloaded" \
			"this kernel reads freed memory, and has KASAN"
	fi
	while [ ! -e /tmp/stop ]; do
		if [ -z "$formats_only" ]; then
			put 1 "$own"/many_040/enable
			put 0 "$own"/many_040/enable
			put 'arg1 == 1' "$own"/many_050/filter
		fi
		cat "$own"/many_0*/format >/dev/null
	done 2>/dev/null &
	for _ in 1 2 3 4 5; do
		unload_hundred
		load_hundred
	done
	loaded kmarkers_test_hundred
	result $? "the module is loaded and unloaded while its events are used"
	touch /tmp/stop
	wait
	same "all names are events after the events were used" "$(count_settled_events)" 100
}

# The kernel enables the events one after the other. When the module unloads, the kernel itself
# removes the events that were enabled.
test_hundred_switched() {
	read -r start _ </proc/uptime
	put 1 "$own"/enable
	read -r end _ </proc/uptime
	echo "# a hundred events were enabled from $start s to $end s of uptime"
	same "all markers are on while all events are enabled" "$(grep -c '^many_[0-9]* on ' "$list")" 100
	put 0 "$own"/enable
	same "all markers are off while all events are disabled" "$(grep -c '^many_[0-9]* off ' "$list")" 100
	try "the module unloads after its events were enabled" unload_hundred
	same "no event that was enabled is left when rmmod returns" "$(count_events)" 0
	try "the module loads again after its events were enabled" load_hundred
	same "all names are events after that reload" "$(count_settled_events)" 100
}

# Files of events are open while the events are removed and other events may reuse their memory.
test_hundred_open() {
	exec 5<"$own/many_007/format" 6<"$own/many_042/format" 7<"$own/many_099/format"
	unload_hundred && cat "$list" >/dev/null
	insmod /modules/kmarkers_test_many.ko && cat "$list" >/dev/null
	result $? "files of events are open while the events are removed and others are added"
	said="$(cat <&5 2>/dev/null; cat <&6 2>/dev/null; cat <&7 2>/dev/null)"
	exec 5<&- 6<&- 7<&-
	same "an open file of a removed event shows nothing of another event" \
		"$(echo "$said" | sed -n 's/^name: //p' | grep -cvx "many_007\|many_042\|many_099")" 0
	rmmod kmarkers_test_many && load_hundred
	result $? "the module loads again after its files were closed"
	same "all names are events after the files were closed" "$(count_settled_events)" 100
	put 1 "$own"/many_042/enable
	echo >"$tracing"/trace
	put 5 /sys/module/kmarkers_test_hundred/parameters/pass
	same "an event whose file was open records each hit after the reload" "$(grep -c ': many_042: ' "$tracing"/trace)" 5
	put 0 "$own"/many_042/enable
}

test_hundred() {
	must loaded kmarkers_markers || return
	try "the module with a hundred names loads" load_hundred
	is_between 32 100 "$(count_events)"
	result $? "at least 32 names are events when insmod returns"
	same "all names are events after the list is read" "$(count_settled_events)" 100
	test_hundred_switched
	try "the module with a hundred names unloads" unload_hundred
	is_between 0 68 "$(count_events)"
	result $? "at least 32 events are removed when rmmod returns"
	same "all events are removed after the list is read" "$(count_settled_events)" 0
	test_hundred_hurry
	test_hundred_queue
	test_hundred_races
	test_hundred_open
	try "the module with a hundred names unloads at the end" unload_hundred
}
