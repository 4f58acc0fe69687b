# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The trace events of markers, one for each name: fields, records, filters, loading and unloading.
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

# print_fields EVENT: print the fields of an event, with offsets from the first of them. Kernels
# differ in the size of the common fields before it.
print_fields() {
	sed -n 's/^\tfield:\(.*\);$/\1/p' "$own/$1/format" | grep -v common_ | tr '\t' ' ' |
		awk '{
			match($0, /offset:[0-9]+/)
			at = substr($0, RSTART + 7, RLENGTH - 7)
			if (NR == 1) first = at
			sub(/offset:[0-9]+/, "offset:" at - first)
			print
		}'
}

test_own_files() {
	for file in enable filter format id trigger; do
		[ -f "$own/fd_request/$file" ]
		result $? "the event fd_request has the file $file"
	done
	same "the format file lists the fields of the event" "$(print_fields fd_request)" "\
unsigned long sector; offset:0; size:8; signed:0
unsigned int bytes; offset:8; size:4; signed:0
__data_loc char[] name; offset:12; size:4; signed:0"
	same "the format file has the print format for tracers" "$(sed -n 's/^print fmt: //p' "$own"/fd_request/format)" \
		'"sector %lu bytes %u name %s", REC->sector, REC->bytes, __get_str(name)'
	print_fields fd_array | grep -q "u8 mac\[6\]; offset:0; size:6;" &&
		print_fields fd_array | grep -q "u8 key\[4\]; offset:6; size:4;"
	result $? "the format file lists fields that are arrays"
	print_fields fd_typed | grep -q "unsigned long sector; offset:0; size:8"
	result $? "the format file lists the fields of a typed marker"
	[ -f "$own"/enable ] && [ -f "$own"/filter ] && [ ! -e "$own"/fd_two_hundred ]
	result $? "reserved file names and markers with too many arguments are no events"
}

# Negative numbers of every width, in records, filters and histograms.
test_own_signs() {
	same "the format file marks 5 fields as signed" "$(grep -v common_ "$own"/fd_signed/format | grep -c 'signed:1;$')" 5
	put 1 "$own"/fd_signed/enable
	expect_records "each hit with numbers has a record" fd_signed "signed 3" $((3 * cpus))
	same "the records have the numbers of the hits" "$(records fd_signed | sort -u | grep -v "tiny 0")" "\
tiny -1 small -1 number -1 big -1 wide -1
tiny -2 small -2 number -2 big -2 wide -2"
	for field in tiny small number big wide; do
		try "a filter on $field with a negative number is accepted" put "$field == -1" "$own"/fd_signed/filter
		expect_records "only hits that pass the filter for $field have records" fd_signed "signed 3" "$cpus"
		put "$field < 0" "$own"/fd_signed/filter
		expect_records "a filter for $field < 0 passes all negative numbers" fd_signed "signed 3" $((2 * cpus))
		put "$field > 0" "$own"/fd_signed/filter
		expect_records "a filter for $field > 0 passes no hit" fd_signed "signed 3" 0
	done
	put 0 "$own"/fd_signed/filter
	if [ ! -e "$own"/fd_signed/hist ]; then
		skip "a histogram counts negative numbers" "this kernel has none"
		put 0 "$own"/fd_signed/enable
		return
	fi
	put hist:keys=small "$own"/fd_signed/trigger
	hit_fields "signed 3"
	# Histograms print every key without a sign, as 64 bits.
	grep -q "small: *18446744073709551614 *} hitcount: *$cpus" "$own"/fd_signed/hist
	result $? "a histogram counts negative numbers"
	put '!hist:keys=small' "$own"/fd_signed/trigger
	put 0 "$own"/fd_signed/enable
}

test_own_instances() {
	mkdir "$tracing"/instances/fd
	put 1 "$own"/fd_request/enable
	put 1 "$tracing"/instances/fd/events/kmarkers/fd_request/enable
	echo >"$tracing"/instances/fd/trace
	expect_records "a hit has a record in the top-level trace buffer" fd_request request "$cpus"
	same "a hit has a record in the buffer of the instance" "$(records fd_request fd | wc -l)" "$cpus"
	put 0 "$own"/fd_request/enable
	expect_records "a hit has no record in a buffer in which the event is disabled" fd_request request 0
	same "a hit has a record in the instance in which the event is enabled" "$(records fd_request fd | wc -l)" $((2 * cpus))
	try "the instance is removed" rmdir "$tracing"/instances/fd
	! is_on fd_request
	result $? "the sites are off when the last buffer with the event is removed"
}

# pipe_has_records COUNT: succeeds if at least COUNT records were read from trace_pipe
pipe_has_records() {
	[ "$(grep -c ": fd_request: " /tmp/pipe)" -ge "$1" ]
}

