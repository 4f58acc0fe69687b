# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Markers and probes through the interfaces of 2006 to 2009.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

of_history=/sys/module/kmarkers_test_history/parameters
of_callbacks=/sys/module/kmarkers_test_callbacks/parameters
switches=$debugfs/markers/control

# more_hits COMMAND...: is the probe called meanwhile?
more_hits() {
	before=$(cat "$of_history"/hits)
	"$@" >/dev/null
	[ "$(cat "$of_history"/hits)" -gt "$before" ]
}

pass_markers() {
	put 1 "$of_history/tick"
}

# Whoever reads a file of a module uses that module.
use_module() {
	cat "$debugfs/markers/list"
}

# counted NAME
counted() {
	cut -d' ' -f2 "$debugfs/markers/$1/stats" | head -n 1
}

hits_of_get() {
	counted history_module_get
}

hits_of_first() {
	counted callbacks_first
}

hits_of_second() {
	counted callbacks_second
}

ticks() {
	cat /sys/module/example_probe/parameters/count
}

# more WHAT: is it called when a module is used?
more() {
	before=$("$1")
	use_module >/dev/null
	[ "$("$1")" -gt "$before" ]
}

test_history_tracepoint() {
	grep -q '^history_module_get off tracepoint 0 ' "$debugfs"/markers/list
	result $? "list shows the marker of a tracepoint off"
	try "count at the marker of a tracepoint" put "history_module_get count" "$debugfs"/markers/control
	grep -q '^history_module_get on tracepoint 1 ' "$debugfs"/markers/list
	result $? "list shows it on"
	try "the tracepoint calls it" more hits_of_get
	try "the module of the marker leaves while it is on" rmmod kmarkers_test_history
	use_module >/dev/null
	result $? "the tracepoint calls nothing"
	try "a probe that waits for such a marker" insmod /modules/example_probe.ko
	try "the module of the marker comes again" insmod /modules/kmarkers_test_history.ko
	grep -q '^example_tick on tracepoint 1 ' "$debugfs"/markers/list
	result $? "list shows it on"
	try "the tracepoint calls it" more ticks
	try "the probe goes" rmmod example_probe
	grep -q '^example_tick off tracepoint 0 ' "$debugfs"/markers/list
	result $? "list shows it off"
}

# A tracepoint takes a callback once, however many markers are in it.
test_callback_of_many() {
	try "callbacks with several markers" insmod /modules/kmarkers_test_callbacks.ko
	try "one of several markers in a callback is counted" put "callbacks_first count" "$switches"
	try "another marker in the same callback is counted, too" put "callbacks_second count" "$switches"
	try "the tracepoint calls the first marker" more hits_of_first
	try "the tracepoint calls the second marker" more hits_of_second
	try "the first marker is off" put "callbacks_first none" "$switches"
	try "the second marker is still called" more hits_of_second
	try "the second marker is off, too" put "callbacks_second none" "$switches"
}

# Whoever connects the callback itself is in the way.
test_callback_of_others() {
	try "the module itself connects the callback" put 1 "$of_callbacks/itself"
	refused "a marker in a connected callback is not counted" "File exists" put "callbacks_first count" "$switches"
	logged "markers: callbacks_first in .*: callbacks_get .*to the tracepoint module_get, where it is"
	result $? "the log says that the marker's callback is connected already"
	grep -q "^callbacks_first off tracepoint 0 " "$debugfs"/markers/list
	result $? "list shows it off"
	try "a probe that waits" insmod /modules/example_probe.ko
	refused "another module with a marker for it does not load" "File exists" \
		insmod /modules/kmarkers_test_lodger.ko
	logged "markers: example_tick in hit(): callbacks_get .*to the tracepoint module_get, where it is"
	result $? "the log says that the other module's callback is connected already"
	lacks lodger "$debugfs"/markers/list
	result $? "no marker of it is left"
	try "the module lets go" put 0 "$of_callbacks/itself"
	try "the marker is counted" put "callbacks_first count" "$switches"
	try "the other module loads" insmod /modules/kmarkers_test_lodger.ko
	grep -q "^example_tick on tracepoint 1 kmarkers_test_lodger " "$debugfs"/markers/list
	result $? "list shows its marker on"
	try "the first marker is off again" put "callbacks_first none" "$switches"
	try "the other module goes" rmmod kmarkers_test_lodger
	try "the callback is free" put 1 "$of_callbacks/itself"
	try "the module connects the callback and lets go again" put 0 "$of_callbacks/itself"
}

fire() {
	put 1 "$of_callbacks/fire"
}

# fired: does the module's own tracepoint call the probe that waited?
fired() {
	before=$(ticks)
	fire
	[ "$(ticks)" -gt "$before" ]
}

# The kernel warns if a tracepoint goes that something is connected to.
test_own_tracepoint() {
	try "the module goes, and its tracepoint with it" rmmod kmarkers_test_callbacks
	try "the module comes while a probe waits" insmod /modules/kmarkers_test_callbacks.ko
	grep -q "^example_tick on tracepoint 1 kmarkers_test_callbacks callbacks_own " \
		"$debugfs"/markers/list
	result $? "list shows the marker of its own tracepoint on"
	try "the tracepoint of the module calls the probe" fired
	try "all are counted" put "callbacks_* count" "$switches"
	try "the module goes while its markers are on" rmmod kmarkers_test_callbacks
	try "the probe goes" rmmod example_probe
	lacks callbacks "$debugfs"/markers/list
	result $? "no marker of it is left"
}

test_history() {
	try "module with the names of 2006 to 2009" insmod /modules/kmarkers_test_history.ko
	grep -q '^history_defined off generic 0 kmarkers_test_history DEFINE_MARKER .*"value %d"$' \
		"$debugfs"/markers/list
	result $? "list shows the marker that stands nowhere"
	refused "a probe for no marker is not set" "No such file" put history_none "$of_history"/set
	! more_hits pass_markers
	result $? "no probe is called"
	try "a probe on what stands nowhere" put history_defined "$of_history"/set
	try "the probe is called" more_hits pass_markers
	try "a probe of 2006 is set" put example_tick "$of_history"/set
	same "the probe of 2006 is connected to the markers of its module" "$(cat "$of_history"/connected)" 2
	try "another module with that marker" insmod /modules/example_client.ko
	try "the probe of 2006 is set again" put example_tick "$of_history"/set
	same "the probe of 2006 is connected to the new marker, too" "$(cat "$of_history"/connected)" 3
	same "the probe of 2006 is listed at all its markers" "$(cat "$of_history"/listed)" 4
	try "the other module goes" rmmod example_client
	try "all markers are listed" put 1 "$of_history"/list
	logged 'markers: history_load in set_name(), format "name %s"'
	result $? "those without a probe, too"
	test_history_tracepoint
	try "the module unloads" rmmod kmarkers_test_history
	lacks history "$debugfs"/markers/list
	result $? "no marker of it is left"
	test_callback_of_many
	test_callback_of_others
	test_own_tracepoint
}
