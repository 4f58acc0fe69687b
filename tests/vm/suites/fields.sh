# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Trace events of marker names, one event for each name.
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

test_own_files() {
	for file in enable filter format id trigger; do
		[ -f "$own/fd_request/$file" ]
		result $? "an event has the file $file"
	done
	same "fields of an event" "$(sed -n 's/^\tfield:\(.*\);$/\1/p' "$own"/fd_request/format |
		grep -v common_ | tr '\t' ' ')" "\
unsigned long sector; offset:8; size:8; signed:0
unsigned int bytes; offset:16; size:4; signed:0
__data_loc char[] name; offset:20; size:4; signed:0"
	same "how tracers print it" "$(sed -n 's/^print fmt: //p' "$own"/fd_request/format)" \
		'"sector %lu bytes %u name %s", REC->sector, REC->bytes, __get_str(name)'
	grep -q "field:u8 mac\[6\];.*offset:8;.*size:6;" "$own"/fd_array/format &&
		grep -q "field:u8 key\[4\];.*offset:14;.*size:4;" "$own"/fd_array/format
	result $? "fields that are arrays"
	grep -q "unsigned long sector;.*offset:8;.*size:8" "$own"/fd_typed/format
	result $? "fields of a typed marker"
	[ -f "$own"/enable ] && [ -f "$own"/filter ] && [ ! -e "$own"/fd_two_hundred ]
	result $? "names that are no event's"
}

# Numbers below zero: of every width, in records, filters and histograms.
test_own_signs() {
	same "signs of fields" "$(grep -v common_ "$own"/fd_signed/format | grep -c 'signed:1;$')" 5
	put 1 "$own"/fd_signed/enable
	recorded "a record of each number" fd_signed "signed 3" $((3 * cpus))
	same "what these records say" "$(records fd_signed | sort -u | grep -v "tiny 0")" "\
tiny -1 small -1 number -1 big -1 wide -1
tiny -2 small -2 number -2 big -2 wide -2"
	for field in tiny small number big wide; do
		try "a filter for $field below zero" put "$field == -1" "$own"/fd_signed/filter
		recorded "a record of what passes it" fd_signed "signed 3" "$cpus"
		put "$field < 0" "$own"/fd_signed/filter
		recorded "records of all below zero" fd_signed "signed 3" $((2 * cpus))
		put "$field > 0" "$own"/fd_signed/filter
		recorded "no record where none is above zero" fd_signed "signed 3" 0
	done
	put 0 "$own"/fd_signed/filter
	if [ ! -e "$own"/fd_signed/hist ]; then
		skip "a histogram of numbers below zero" "this kernel has none"
		put 0 "$own"/fd_signed/enable
		return
	fi
	put hist:keys=small "$own"/fd_signed/trigger
	hit_fields "signed 3"
	# Histograms print every key without a sign, as 64 bits.
	grep -q "small: *18446744073709551614 *} hitcount: *$cpus" "$own"/fd_signed/hist
	result $? "a histogram of numbers below zero"
	put '!hist:keys=small' "$own"/fd_signed/trigger
	put 0 "$own"/fd_signed/enable
}

test_own_instances() {
	mkdir "$tracing"/instances/fd
	put 1 "$own"/fd_request/enable
	put 1 "$tracing"/instances/fd/events/kmarkers/fd_request/enable
	echo >"$tracing"/instances/fd/trace
	recorded "a record in the first buffer" fd_request request "$cpus"
	same "a record in the second buffer" "$(records fd_request fd | wc -l)" "$cpus"
	put 0 "$own"/fd_request/enable
	recorded "no record where the event is off" fd_request request 0
	same "a record more where the event is on" "$(records fd_request fd | wc -l)" $((2 * cpus))
	try "the second goes" rmdir "$tracing"/instances/fd
	! is_on fd_request
	result $? "sites are off when the last buffer has gone"
}

# piped COUNT: succeeds if that many records were read from trace_pipe
piped() {
	[ "$(grep -c ": fd_request: " /tmp/pipe)" -ge "$1" ]
}