# Checks trace_pipe: a line that does not fit into the rest of a page is printed by the next read.
test_own_pipe() {
	put 1 "$own"/fd_request/enable
	echo >"$tracing"/trace
	hit_fields "request 1000"
	put 0 "$own"/fd_request/enable
	cat "$tracing"/trace_pipe >/tmp/pipe &
	reader=$!
	within 30 pipe_has_records $((1000 * cpus))
	result $? "trace_pipe prints a line for each hit"
	kill $reader
	wait $reader 2>/dev/null
	same "every line of trace_pipe is complete" \
		"$(grep -c ": fd_request: sector [0-9]* bytes 512 name \(odd\|even\)\$" /tmp/pipe)" $((1000 * cpus))
}

# Typed markers: if the event is the only probe, the stub of the marker calls the function of the
# event with the arguments in registers.
test_own_typed() {
	put 1 "$own"/fd_typed/enable
	expect_records "each hit of a typed marker has a record if the event is the only probe" fd_typed "typed 10" $((10 * cpus))
	same "the records have the numbers of the hits" "$(records fd_typed | sort -u | tail -n 1)" "sector 9 bytes 512"
	put "fd_typed count" "$control_parameter"
	expect_records "each hit of a typed marker has a record beside the probe count" fd_typed "typed 10" $((10 * cpus))
	same "the probe count counts every hit of a typed marker" \
		"$(sed -n 's/^hits //p' "$debugfs"/markers/fd_typed/stats)" $((10 * cpus))
	put "fd_typed -count" "$control_parameter"
	put "sector == 1" "$own"/fd_typed/filter
	expect_records "only hits of a typed marker that pass a filter have records" fd_typed "typed 10" "$cpus"
	put 0 "$own"/fd_typed/filter
	expect_records "each hit of a typed marker has a record after the probe count is removed" fd_typed "typed 10" $((10 * cpus))
	put 0 "$own"/fd_typed/enable
	expect_records "a hit of a typed marker has no record while its event is disabled" fd_typed "typed 10" 0
}

test_own_modules() {
	try "a second module with the same marker names loads" insmod /modules/kmarkers_test_fields_again.ko
	logged 'trace event fd_differs: hits in hit_differs() are not recorded: format "another %lu" differs from .* "one %lu"'
	result $? "the log names both formats of a marker whose formats differ"
	put 1 "$own"/enable
	again=_again
	expect_records "a hit in the second module has a record" fd_request request "$cpus"
	expect_records "a hit of the typed marker in the second module has a record" fd_typed typed "$cpus"
	expect_records "a hit of a marker whose format is not that of the event has no record" fd_differs differs 0
	try "the first module unloads" rmmod kmarkers_test_fields
	expect_records "the event stays enabled in the second module" fd_request request "$cpus"
	grep -q 'another %lu' "$own"/fd_differs/format
	result $? "the event has the format of the second module now"
	put 1 "$own"/fd_differs/enable
	expect_records "a hit of the marker with that format has a record" fd_differs differs "$cpus"
	try "the first module loads again" insmod /modules/kmarkers_test_fields.ko
	logged 'trace event fd_differs: hits in hit_differs() are not recorded: format "one %lu" differs from .* "another %lu"'
	result $? "the log names both formats again after the first module is loaded"
	again=
	expect_records "a hit in the first module has a record, because the event is enabled" fd_request request "$cpus"
	expect_records "a hit in the first module of the marker whose format differs has no record" fd_differs differs 0
	try "the second module unloads" rmmod kmarkers_test_fields_again
	expect_records "the event stays enabled in the first module" fd_request request "$cpus"
	put "stacktrace if sector == 1000" "$own"/fd_request/trigger
	put "sector < 1000" "$own"/fd_request/filter
	put "stacktrace if sector == 1000" "$own"/fd_typed/trigger
	put 0 "$own"/fd_typed/enable
	remove_stacktrace_triggers fd_request fd_typed
	try "the last module unloads while events are enabled and have a filter and triggers" rmmod kmarkers_test_fields
	[ ! -e "$own"/fd_request ] && lacks fd_ "$debugfs"/markers/list
	result $? "the events are removed with the last module"
	try "the last module loads again" insmod /modules/kmarkers_test_fields.ko
	same "the events are disabled after the module is loaded again" "$(cat "$own"/fd_*/enable | sort -u)" 0
	expect_records "a hit has no record while the event is disabled again" fd_request request 0
}

# switch_repeatedly FILE: write 1 and 0 to the file alternately until /tmp/stop exists
switch_repeatedly() {
	while [ ! -e /tmp/stop ]; do
		put 1 "$1"
		put 0 "$1"
	done 2>/dev/null
}

# swap_modules: load and unload two modules with the same names so that each is the only one loaded
# for a while
swap_modules() {
	insmod /modules/kmarkers_test_fields_again.ko && hit_fields "request 10" || return
	again=_again
	rmmod kmarkers_test_fields && hit_fields "request 10" || return
	insmod /modules/kmarkers_test_fields.ko && rmmod kmarkers_test_fields_again || return
	again=
}

