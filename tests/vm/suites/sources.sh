# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Trace events of functions and SDT probes while neither kmarkers_markers nor kmarkers_immediate is
# loaded.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# count_trace_records EVENT: print the number of records of the event in the trace
count_trace_records() {
	grep -c ": $1: " "$tracing/trace"
}

test_source_sdt() {
	for module in kmarkers_patcher kmarkers_sdt kmarkers_test_sdt; do
		try "$module loads" insmod "/modules/$module.ko"
	done
	refused "a request of an event is refused without kmarkers_events" "No such device" \
		put "tsdt:::io-start event" "$debugfs/sdt/control"
	logged "trace events of SDT probes need kmarkers_events"
	result $? "the log names the module that SDT probes need for events"
	try "kmarkers_events loads" insmod /modules/kmarkers_events.ko
	try "a request of an event is accepted with kmarkers_events" put "tsdt:::io-start event" "$debugfs/sdt/control"
	put 1 "$tracing/events/sdt_tsdt/io__start/enable"
	echo >"$tracing/trace"
	put 3 /sys/module/kmarkers_test_sdt/parameters/pass
	same "each hit of the SDT probe is recorded" "$(count_trace_records io__start)" 6
	refused "kmarkers_events cannot be unloaded while SDT probes are events" "temporarily unavailable" \
		rmmod kmarkers_events
	try "kmarkers_test_sdt unloads while its event is enabled" rmmod kmarkers_test_sdt
	try "kmarkers_sdt unloads" rmmod kmarkers_sdt
}

test_source_entry() {
	can_record "the trace events of functions alone" || return
	for module in kmarkers_entry kmarkers_test_entry; do
		try "$module loads" insmod "/modules/$module.ko"
	done
	try "a request of the event of a function is accepted" put "te_leaf event" "$debugfs/entry/control"
	put 1 "$tracing/events/kmarkers_function/entry/enable"
	echo >"$tracing/trace"
	put 5 /sys/module/kmarkers_test_entry/parameters/pass
	same "each call of the function is recorded" "$(count_trace_records entry)" 10
	refused "kmarkers_events cannot be unloaded while functions have events" "temporarily unavailable" \
		rmmod kmarkers_events
	put 0 "$tracing/events/kmarkers_function/entry/enable"
	try "kmarkers_test_entry unloads" rmmod kmarkers_test_entry
	try "kmarkers_entry unloads" rmmod kmarkers_entry
}

test_sources() {
	test_source_sdt
	test_source_entry
	try "kmarkers_events unloads after its sources" rmmod kmarkers_events
	try "kmarkers_patcher unloads at the end" rmmod kmarkers_patcher
	[ ! -e "$tracing/events/sdt_tsdt" ] && [ ! -e "$tracing/events/kmarkers_function" ]
	result $? "tracefs has no event of a source that is unloaded"
}
