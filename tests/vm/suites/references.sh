# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Events with references, such as those of disabled event probes: these events must not be removed,
# and the modules that they need must not unload. In a kernel without event probes only triggers
# hold references.
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

probe=$tracing/events/eprobes/holder
sdt_control=/sys/module/kmarkers_sdt/parameters/control
functions=$tracing/events/kmarkers_function
references_going=/sys/module/kmarkers_test_going/parameters

# hold_event EVENT ARGUMENT: create a disabled event probe, which holds a reference to the event
hold_event() {
	echo "e:holder $1 a=$2:x64" >>"$tracing"/dynamic_events
}

# release_event: remove the event probe
release_event() {
	echo "-:holder" >>"$tracing"/dynamic_events
}

# count_probe_records: print the number of records of the event probe
count_probe_records() {
	grep -c " holder: " "$tracing"/trace
}

# expect_probe_records NAME HIT WANTED: hit markers; a test that passes if the event probe has
# WANTED records
expect_probe_records() {
	echo >"$tracing"/trace
	hit_fields "$2"
	same "$1" "$(count_probe_records)" "$3"
}

is_gone() {
	[ ! -e "$1" ]
}

test_held_function() {
	put "attach vfs_open held_open" "$control_parameter"
	try "an event probe on the event of a function is created" hold_event kmarkers.held_open "\$caller"
	refused "detach is refused while an event probe holds the event" "busy" \
		put "detach held_open" "$control_parameter"
	try "the event probe is enabled" put 1 "$probe"/enable
	echo >"$tracing"/trace
	cat /etc/dirt >/dev/null
	[ "$(count_probe_records)" -gt 0 ]
	result $? "the event probe records calls of the function"
	put 0 "$probe"/enable
	refused "detach is refused while the disabled event probe holds the event" "busy" \
		put "detach held_open" "$control_parameter"
	[ -e "$own"/held_open/enable ]
	result $? "the event still exists after the refusals"
	try "the event probe is removed" release_event
	try "detach removes the marker on the function" put "detach held_open" "$control_parameter"
	is_gone "$own"/held_open
	result $? "the event is removed with the marker"
}

# The module of an event unloads and is loaded again while an event probe on it is enabled.
test_held_module() {
	before=$(reference_count kmarkers_events)
	must insmod /modules/kmarkers_test_fields.ko || return
	hold_event kmarkers.fd_request "\$sector"
	put 1 "$probe"/enable
	expect_probe_records "the event probe records each hit" "request 10" $((10 * cpus))
	try "the module of the event unloads" rmmod kmarkers_test_fields
	[ -e "$own"/fd_request/enable ] && is_gone "$own"/fd_typed
	result $? "the event that is held exists without its module"
	put 0 "$probe"/enable
	refused "the event cannot be enabled without its module" "No such device" put 1 "$own"/fd_request/enable
	same "the event that is held holds a reference to kmarkers_events" $(($(reference_count kmarkers_events) - before)) 1
	try "the module of the event loads again" insmod /modules/kmarkers_test_fields.ko
	put 1 "$probe"/enable
	expect_probe_records "the event probe records each hit after the module is loaded again" "request 10" $((10 * cpus))
	put 1 "$own"/fd_request/enable
	expect_records "the event records each hit after the module is loaded again" fd_request "request 10" $((10 * cpus))
	put 0 "$own"/fd_request/enable
	try "the module of the event unloads again" rmmod kmarkers_test_fields
	insmod /modules/kmarkers_test_fields.ko
	expect_probe_records "an event probe that stayed enabled records each hit of the module loaded again" "request 10" $((10 * cpus))
	put 0 "$probe"/enable
	rmmod kmarkers_test_fields
	[ -e "$own"/fd_request/enable ]
	result $? "the event exists without its module while the event probe is disabled"
	# If the event could not be enabled for a trigger, the kernel would keep the event
	# soft-disabled.
	try "the event probe is enabled while the event has no module" put 1 "$probe"/enable
	insmod /modules/kmarkers_test_fields.ko
	expect_probe_records "the event probe records each hit of the module loaded then" "request 10" $((10 * cpus))
	put 0 "$probe"/enable
	same "the event is not soft-disabled after the event probe is disabled" "$(cat "$own"/fd_request/enable)" 0
	rmmod kmarkers_test_fields
	try "the event probe is removed" release_event
	try "the event is removed within 10 s after the event probe" within 10 is_gone "$own"/fd_request
	same "the removed event holds no reference to kmarkers_events" "$(reference_count kmarkers_events)" "$before"
}