# Two processes enable and disable events while modules are loaded and unloaded. Afterwards each hit
# must have one record.
test_own_races() {
	rm -f /tmp/stop
	switch_repeatedly "$own"/fd_request/enable &
	switch_repeatedly "$own"/enable &
	for _ in $(seq 5); do
		swap_modules || break
	done
	loaded kmarkers_test_fields && ! loaded kmarkers_test_fields_again
	result $? "modules are loaded and unloaded while their events are switched"
	touch /tmp/stop
	wait
	put 1 "$own"/fd_request/enable
	expect_records "each hit has one record after the events were switched" fd_request "request 100" $((100 * cpus))
	put 0 "$own"/enable
	! is_on fd_
	result $? "all sites are off when all events are disabled after that"
}

# remove_stacktrace_triggers EVENT...: in a kernel with kmemleak, remove the stacktrace triggers:
# the kernel never frees a trigger whose event is removed
remove_stacktrace_triggers() {
	[ -e /sys/kernel/debug/kmemleak ] || return 0
	for event; do
		put '!stacktrace' "$own/$event/trigger"
	done
}

# A module is unloaded while another one with the same marker names is being loaded.
test_load_during_unload() {
	here=kmarkers_test_fields
	swaps=0
	for next in _again "" _again "" _again "" _again ""; do
		put 1 "$own"/fd_request/enable
		[ "$next" ] || put "stacktrace if sector == 1000" "$own"/fd_request/trigger
		remove_stacktrace_triggers fd_request
		insmod /modules/kmarkers_test_fields$next.ko &
		rmmod $here
		wait
		here=kmarkers_test_fields$next
		again=$next
		put 1 "$own"/fd_request/enable || break
		echo >"$tracing"/trace
		hit_fields "request 10"
		[ "$(records fd_request | wc -l)" = $((10 * cpus)) ] || break
		put 0 "$own"/fd_request/enable
		swaps=$((swaps + 1))
	done
	same "the names stay events while one module with them unloads and another loads" $swaps 8
	again=
}

# A marker that is attached to a function has the same name as a marker of a module.
test_name_of_a_function() {
	try "a marker is attached to a function" put "attach vfs_open fd_shared" "$control_parameter"
	try "a module with a marker of the same name and format loads" insmod /modules/kmarkers_test_fields_again.ko
	put 1 "$own"/fd_shared/enable
	refused "detach is refused while the event of both markers is enabled" "busy" put "detach fd_shared" "$control_parameter"
	put 0 "$own"/fd_shared/enable
	try "detach removes the marker on the function" put "detach fd_shared" "$control_parameter"
	put 1 "$own"/fd_shared/enable
	again=_again
	expect_records "the event records hits of the module after detach" fd_shared shared "$cpus"
	again=
	put 0 "$own"/fd_shared/enable
	try "the module with the shared name unloads" rmmod kmarkers_test_fields_again
	[ ! -e "$own"/fd_shared ]
	result $? "the shared event is removed with the module"
}

# reload_fields_repeatedly: load and unload a module until /tmp/stop exists; add a line to
# /tmp/loads_of_fields each time
reload_fields_repeatedly() {
	while [ ! -e /tmp/stop ]; do
		insmod /modules/kmarkers_test_fields_again.ko && rmmod kmarkers_test_fields_again &&
			echo >>/tmp/loads_of_fields
	done
}

count_loads() {
	grep -c "" /tmp/loads_of_fields
}

# A module with the same marker names is loaded and unloaded while the first module's marker is hit.
test_own_exactly_once() {
	rm -f /tmp/stop
	: >/tmp/loads_of_fields
	put 1 "$own"/fd_request/enable
	echo >"$tracing"/trace
	reload_fields_repeatedly &
	rounds=0
	while [ $rounds -lt 400 ] && [ "$(count_loads)" -lt 5 ]; do
		hit_fields "request 25"
		rounds=$((rounds + 1))
	done
	touch /tmp/stop
	wait
	[ "$(count_loads)" -ge 5 ]
	result $? "a module with the same marker names is loaded and unloaded 5 times"
	same "each hit has one record while that module is loaded and unloaded" "$(records fd_request | wc -l)" $((rounds * 25 * cpus))
	put 0 "$own"/fd_request/enable
}

test_fields() {
	try "kmarkers_test_fields loads" insmod /modules/kmarkers_test_fields.ko
	logged "trace event enable for hit_taken() not created: not a valid event name" &&
		logged "trace event filter for hit_taken() not created: not a valid event name" &&
		logged "trace event fd_two_hundred not created: too many or too long arguments"
	result $? "the log names the markers that cannot be events"
	test_own_files
	test_own_records
	test_own_pipe
	test_own_filters
	test_own_typed
	test_own_signs
	test_own_instances
	test_own_modules
	test_own_races
	test_load_during_unload
	test_name_of_a_function
	test_own_exactly_once
	try "kmarkers_test_fields unloads" rmmod kmarkers_test_fields
}
