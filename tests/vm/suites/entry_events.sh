# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Hits of recorded functions as trace events.
# shellcheck source=tests/vm/lib_entry.sh
. /tests/lib_entry.sh

function_group=$tracing/events/kmarkers_function

# entry_records PATTERN: print how many records of the trace match
entry_records() {
	grep -c "$1" "$tracing/trace"
}

# pass_traced PASSES: empty the trace, then call the functions that many times
pass_traced() {
	echo >"$tracing/trace"
	put "$1" "$te/pass"
}

test_entry_event_made() {
	refused "what is no pattern makes no event" "Invalid argument" put "a:b:c:d event" "$entry/control"
	try "there is no event of functions unless that is asked for" [ ! -e "$function_group" ]
	entry_takes 0 "te_leaf event"
	try "entries and exits are events when that is asked for" \
		[ -e "$function_group/entry/enable" -a -e "$function_group/exit/enable" ]
	same "the fields are the function and its caller" \
		"$(sed -n 's/.*field:\(.*\);	offset.*size:\([0-9]*\);.*/\1 \2/p' "$function_group/entry/format" | grep -v common_ | tr '\n' ' ')" \
		"void * function 8 void * caller 8 "
	entry_lists "kmarkers_test_entry:te_leaf:entry off event 0 "
	result $? "a function whose event is off is off"
}

test_entry_event_records() {
	before=$(stat_of rounds)
	try "the event of entries goes on" put 1 "$function_group/entry/enable"
	same "functions go on with their event in 3 rounds" $(($(stat_of rounds) - before)) 3
	entry_lists "kmarkers_test_entry:te_leaf:entry on event " && entry_lists "kmarkers_test_entry:te_leaf:exit off event "
	result $? "entries are on with their event, and exits are off with theirs"
	# Where the kernel unwinds by frame pointers, te_tail() calls te_leaf() and does not jump to it.
	pass_traced 500
	same "each of 1000 hits is a record of the function and its caller" \
		"$(entry_records ": entry: function te_leaf.* caller te_\(pass_once\|tail\).*+0x")" 1000
	same "no other function has a record" "$(entry_records " function ")" 1000
	echo >"$tracing/trace"
	put 5 "$te/storm"
	for cpu in 0 1; do
		grep -q "^processor[^0-9]*$cpu\$" /proc/cpuinfo || continue
		same "each hit on CPU $cpu is a record of that CPU" "$(entry_records "te_storm-.*\[00$cpu\].* entry: function te_leaf")" 10
	done
	try "the event of exits goes on" put 1 "$function_group/exit/enable"
	put "te_many event" "$entry/control"
	pass_traced 5
	same "each exit is a record of the function and its caller" \
		"$(entry_records ": exit: function te_leaf.* caller te_\(pass_once\|tail\).*+0x")" 10
	same "hits of a second pattern are records" "$(entry_records ": entry: function te_many")" 5
	put "te_leaf count" "$entry/control"
	hits=$(entry_hits entry te_leaf)
	pass_traced 5
	same "what is a record is counted, too" "$(entry_records ": entry: function te_leaf") $(($(entry_hits entry te_leaf) - hits))" "10 10"
	put "te_leaf -count" "$entry/control"
	put "te_many -event" "$entry/control"
}

# stacks_of KIND: print the functions that are on the stack at hits of te_cold, a line for each hit
stacks_of() {
	awk -v kind=": $1: function te_cold" '
		index($0, kind) { hit = 1; next }
		/ => / { if (hit) { sub(/\+.*/, "", $2); line = line " " $2 } next }
		/<stack trace>/ { next }
		{ if (line) print line; line = ""; hit = 0 }
		END { if (line) print line }' "$tracing/trace"
}

# A stack trace of a hit has the function and its caller, also where the kernel unwinds by frame pointers.
test_entry_event_stacks() {
	put "te_cold event" "$entry/control"
	put 1 "$tracing/options/stacktrace" || {
		skip "a stack trace has the function and its caller" "this kernel has none in the trace"
		return
	}
	pass_traced 5
	put 0 "$tracing/options/stacktrace"
	for kind in entry exit; do
		same "the stack trace of an $kind has the function and its caller" \
			"$(stacks_of $kind | grep -c "entry_call te_cold te_pass_once\(.cold\)\? te_pass")" 5
	done
	put "te_cold -event" "$entry/control"
}

test_entry_event_instances() {
	mkdir "$tracing/instances/entry"
	put 1 "$tracing/instances/entry/events/kmarkers_function/entry/enable"
	pass_traced 2
	same "an instance has the records as well" \
		"$(grep -c ": entry: function te_leaf" "$tracing/instances/entry/trace") $(entry_records ": entry: function te_leaf")" "4 4"
	put 0 "$tracing/instances/entry/events/kmarkers_function/entry/enable"
	rmdir "$tracing/instances/entry"
	pass_traced 2
	same "the records go on without the instance" "$(entry_records ": entry: function te_leaf")" 4
}

test_entry_event_modules() {
	refused "kmarkers_entry while an event of functions is on" "temporarily unavailable" rmmod kmarkers_entry
	# The events are removed with the last module that has recorded functions.
	insmod /modules/example_entry.ko
	echo >"$tracing/trace"
	try "a module leaves while its functions have an event that is on" rmmod kmarkers_test_entry
	same "what the exit function calls has records" "$(entry_records ": entry: ")" 2
	echo >"$tracing/trace"
	insmod /modules/kmarkers_test_entry.ko
	same "what the init function calls has records" "$(entry_records ": entry: function te_leaf")" 2
	rmmod example_entry
	put 1 "$function_group/enable"
	pass_traced 2
	same "functions of a module that came have records" "$(entry_records ": entry: function te_leaf")" 4
	put 0 "$function_group/enable"
	same "all functions are off with their events" "$(entry_stat on)" 0
	pass_traced 2
	same "no function has a record when its event is off" "$(entry_records " function ")" 0
	put "te_leaf -event" "$entry/control"
	put 1 "$function_group/enable"
	same "no function is on when its pattern is gone" "$(entry_stat on)" 0
	put 0 "$function_group/enable"
	try "kmarkers_entry leaves when its events are off" rmmod kmarkers_entry
	try "there is no event of functions without kmarkers_entry" [ ! -e "$function_group" ]
	try "kmarkers_entry comes back after its events" insmod /modules/kmarkers_entry.ko
}

test_entry_events() {
	can_record "events of recorded functions" || return
	must insmod /modules/kmarkers_test_entry.ko || return
	test_entry_event_made
	test_entry_event_records
	test_entry_event_stacks
	test_entry_event_instances
	test_entry_event_modules
	rmmod kmarkers_test_entry
}