test_held_by_two() {
	insmod /modules/kmarkers_test_fields.ko
	insmod /modules/kmarkers_test_fields_again.ko
	hold_event kmarkers.fd_request "\$sector"
	put 1 "$probe"/enable
	try "one of two modules with the event unloads" rmmod kmarkers_test_fields
	again=_again
	expect_probe_records "the event probe records each hit in the other module" "request 10" $((10 * cpus))
	put 1 "$own"/fd_request/enable
	expect_records "the event records each hit in the other module" fd_request "request 10" $((10 * cpus))
	put 0 "$own"/fd_request/enable
	put 0 "$probe"/enable
	release_event
	rmmod kmarkers_test_fields_again
	again=
	is_gone "$own"/fd_request
	result $? "the event without references is removed with the last module"
}

# The commands trace and -trace switch an event that is held and an event that is not held.
test_held_commands() {
	insmod /modules/kmarkers_test_fields.ko
	hold_event kmarkers.fd_request "\$sector"
	try "a command enables an event that is held and another event" put "fd_[ra]* trace" "$control_parameter"
	expect_records "each hit has a record while the event that is held is enabled" fd_request "request 10" $((10 * cpus))
	expect_records "each hit has a record while the other event is enabled" fd_array "array 10" $((10 * cpus))
	try "a command disables both events" put "fd_[ra]* -trace" "$control_parameter"
	same "both events are disabled" "$(cat "$own"/fd_request/enable "$own"/fd_array/enable | tr '\n' ' ')" "0 0 "
	expect_records "no hit has a record while the event that is held is disabled" fd_request "request 10" 0
	release_event
	rmmod kmarkers_test_fields
}

test_held_sdt() {
	insmod /modules/kmarkers_test_sdt.ko
	put "tsdt:::io-start event" "$sdt_control"
	hold_event sdt_tsdt.io__start "\$arg2"
	refused "-event is refused while an event probe holds the event" "busy" \
		put "tsdt:::io-start -event" "$sdt_control"
	put 1 "$probe"/enable
	echo >"$tracing"/trace
	put 3 /sys/module/kmarkers_test_sdt/parameters/pass
	same "the event probe records each hit of an SDT probe" "$(count_probe_records)" 6
	rmmod kmarkers_test_sdt
	try "kmarkers_sdt unloads while an event probe is enabled" rmmod kmarkers_sdt
	insmod /modules/kmarkers_sdt.ko
	insmod /modules/kmarkers_test_sdt.ko
	put "tsdt:::io-start event" "$sdt_control"
	echo >"$tracing"/trace
	put 3 /sys/module/kmarkers_test_sdt/parameters/pass
	same "the event probe records each hit after kmarkers_sdt is loaded again" "$(count_probe_records)" 6
	put 0 "$probe"/enable
	release_event
	try "-event removes the event of an SDT probe" put "tsdt:::io-start -event" "$sdt_control"
	rmmod kmarkers_test_sdt
}

# kmarkers_entry owns the events of functions, and can be unloaded before the modules with these
# functions.
test_held_source() {
	can_record "event probes on the events of functions" || return
	insmod /modules/kmarkers_test_entry.ko
	put "te_leaf event" "$entry_control"
	hold_event kmarkers_function.entry "\$caller"
	put 1 "$probe"/enable
	refused "kmarkers_entry cannot be unloaded while an event probe is enabled" "temporarily unavailable" rmmod kmarkers_entry
	put 0 "$probe"/enable
	# Subtract the reference of kmarkers_entry, so that only references of other modules are
	# left.
	before=$(($(reference_count kmarkers_events) - 1))
	try "kmarkers_entry unloads while the event probe is disabled" rmmod kmarkers_entry
	[ -e "$functions"/entry/enable ] && is_gone "$functions"/exit
	result $? "only the event that is held exists without kmarkers_entry"
	refused "the event cannot be enabled without kmarkers_entry" "No such device" put 1 "$functions"/entry/enable
	same "the event that is held holds a reference to kmarkers_events" $(($(reference_count kmarkers_events) - before)) 1
	try "the event probe is enabled without kmarkers_entry" put 1 "$probe"/enable
	insmod /modules/kmarkers_entry.ko
	put "te_leaf event" "$entry_control"
	echo >"$tracing"/trace
	put 5 /sys/module/kmarkers_test_entry/parameters/pass
	same "the event probe records each hit of a function" "$(count_probe_records)" 10
	put 0 "$probe"/enable
	release_event
	put "te_leaf -event" "$entry_control"
	rmmod kmarkers_test_entry
	is_gone "$functions"
	result $? "the events of functions are removed with the last module"
	# Restore the initial state, in which kmarkers_entry offers no events.
	rmmod kmarkers_entry && insmod /modules/kmarkers_entry.ko
}