# A line that does not fit into what is left of a page is printed in the next read.
test_own_pipe() {
	put 1 "$own"/fd_request/enable
	echo >"$tracing"/trace
	hit_fields "request 1000"
	put 0 "$own"/fd_request/enable
	cat "$tracing"/trace_pipe >/tmp/pipe &
	reader=$!
	within 30 piped $((1000 * cpus))
	result $? "trace_pipe has a line for each hit"
	kill $reader
	wait $reader 2>/dev/null
	same "every line of trace_pipe is whole" \
		"$(grep -c ": fd_request: sector [0-9]* bytes 512 name \(odd\|even\)\$" /tmp/pipe)" $((1000 * cpus))
}

# The stub of a typed marker writes the records while no other probe is connected.
test_own_typed() {
	put 1 "$own"/fd_typed/enable
	recorded "a record of each hit from registers" fd_typed "typed 10" $((10 * cpus))
	same "what these records say" "$(records fd_typed | sort -u | tail -n 1)" "sector 9 bytes 512"
	put "fd_typed count" "$control_outside"
	recorded "a record of each hit beside a probe that counts" fd_typed "typed 10" $((10 * cpus))
	same "every hit of a typed marker is counted" \
		"$(sed -n 's/^hits //p' "$debugfs"/markers/fd_typed/stats)" $((10 * cpus))
	put "fd_typed none" "$control_outside"
	put "sector == 1" "$own"/fd_typed/filter
	recorded "a record of what passes a filter, from registers" fd_typed "typed 10" "$cpus"
	put 0 "$own"/fd_typed/filter
	recorded "a record of each hit after others have gone" fd_typed "typed 10" $((10 * cpus))
	put 0 "$own"/fd_typed/enable
	recorded "no record of a typed marker that is off" fd_typed "typed 10" 0
}

test_own_modules() {
	try "a second module with the same names" insmod /modules/kmarkers_test_fields_again.ko
	logged 'fd_differs in hit_differs(): format "another %lu" is not "one %lu"'
	result $? "the log names both formats of a name"
	put 1 "$own"/enable
	again=_again
	recorded "a record of a hit in the second" fd_request request "$cpus"
	recorded "a record of a hit of its typed marker" fd_typed typed "$cpus"
	recorded "no record of a marker with another format" fd_differs differs 0
	try "the first leaves" rmmod kmarkers_test_fields
	recorded "the event stays on" fd_request request "$cpus"
	grep -q 'another %lu' "$own"/fd_differs/format
	result $? "the other format has the event now"
	put 1 "$own"/fd_differs/enable
	recorded "a record of a marker with that format" fd_differs differs "$cpus"
	try "the first returns" insmod /modules/kmarkers_test_fields.ko
	logged 'fd_differs in hit_differs(): format "one %lu" is not "another %lu"'
	result $? "the log names both formats again"
	again=
	recorded "a record of a hit in the first, which is on" fd_request request "$cpus"
	recorded "no record of the marker whose format is not the event's" fd_differs differs 0
	try "the second leaves" rmmod kmarkers_test_fields_again
	recorded "the event stays on in the first" fd_request request "$cpus"
	put "stacktrace if sector == 1000" "$own"/fd_request/trigger
	put "sector < 1000" "$own"/fd_request/filter
	put "stacktrace if sector == 1000" "$own"/fd_typed/trigger
	put 0 "$own"/fd_typed/enable
	forget_triggers fd_request fd_typed
	try "the last leaves, with events on, a filter and triggers" rmmod kmarkers_test_fields
	[ ! -e "$own"/fd_request ] && lacks fd_ "$debugfs"/markers/list
	result $? "events leave with their last module"
	try "the last returns" insmod /modules/kmarkers_test_fields.ko
	same "events of a module that returns are off" "$(cat "$own"/fd_*/enable | sort -u)" 0
	recorded "no record of an event that is off again" fd_request request 0
}

# switching FILE: write 1 and 0 to the file in turn until /tmp/stop exists
switching() {
	while [ ! -e /tmp/stop ]; do
		put 1 "$1"
		put 0 "$1"
	done 2>/dev/null
}

# swap: load and unload two modules so that each in turn is the only one with the names
swap() {
	insmod /modules/kmarkers_test_fields_again.ko && hit_fields "request 10" || return
	again=_again
	rmmod kmarkers_test_fields && hit_fields "request 10" || return
	insmod /modules/kmarkers_test_fields.ko && rmmod kmarkers_test_fields_again || return
	again=
}

