# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Trace events of recorded functions (built with entry.mk): kmarkers_function:entry and
# kmarkers_function:exit.
# shellcheck source=tests/vm/lib_entry.sh
. /tests/lib_entry.sh

function_group=$tracing/events/kmarkers_function

# entry_records PATTERN: print the number of records in the trace that match PATTERN
entry_records() {
	grep -c "$1" "$tracing/trace"
}

# call_traced_functions PASSES: empty the trace, then call the functions PASSES times
call_traced_functions() {
	echo >"$tracing/trace"
	put "$1" "$te/pass"
}

test_entry_event_made() {
	refused "a malformed pattern is refused" "Invalid argument" put "a:b:c:d event" "$entry/control"
	try "the events of functions do not exist before a command requests them" [ ! -e "$function_group" ]
	check_entry_command 0 "te_leaf event"
	try "the events of entries and exits exist when a command has requested one" \
		[ -e "$function_group/entry/enable" -a -e "$function_group/exit/enable" ]
	same "the fields are the function and its caller" \
		"$(sed -n 's/.*field:\(.*\);	offset.*size:\([0-9]*\);.*/\1 \2/p' "$function_group/entry/format" | grep -v common_ | tr '\n' ' ')" \
		"void * function 8 void * caller 8 "
	entry_lists "kmarkers_test_entry:te_leaf:entry off event 0 "
	result $? "a function with the action event is disabled while the event is"
}

test_entry_event_records() {
	before=$(patcher_stat rounds)
	try "the event of entries is enabled" put 1 "$function_group/entry/enable"
	same "the functions are enabled with their event in 3 rounds" $(($(patcher_stat rounds) - before)) 3
	entry_lists "kmarkers_test_entry:te_leaf:entry on event " && entry_lists "kmarkers_test_entry:te_leaf:exit off event "
	result $? "the entries are enabled with their event and the exits are not"
	# The caller may be te_tail(): in kernels that unwind by frame pointers, te_tail() calls
	# te_leaf() instead of jumping to it.
	call_traced_functions 500
	same "each of 1000 hits is recorded with the function and its caller" \
		"$(entry_records ": entry: function te_leaf.* caller te_\(pass_once\|tail\).*+0x")" 1000
	same "no other function is recorded" "$(entry_records " function ")" 1000
	echo >"$tracing/trace"
	put 5 "$te/storm"
	for cpu in 0 1; do
		grep -q "^processor[^0-9]*$cpu\$" /proc/cpuinfo || continue
		same "each hit on CPU $cpu is recorded for that CPU" "$(entry_records "te_storm-.*\[00$cpu\].* entry: function te_leaf")" 10
	done
	try "the event of exits is enabled" put 1 "$function_group/exit/enable"
	put "te_many_returns event" "$entry/control"
	call_traced_functions 5
	same "each exit is recorded with the function and its caller" \
		"$(entry_records ": exit: function te_leaf.* caller te_\(pass_once\|tail\).*+0x")" 10
	same "hits of a second pattern are recorded" "$(entry_records ": entry: function te_many_returns")" 5
	put "te_leaf count" "$entry/control"
	hits=$(entry_hits entry te_leaf)
	call_traced_functions 5
	same "hits with the actions event and count are recorded and counted" "$(entry_records ": entry: function te_leaf") $(($(entry_hits entry te_leaf) - hits))" "10 10"
	put "te_leaf -count" "$entry/control"
	put "te_many_returns -event" "$entry/control"
}

# print_stacks KIND: print the functions in the stack trace of each hit of te_cold, one line for
# each hit
print_stacks() {
	awk -v kind=": $1: function te_cold" '
		index($0, kind) { hit = 1; next }
		/ => / { if (hit) { sub(/\+.*/, "", $2); line = line " " $2 } next }
		/<stack trace>/ { next }
		{ if (line) print line; line = ""; hit = 0 }
		END { if (line) print line }' "$tracing/trace"
}

# A stack trace of a hit must show the function and its caller, also if the kernel unwinds by frame
# pointers.
test_entry_event_stacks() {
	put "te_cold event" "$entry/control"
	put 1 "$tracing/options/stacktrace" || {
		skip "a stack trace has the function and its caller" "this kernel has none in the trace"
		return
	}
	call_traced_functions 5
	put 0 "$tracing/options/stacktrace"
	for kind in entry exit; do
		same "the stack trace of an $kind has the function and its caller" \
			"$(print_stacks $kind | grep -c "entry_call te_cold te_pass_once\(.cold\)\? te_pass")" 5
	done
	put "te_cold -event" "$entry/control"
}

test_entry_event_instances() {
	mkdir "$tracing/instances/entry"
	put 1 "$tracing/instances/entry/events/kmarkers_function/entry/enable"
	call_traced_functions 2
	same "a trace instance gets the same records" \
		"$(grep -c ": entry: function te_leaf" "$tracing/instances/entry/trace") $(entry_records ": entry: function te_leaf")" "4 4"
	put 0 "$tracing/instances/entry/events/kmarkers_function/entry/enable"
	rmdir "$tracing/instances/entry"
	call_traced_functions 2
	same "hits are recorded after the instance is removed" "$(entry_records ": entry: function te_leaf")" 4
}

test_entry_event_modules() {
	refused "kmarkers_entry cannot be unloaded while an event of functions is enabled" "temporarily unavailable" rmmod kmarkers_entry
	# The events are removed with the last module that has recorded functions (built with
	# entry.mk).
	insmod /modules/example_entry.ko
	echo >"$tracing/trace"
	try "a module unloads while the event of its functions is enabled" rmmod kmarkers_test_entry
	same "functions called by the exit function are recorded" "$(entry_records ": entry: ")" 2
	echo >"$tracing/trace"
	insmod /modules/kmarkers_test_entry.ko
	same "functions called by the init function are recorded" "$(entry_records ": entry: function te_leaf")" 2
	rmmod example_entry
	put 1 "$function_group/enable"
	call_traced_functions 2
	same "functions of a module loaded later are recorded" "$(entry_records ": entry: function te_leaf")" 4
	put 0 "$function_group/enable"
	same "all functions are disabled when their events are" "$(entry_stat on)" 0
	call_traced_functions 2
	same "no function is recorded while its event is disabled" "$(entry_records " function ")" 0
	put "te_leaf -event" "$entry/control"
	put 1 "$function_group/enable"
	same "no function is enabled by its event when its pattern is removed" "$(entry_stat on)" 0
	put 0 "$function_group/enable"
	try "kmarkers_entry unloads when its events are disabled" rmmod kmarkers_entry
	try "the events of functions do not exist without kmarkers_entry" [ ! -e "$function_group" ]
	try "kmarkers_entry loads again after its events were removed" insmod /modules/kmarkers_entry.ko
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
