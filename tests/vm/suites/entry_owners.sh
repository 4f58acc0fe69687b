# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Recorded functions (built with entry.mk) beside other owners of text: they are switched while
# another function of the same module is traced by the kernel's ftrace or replaced by a live patch.
# shellcheck source=tests/vm/lib_entry.sh
. /tests/lib_entry.sh

plain_patch=/sys/kernel/livepatch/kmarkers_test_entry_patch

# call_while_switching PASSES: call all functions while some are enabled and disabled; set $passed
# to the number of passes and $switched to the number of batches that the patcher made meanwhile
call_while_switching() {
	rm -f /tmp/stop
	batched=$(patcher_stat batches)
	toggle_functions "kmarkers_test_entry:te_[mrt]*" &
	passed=0
	while [ $passed -lt 200 ] && [ $(($(patcher_stat batches) - batched)) -lt 20 ]; do
		put "$1" "$te/pass"
		passed=$((passed + 1))
	done
	switched=$(($(patcher_stat batches) - batched))
	touch /tmp/stop
	wait
	passed=$((passed * $1))
}

# count_traced_calls: print the number of calls of te_plain that the kernel's ftrace has traced
count_traced_calls() {
	sed -n 's:^# entries-in-buffer/entries-written\: [0-9]*/\([0-9]*\) .*:\1:p;6q' "$tracing/trace"
}

test_entry_beside_ftrace() {
	put te_plain "$tracing/set_ftrace_filter"
	put function "$tracing/current_tracer"
	echo >"$tracing/trace"
	hits=$(entry_hits entry te_leaf)
	call_while_switching 5
	try "functions are switched beside the kernel's ftrace" [ "$switched" -ge 2 ]
	same "the kernel's ftrace traces each call while functions of the same module are switched" \
		"$(count_traced_calls)" "$passed"
	same "each entry is counted while the kernel's ftrace traces the same module" \
		$(($(entry_hits entry te_leaf) - hits)) $((2 * passed))
	put nop "$tracing/current_tracer"
	put "" "$tracing/set_ftrace_filter"
	refused "the kernel's ftrace refuses to trace a recorded function" "Invalid argument" put te_leaf "$tracing/set_ftrace_filter"
}

live_patch_is_active() {
	[ "$(cat "$plain_patch/enabled")" = 1 ] && [ "$(cat "$plain_patch/transition")" = 0 ]
}

unload_live_patch() {
	rmmod kmarkers_test_entry_patch 2>/dev/null
}

test_entry_beside_livepatch() {
	if ! [ -e /modules/kmarkers_test_entry_patch.ko ]; then
		skip "functions are switched beside a live patch" "this kernel has none"
		return
	fi
	refused "a live patch of a recorded function is refused" "" insmod /modules/kmarkers_test_entry_patch.ko function=te_leaf
	try "the log says that the function has no place for a live patch" \
		logged "failed to find location for function 'te_leaf'"
	try "a live patch of another function of the module loads" insmod /modules/kmarkers_test_entry_patch.ko
	try "the live patch is active" within 30 live_patch_is_active
	hits=$(entry_hits entry te_leaf)
	calls=$(cat /sys/module/kmarkers_test_entry_patch/parameters/calls)
	call_while_switching 5
	try "functions are switched beside a live patch" [ "$switched" -ge 2 ]
	same "the live patch replaces each call while functions of the same module are switched" \
		$(($(cat /sys/module/kmarkers_test_entry_patch/parameters/calls) - calls)) "$passed"
	same "each entry is counted while the same module has a live patch" \
		$(($(entry_hits entry te_leaf) - hits)) $((2 * passed))
	put 0 "$plain_patch/enabled"
	try "the live patch is removed" within 30 unload_live_patch
}

test_entry_owners() {
	can_record "recorded functions beside other owners" || return
	must insmod /modules/kmarkers_test_entry.ko || return
	put "te_leaf count" "$entry/control"
	if [ -r "$tracing/available_filter_functions" ]; then
		test_entry_beside_ftrace
	else
		skip "functions are switched beside the kernel's ftrace" "this kernel has no function tracer"
	fi
	test_entry_beside_livepatch
	same "no recorded function returned a wrong result beside other owners" "$(cat "$te/wrong")" 0
	put "te_leaf -count" "$entry/control"
	rmmod kmarkers_test_entry
}
