# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Events with references, such as those of event probes that are off: the events stay, and so do the
# modules that they need. In a kernel without event probes only triggers hold references.
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

probe=$tracing/events/eprobes/holder
sdt_control=/sys/module/kmarkers_sdt/parameters/control
entry_control=/sys/module/kmarkers_entry/parameters/control
functions=$tracing/events/kmarkers_function
references_going=/sys/module/kmarkers_test_going/parameters

# hold EVENT ARGUMENT: make an event probe, which is off and refers to the event
hold() {
	echo "e:holder $1 a=$2:x64" >>"$tracing"/dynamic_events
}

release() {
	echo "-:holder" >>"$tracing"/dynamic_events
}

probed() {
	grep -c " holder: " "$tracing"/trace
}

# probes NAME HIT WANTED: hit, and pass if the event probe made that many records
probes() {
	echo >"$tracing"/trace
	hit_fields "$2"
	same "$1" "$(probed)" "$3"
}

is_gone() {
	[ ! -e "$1" ]
}

test_held_function() {
	put "attach vfs_open held_open" "$control_outside"
	try "an event probe of the event of a function" hold kmarkers.held_open "\$caller"
	refused "detach while an event probe refers to the event" "busy" \
		put "detach held_open" "$control_outside"
	try "the event probe goes on" put 1 "$probe"/enable
	echo >"$tracing"/trace
	cat /etc/dirt >/dev/null
	[ "$(probed)" -gt 0 ]
	result $? "the event probe has the function's calls"
	put 0 "$probe"/enable
	refused "detach while the event probe is off again" "busy" \
		put "detach held_open" "$control_outside"
	[ -e "$own"/held_open/enable ]
	result $? "the event is as before"
	try "the event probe goes" release
	try "detach" put "detach held_open" "$control_outside"
	is_gone "$own"/held_open
	result $? "the event is gone"
}

# The module of an event unloads and is loaded again while an event probe is on.
test_held_module() {
	before=$(uses_of kmarkers_markers)
	must insmod /modules/kmarkers_test_fields.ko || return
	hold kmarkers.fd_request "\$sector"
	put 1 "$probe"/enable
	probes "the event probe has each hit" "request 10" $((10 * cpus))
	try "the module of the event leaves" rmmod kmarkers_test_fields
	[ -e "$own"/fd_request/enable ] && is_gone "$own"/fd_typed
	result $? "the event stays without its module"
	put 0 "$probe"/enable
	refused "the event is switched on without its module" "No such device" put 1 "$own"/fd_request/enable
	same "the event keeps kmarkers_markers loaded" $(($(uses_of kmarkers_markers) - before)) 1
	try "the module returns" insmod /modules/kmarkers_test_fields.ko
	put 1 "$probe"/enable
	probes "the event probe has each hit again" "request 10" $((10 * cpus))
	put 1 "$own"/fd_request/enable
	recorded "a record of each hit" fd_request "request 10" $((10 * cpus))
	put 0 "$own"/fd_request/enable
	try "the module leaves again" rmmod kmarkers_test_fields
	insmod /modules/kmarkers_test_fields.ko
	probes "an event probe that stayed on has each hit when the module is back" "request 10" $((10 * cpus))
	put 0 "$probe"/enable
	rmmod kmarkers_test_fields
	[ -e "$own"/fd_request/enable ]
	result $? "the event stays while the event probe is off"
	try "the event probe goes" release
	try "the event goes soon after it" within 10 is_gone "$own"/fd_request
	same "nothing of it keeps kmarkers_markers loaded" "$(uses_of kmarkers_markers)" "$before"
}

test_held_by_two() {
	insmod /modules/kmarkers_test_fields.ko
	insmod /modules/kmarkers_test_fields_again.ko
	hold kmarkers.fd_request "\$sector"
	put 1 "$probe"/enable
	try "one of two modules with the event leaves" rmmod kmarkers_test_fields
	again=_again
	probes "the event probe has each hit in the other" "request 10" $((10 * cpus))
	put 1 "$own"/fd_request/enable
	recorded "a record of each hit in it" fd_request "request 10" $((10 * cpus))
	put 0 "$own"/fd_request/enable
	put 0 "$probe"/enable
	release
	rmmod kmarkers_test_fields_again
	again=
	is_gone "$own"/fd_request
	result $? "the event leaves with the last of them when nobody refers to it"
}