# An event probe finds its event by system and name, also to remove its trigger, while another task
# switches the event. Several event probes make it likely that one waits for
# event_mutex whenever the other task unlocks it.
test_held_while_switched() {
	insmod /modules/kmarkers_test_fields.ko
	: >/tmp/switching
	for held in 1 2 3; do
		echo "e:holder_$held kmarkers.fd_request a=\$sector:x64" >>"$tracing"/dynamic_events
		while [ -e /tmp/switching ]; do
			put 1 "${probe}_$held"/enable
			put 0 "${probe}_$held"/enable
		done &
	done
	try "an event is switched while event probes on it are switched" switch_events 100
	rm /tmp/switching
	wait
	for held in 1 2 3; do
		echo "-:holder_$held" >>"$tracing"/dynamic_events
	done
	same "no trigger of an event probe is left at its event" "$(cat "$own"/fd_request/enable)" 0
	rmmod kmarkers_test_fields
}

# switch_events TURNS: enable and disable two events in the main trace buffer TURNS times
switch_events() {
	turn=0
	while [ "$turn" -lt "$1" ]; do
		put "fd_[ra]* trace" "$control_parameter" && put "fd_[ra]* -trace" "$control_parameter" || return
		turn=$((turn + 1))
	done
}

# wait_for_kprobe_optimiser: wait until the jumps of removed kprobes are removed, too. A module that
# is registered before has a site with other bytes.
wait_for_kprobe_optimiser() {
	for allowed in 0 1; do
		put "$allowed" /proc/sys/debug/kprobes-optimization
	done
}

# While a kprobe keeps a function from being recorded, a trigger enables the event of the function.
test_trigger_beside_kprobe() {
	can_record "triggers of the events of functions" || return
	insmod /modules/kmarkers_test_entry.ko
	put "te_leaf event" "$entry_control"
	kprobes=/sys/module/kmarkers_test_entry/parameters/kprobes
	put 2 "$kprobes"
	try "a trigger is added to an event that cannot be recorded" put traceon "$functions"/entry/trigger
	put 0 "$kprobes"
	try "the event is recorded within 10 s after the kprobe is removed" \
		within 10 grep -q "te_leaf:entry on " "$debugfs"/entry/list
	put "!traceon" "$functions"/entry/trigger
	put 2 "$kprobes"
	put traceon "$functions"/entry/trigger
	try "kmarkers_entry unloads while nothing is recorded" rmmod kmarkers_entry
	[ -e "$functions"/entry/enable ]
	result $? "the event exists without kmarkers_entry while it has a trigger"
	put 0 "$kprobes"
	wait_for_kprobe_optimiser
	insmod /modules/kmarkers_entry.ko
	put "te_leaf event" "$entry_control"
	grep -q "te_leaf:entry on " "$debugfs"/entry/list
	result $? "the event is recorded after kmarkers_entry is loaded again"
	put "!traceon" "$functions"/entry/trigger
	try "-event removes the event after its trigger was removed" put "te_leaf -event" "$entry_control"
	rmmod kmarkers_test_entry
	is_gone "$functions"
	result $? "the event is removed with the last module"
	rmmod kmarkers_entry && insmod /modules/kmarkers_entry.ko
}

# perf holds a reference to the module of an event, so the module of an open event stays loaded.
test_held_by_perf() {
	insmod /modules/kmarkers_test_fields.ko wait=1 &
	# /proc/modules lists the module before the files of its parameters exist, so wait for these
	# files.
	try "the files of the parameters of a module exist" within 10 [ -e /sys/module/kmarkers_test_fields/parameters/wait ]
	try "the module is in its init function" grep -q "^kmarkers_test_fields .* Loading" /proc/modules
	is_gone "$own"/fd_request
	result $? "the module has no event before its init function has succeeded"
	put 0 /sys/module/kmarkers_test_fields/parameters/wait
	wait
	[ -e "$own"/fd_request/enable ]
	result $? "the module has its events after its init function has succeeded"
	try "perf opens an event" put "$(cat "$own"/fd_request/id)" "$references_going"/perf
	# perf adds 4 bytes to a record, and then needs a multiple of 8. Without padding the records
	# end behind the name, with 29 and 28 bytes, or 8 more in a kernel with PREEMPT_RT.
	hit_fields "request 1"
	same "perf gets a record with 7 bytes of padding" "$(cat "$references_going"/perf_record)" "sector 0 bytes 512 name even, then 7"
	hit_fields "request 2"
	same "perf gets a record without padding" "$(cat "$references_going"/perf_record)" "sector 1 bytes 512 name odd, then 0"
	refused "the module of an event that perf has opened cannot be unloaded" "temporarily unavailable" rmmod kmarkers_test_fields
	insmod /modules/kmarkers_test_fields_again.ko
	try "another module with the event unloads meanwhile" rmmod kmarkers_test_fields_again
	put 0 "$references_going"/perf
	try "the module unloads after perf has closed the event" rmmod kmarkers_test_fields
}