# Two processes switch events while modules are loaded and unloaded; afterwards every hit has one
# record.
test_own_races() {
	rm -f /tmp/stop
	switching "$own"/fd_request/enable &
	switching "$own"/enable &
	for _ in $(seq 5); do
		swap || break
	done
	loaded kmarkers_test_fields && ! loaded kmarkers_test_fields_again
	result $? "modules come and go while their events are switched"
	touch /tmp/stop
	wait
	put 1 "$own"/fd_request/enable
	recorded "a record of each hit after that" fd_request "request 100" $((100 * cpus))
	put 0 "$own"/enable
	! is_on fd_
	result $? "all sites are off after that"
}

# forget_triggers EVENT...: remove triggers in a kernel that looks for leaks: the kernel never frees
# a trigger whose event is removed
forget_triggers() {
	[ -e /sys/kernel/debug/kmemleak ] || return 0
	for event; do
		put '!stacktrace' "$own/$event/trigger"
	done
}

# A module is unloaded while another one with the same names is loaded.
test_coming_while_leaving() {
	here=kmarkers_test_fields
	swaps=0
	for next in _again "" _again "" _again "" _again ""; do
		put 1 "$own"/fd_request/enable
		[ "$next" ] || put "stacktrace if sector == 1000" "$own"/fd_request/trigger
		forget_triggers fd_request
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
	same "a module comes while another of its names leaves: the name is an event" $swaps 8
	again=
}

# A marker name that root gave to a function and that a module has, too.
test_name_of_a_function() {
	try "a marker on a function" put "attach vfs_open fd_shared" "$control_outside"
	try "a module with a marker of its name and format" insmod /modules/kmarkers_test_fields_again.ko
	put 1 "$own"/fd_shared/enable
	refused "detach while the event of both is on" "busy" put "detach fd_shared" "$control_outside"
	put 0 "$own"/fd_shared/enable
	try "detach" put "detach fd_shared" "$control_outside"
	put 1 "$own"/fd_shared/enable
	again=_again
	recorded "the module has the event now" fd_shared shared "$cpus"
	again=
	put 0 "$own"/fd_shared/enable
	try "the module with the shared name leaves" rmmod kmarkers_test_fields_again
	[ ! -e "$own"/fd_shared ]
	result $? "the shared event leaves with it"
}

# coming_and_going: load and unload a module until /tmp/stop exists; /tmp/comings gets a line each
# time
coming_and_going() {
	while [ ! -e /tmp/stop ]; do
		insmod /modules/kmarkers_test_fields_again.ko && rmmod kmarkers_test_fields_again &&
			echo >>/tmp/comings
	done
}

comings() {
	grep -c "" /tmp/comings
}

# A module with the same marker name is loaded and unloaded while the first module's marker is hit.
test_own_exactly_once() {
	rm -f /tmp/stop
	: >/tmp/comings
	put 1 "$own"/fd_request/enable
	echo >"$tracing"/trace
	coming_and_going &
	rounds=0
	while [ $rounds -lt 400 ] && [ "$(comings)" -lt 5 ]; do
		hit_fields "request 25"
		rounds=$((rounds + 1))
	done
	touch /tmp/stop
	wait
	[ "$(comings)" -ge 5 ]
	result $? "a module of the same name comes and goes"
	same "one record of each hit meanwhile" "$(records fd_request | wc -l)" $((rounds * 25 * cpus))
	put 0 "$own"/fd_request/enable
}

test_fields() {
	try "module with events" insmod /modules/kmarkers_test_fields.ko
	logged "enable in hit_taken(): no trace event: not a valid event name" &&
		logged "filter in hit_taken(): no trace event: not a valid event name" &&
		logged "fd_two_hundred: no trace event: too many or too long arguments"
	result $? "the log names markers without an event"
	test_own_files
	test_own_records
	test_own_pipe
	test_own_filters
	test_own_typed
	test_own_signs
	test_own_instances
	test_own_modules
	test_own_races
	test_coming_while_leaving
	test_name_of_a_function
	test_own_exactly_once
	try "module with events leaves" rmmod kmarkers_test_fields
}