test_held_sdt() {
	insmod /modules/kmarkers_test_sdt.ko
	put "tsdt:::io-start event" "$sdt_control"
	hold sdt_tsdt.io__start "\$arg2"
	refused "-event while an event probe refers to the event" "busy" \
		put "tsdt:::io-start -event" "$sdt_control"
	put 1 "$probe"/enable
	echo >"$tracing"/trace
	put 3 /sys/module/kmarkers_test_sdt/parameters/pass
	same "the event probe has each hit of an SDT probe" "$(probed)" 6
	put 0 "$probe"/enable
	release
	try "-event" put "tsdt:::io-start -event" "$sdt_control"
	rmmod kmarkers_test_sdt
}

# kmarkers_entry owns the events of functions, and may unload before the modules with these
# functions.
test_held_source() {
	can_record "the events of functions are held" || return
	insmod /modules/kmarkers_test_entry.ko
	put "te_leaf event" "$entry_control"
	hold kmarkers_function.entry "\$caller"
	put 1 "$probe"/enable
	refused "kmarkers_entry while an event probe is on" "temporarily unavailable" rmmod kmarkers_entry
	put 0 "$probe"/enable
	# The modules of the benchmarks and of the test need it, too; kmarkers_entry has one reference more.
	before=$(($(uses_of kmarkers_markers) - 1))
	try "kmarkers_entry leaves while an event probe is off" rmmod kmarkers_entry
	[ -e "$functions"/entry/enable ] && is_gone "$functions"/exit
	result $? "the event that is referred to stays"
	refused "the event is switched on without kmarkers_entry" "No such device" put 1 "$functions"/entry/enable
	same "the event keeps kmarkers_markers loaded" $(($(uses_of kmarkers_markers) - before)) 1
	insmod /modules/kmarkers_entry.ko
	put "te_leaf event" "$entry_control"
	try "the event probe goes on when kmarkers_entry is back" put 1 "$probe"/enable
	echo >"$tracing"/trace
	put 5 /sys/module/kmarkers_test_entry/parameters/pass
	same "the event probe of functions has each hit again" "$(probed)" 10
	put 0 "$probe"/enable
	release
	put "te_leaf -event" "$entry_control"
	rmmod kmarkers_test_entry
	is_gone "$functions"
	result $? "the events of functions leave with their last module"
	# Restores the initial state: kmarkers_entry offers no events until a command asks for them.
	rmmod kmarkers_entry && insmod /modules/kmarkers_entry.ko
}

# perf holds the module of an event, so the module of an open event stays loaded.
test_held_by_perf() {
	insmod /modules/kmarkers_test_fields.ko wait=1 &
	# A module is listed before the files of its parameters exist.
	try "a module has parameters" within 10 [ -e /sys/module/kmarkers_test_fields/parameters/wait ]
	try "a module is in its init function" grep -q "^kmarkers_test_fields .* Loading" /proc/modules
	is_gone "$own"/fd_request
	result $? "a module has no event before its init has succeeded"
	put 0 /sys/module/kmarkers_test_fields/parameters/wait
	wait
	[ -e "$own"/fd_request/enable ]
	result $? "a module has its events when its init has succeeded"
	try "perf uses an event" put "$(cat "$own"/fd_request/id)" "$references_going"/perf
	refused "the module of an event that perf uses" "temporarily unavailable" rmmod kmarkers_test_fields
	insmod /modules/kmarkers_test_fields_again.ko
	try "another module with the event leaves" rmmod kmarkers_test_fields_again
	put 0 "$references_going"/perf
	try "the module leaves when perf has gone" rmmod kmarkers_test_fields
}

# A trigger of another event that switches ours on has a reference, too.
test_held_trigger() {
	put "attach vfs_open held_open" "$control_outside"
	try "a trigger that switches the event of a function on" \
		put "enable_event:kmarkers:held_open" "$tracing"/events/kmarkers/marker/trigger
	refused "detach while a trigger refers to the event" "busy" \
		put "detach held_open" "$control_outside"
	put "!enable_event:kmarkers:held_open" "$tracing"/events/kmarkers/marker/trigger
	# Newer kernels free a trigger, and put its reference, a little later.
	try "detach when the trigger has gone" within 10 put "detach held_open" "$control_outside" 2>/dev/null
}

test_references() {
	must insmod /modules/kmarkers_test_going.ko || return
	if ! hold kmarkers.marker "\$name" 2>/dev/null; then
		skip "event probes" "this kernel has none"
	else
		release
		test_held_function
		test_held_module
		test_held_by_two
		test_held_sdt
		test_held_source
	fi
	if [ -e "$tracing"/events/kmarkers/marker/trigger ]; then
		test_held_trigger
	else
		skip "triggers" "this kernel has none"
	fi
	test_held_by_perf
	rmmod kmarkers_test_going
}