# Older kernels count the references of perf in the module that owns the event.
test_owner_held_by_perf() {
	insmod /modules/kmarkers_test_sdt.ko
	insmod /modules/kmarkers_test_sdt_more.ko
	for owner in kmarkers_test_sdt kmarkers_test_sdt_more; do
		put "tsdt:$owner::io-start event" "$sdt_control"
	done
	try "perf opens an event that two modules offer" \
		put "$(cat "$tracing"/events/sdt_tsdt/io__start/id)" "$references_going"/perf
	try "one of two modules offers the event no longer" put "tsdt:kmarkers_test_sdt::io-start -event" "$sdt_control"
	put 0 "$references_going"/perf
	try "the module that offered the event unloads" rmmod kmarkers_test_sdt
	put "tsdt:kmarkers_test_sdt_more::io-start -event" "$sdt_control"
	try "the module that still offered the event unloads" rmmod kmarkers_test_sdt_more
}

# The file enable of a marker reads a file of the event, which detach removes.
test_enable_read_while_detached() {
	: >/tmp/reading
	for _ in 1 2; do
		while [ -e /tmp/reading ]; do
			cat "$debugfs"/markers/held_open/enable 2>/dev/null
		done >/dev/null &
	done
	try "a function is attached and detached while its file enable is read" attach_and_detach_often 30
	rm /tmp/reading
	wait
}

attach_and_detach_often() {
	turn=0
	while [ "$turn" -lt "$1" ]; do
		put "attach vfs_open held_open" "$control_parameter" && put "detach held_open" "$control_parameter" || return
		turn=$((turn + 1))
	done
}

# While hits are recorded in other functions, an event is enabled that a kprobe refuses.
test_refused_event_while_hit() {
	can_record "refused users of the events of functions" || return
	insmod /modules/kmarkers_test_entry.ko
	put "te_* event" "$entry_control"
	put "te_many_returns count" "$entry_control"
	put 2 /sys/module/kmarkers_test_entry/parameters/kprobes
	: >/tmp/hitting
	while [ -e /tmp/hitting ]; do
		put 100 /sys/module/kmarkers_test_entry/parameters/pass
	done &
	try "each of 30 attempts to enable an event beside a kprobe is refused" enable_is_refused 30
	rm /tmp/hitting
	wait
	put 0 /sys/module/kmarkers_test_entry/parameters/kprobes
	put "te_many_returns -count" "$entry_control"
	try "-event removes the event after the refusals" put "te_* -event" "$entry_control"
	rmmod kmarkers_test_entry
	rmmod kmarkers_entry && insmod /modules/kmarkers_entry.ko
}

enable_is_refused() {
	turn=0
	while [ "$turn" -lt "$1" ]; do
		! put 1 "$functions"/entry/enable 2>/dev/null || return
		turn=$((turn + 1))
	done
}

# A trigger of another event that enables the event of a marker holds a reference, too.
test_held_trigger() {
	put "attach vfs_open held_open" "$control_parameter"
	try "a trigger that enables the event of a function is added" \
		put "enable_event:kmarkers:held_open" "$tracing"/events/sched/sched_kthread_stop/trigger
	refused "detach is refused while a trigger holds the event" "busy" \
		put "detach held_open" "$control_parameter"
	put "!enable_event:kmarkers:held_open" "$tracing"/events/sched/sched_kthread_stop/trigger
	# Newer kernels free a trigger and drop its reference with a delay.
	try "detach succeeds after the trigger is removed" within 10 put "detach held_open" "$control_parameter" 2>/dev/null
}

test_references() {
	must insmod /modules/kmarkers_test_going.ko || return
	if ! hold_event sched.sched_process_fork "\$parent_pid" 2>/dev/null; then
		skip "event probes hold references to events" "this kernel has none"
	else
		release_event
		test_held_function
		test_held_module
		test_held_by_two
		test_held_commands
		test_held_while_switched
		test_held_sdt
		test_held_source
	fi
	test_trigger_beside_kprobe
	if [ -e "$tracing"/events/sched/sched_kthread_stop/trigger ]; then
		test_held_trigger
	else
		skip "triggers hold references to events" "this kernel has none"
	fi
	test_held_by_perf
	test_owner_held_by_perf
	test_enable_read_while_detached
	test_refused_event_while_hit
	rmmod kmarkers_test_going
}
