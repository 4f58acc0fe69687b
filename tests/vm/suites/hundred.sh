# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# A module with more names than insmod adds as trace events. The remaining events are added
# afterwards.
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

list=$debugfs/markers/list

# events_now: print how many names of the module are events
events_now() {
	find "$own" -maxdepth 1 -name 'many_0??' 2>/dev/null | wc -l
}

# events_then: print the same number once all pending events are added or removed
events_then() {
	cat "$list" >/dev/null && events_now
}

come() {
	insmod /modules/kmarkers_test_hundred.ko
}

go() {
	rmmod kmarkers_test_hundred
}

# between LOW HIGH NUMBER: succeeds if the number is in the range
between() {
	[ "$1" -le "$3" ] && [ "$3" -le "$2" ]
}

# The module is loaded and unloaded faster than its events are added and removed.
test_hundred_hurry() {
	for _ in 1 2 3 4 5; do
		come
		go
	done
	! loaded kmarkers_test_hundred
	result $? "module of a hundred names comes and goes five times"
	same "no event is left of that" "$(events_then)" 0
	come && go && come
	result $? "module of a hundred names returns at once"
	same "all its names are events again" "$(events_then)" 100
	put 1 "$own"/many_099/enable
	echo >"$tracing"/trace
	put 5 /sys/module/kmarkers_test_hundred/parameters/pass
	same "the last of them records each hit" "$(grep -c ': many_099: ' "$tracing"/trace)" 5
	go && come
	result $? "module of a hundred names returns at once, with an event on"
	same "all its names are events once more" "$(events_then)" 100
	same "no event of a module that returned is on" "$(cat "$own"/many_0*/enable | sort -u)" 0
}

# Events of ten thousand names are removed first, so the module is loaded again before its own
# events are removed. One of these was on, so the kernel has removed it, and the module unloads
# again before the event is added anew.
test_hundred_queue() {
	insmod /modules/kmarkers_test_many.ko && cat "$list" >/dev/null
	result $? "module of ten thousand names"
	put 1 "$own"/many_099/enable
	rmmod kmarkers_test_many && go && come && go && come
	result $? "module of a hundred names returns while events are removed"
	[ "$(find "$own" -maxdepth 1 -name 'many_????' | wc -l)" -gt 0 ]
	result $? "events of the other module are still there"
	same "all its names are events, and none of the other module's" \
		"$(events_then) $(find "$own" -maxdepth 1 -name 'many_????' | wc -l)" "100 0"
	for event in "$own"/many_0??; do
		put 1 "$event"/enable
	done
	echo >"$tracing"/trace
	put 5 /sys/module/kmarkers_test_hundred/parameters/pass
	same "events that were taken back record each hit" "$(grep -c ': many_0..: ' "$tracing"/trace)" 500
	for event in "$own"/many_0??; do
		put 0 "$event"/enable
	done
}

# Events are used while the module is loaded and unloaded.
test_hundred_races() {
	rm -f /tmp/stop
	while [ ! -e /tmp/stop ]; do
		put 1 "$own"/many_040/enable
		put 0 "$own"/many_040/enable
		put 'arg1 == 1' "$own"/many_050/filter
		cat "$own"/many_0*/format >/dev/null
	done 2>/dev/null &
	for _ in 1 2 3 4 5; do
		go
		come
	done
	loaded kmarkers_test_hundred
	result $? "module of a hundred names comes and goes while its events are in use"
	touch /tmp/stop
	wait
	same "all its names are events after that" "$(events_then)" 100
}

# The kernel switches the events one after the other, and itself removes events that were on.
test_hundred_switched() {
	read -r start _ </proc/uptime
	put 1 "$own"/enable
	read -r end _ </proc/uptime
	echo "# a hundred events were switched on from $start s to $end s"
	same "all markers of the module are on" "$(grep -c '^many_[0-9]* on ' "$list")" 100
	put 0 "$own"/enable
	same "all markers of the module are off" "$(grep -c '^many_[0-9]* off ' "$list")" 100
	try "module of a hundred names leaves after its events were on" go
	same "no event is left when rmmod returns" "$(events_now)" 0
	try "module of a hundred names returns after its events were on" come
	same "all its names are events in place of those" "$(events_then)" 100
}

# Files of events stay open while the events are removed, and while other events may reuse their
# memory.
test_hundred_open() {
	exec 5<"$own/many_007/format" 6<"$own/many_042/format" 7<"$own/many_099/format"
	go && cat "$list" >/dev/null
	insmod /modules/kmarkers_test_many.ko && cat "$list" >/dev/null
	result $? "files of events that go are open, and other events come"
	said="$(cat <&5 2>/dev/null; cat <&6 2>/dev/null; cat <&7 2>/dev/null)"
	exec 5<&- 6<&- 7<&-
	same "a file that was open shows nothing of others" \
		"$(echo "$said" | sed -n 's/^name: //p' | grep -cvx "many_007\|many_042\|many_099")" 0
	rmmod kmarkers_test_many && come
	result $? "the module of a hundred names returns to its files"
	same "a hundred events are those that were kept" "$(events_then)" 100
	put 1 "$own"/many_042/enable
	echo >"$tracing"/trace
	put 5 /sys/module/kmarkers_test_hundred/parameters/pass
	same "an event that was kept records each hit" "$(grep -c ': many_042: ' "$tracing"/trace)" 5
	put 0 "$own"/many_042/enable
}

test_hundred() {
	must loaded kmarkers_markers || return
	try "module of a hundred names" come
	between 32 100 "$(events_now)"
	result $? "at least 32 names are events when insmod returns"
	same "all names are events when the list was read" "$(events_then)" 100
	test_hundred_switched
	try "module of a hundred names leaves" go
	between 0 68 "$(events_now)"
	result $? "at least 32 events have gone when rmmod returns"
	same "all events have gone when the list was read" "$(events_then)" 0
	test_hundred_hurry
	test_hundred_queue
	test_hundred_races
	test_hundred_open
	try "module of a hundred names leaves last" go
}
