# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Markers and probes through the interfaces of 2006 to 2009.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

of_history=/sys/module/kmarkers_test_history/parameters
of_callbacks=/sys/module/kmarkers_test_callbacks/parameters
# The parameter, and not the file in debugfs: this suite also runs where the kernel is locked down.
switches=/sys/module/kmarkers_markers/parameters/control

# more_hits COMMAND...: succeeds if the probe of kmarkers_test_history is called during the command
more_hits() {
	before=$(cat "$of_history"/hits)
	"$@" >/dev/null
	[ "$(cat "$of_history"/hits)" -gt "$before" ]
}

# pass_markers: execute the markers of kmarkers_test_history
pass_markers() {
	put 1 "$of_history/tick"
}

# use_module: read a file of a module, which makes the kernel's tracepoint module_get fire
use_module() {
	cat "$debugfs/markers/list"
}

# counted NAME: print how many hits the built-in probe counted
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

# ticks: print how often example_probe was called
ticks() {
	cat /sys/module/example_probe/parameters/count
}

# more COUNTER: succeeds if the number that COUNTER prints grows when a module is used
more() {
	before=$("$1")
	use_module >/dev/null
	[ "$("$1")" -gt "$before" ]
}

test_history_tracepoint() {
	grep -q '^history_module_get off tracepoint 0 ' "$debugfs"/markers/list
	result $? "the list shows the marker of a tracepoint off"
	try "count is connected to the marker of a tracepoint" put "history_module_get count" "$switches"
	grep -q '^history_module_get on tracepoint 1 ' "$debugfs"/markers/list
	result $? "the list shows the marker of a tracepoint on"
	try "the tracepoint calls its marker" more hits_of_get
	try "the module of the marker unloads while the marker is on" rmmod kmarkers_test_history
	use_module >/dev/null
	result $? "the tracepoint fires without its marker"
	try "a probe loads and waits for a marker of a tracepoint" insmod /modules/example_probe.ko
	try "the module of the marker loads while a probe waits" insmod /modules/kmarkers_test_history.ko
	grep -q '^example_tick on tracepoint 1 ' "$debugfs"/markers/list
	result $? "the list shows the marker that a probe waited for on"
	try "the tracepoint calls the marker that a probe waited for" more ticks
	try "the probe that waited unloads" rmmod example_probe
	grep -q '^example_tick off tracepoint 0 ' "$debugfs"/markers/list
	result $? "the list shows the marker that a probe waited for off"
}

# A callback with several markers is connected to the tracepoint once.
test_callback_of_many() {
	try "module with several markers in a callback loads" insmod /modules/kmarkers_test_callbacks.ko
	try "count is connected to one of several markers in a callback" put "callbacks_first count" "$switches"
	try "count is connected to another marker in the same callback" put "callbacks_second count" "$switches"
	try "the tracepoint calls the first marker" more hits_of_first
	try "the tracepoint calls the second marker" more hits_of_second
	try "the first marker of the callback is switched off" put "callbacks_first none" "$switches"
	try "the tracepoint still calls the second marker" more hits_of_second
	try "the second marker of the callback is switched off" put "callbacks_second none" "$switches"
}

# A callback that its module has connected itself is not connected to the tracepoint again.
test_callback_of_others() {
	try "the module itself connects the callback" put 1 "$of_callbacks/itself"
	refused "a marker in a connected callback cannot be counted" "File exists" put "callbacks_first count" "$switches"
	logged "markers: callbacks_first in .*: callbacks_get .*to the tracepoint module_get, where it is"
	result $? "the log says that the marker's callback is connected already"
	grep -q "^callbacks_first off tracepoint 0 " "$debugfs"/markers/list
	result $? "the list shows the marker in the connected callback off"
	try "a probe loads and waits for another module's marker" insmod /modules/example_probe.ko
	refused "a module with the marker in a connected callback does not load" "File exists" \
		insmod /modules/kmarkers_test_lodger.ko
	logged "markers: example_tick in hit(): callbacks_get .*to the tracepoint module_get, where it is"
	result $? "the log says that the other module's callback is connected already"
	lacks lodger "$debugfs"/markers/list
	result $? "the module that did not load leaves no marker"
	try "the module disconnects the callback" put 0 "$of_callbacks/itself"
	try "count is connected to the marker in the free callback" put "callbacks_first count" "$switches"
	try "the other module loads with the callback free" insmod /modules/kmarkers_test_lodger.ko
	grep -q "^example_tick on tracepoint 1 kmarkers_test_lodger " "$debugfs"/markers/list
	result $? "the list shows the marker of the other module on"
	try "the first marker is switched off beside the other module" put "callbacks_first none" "$switches"
	try "the other module unloads" rmmod kmarkers_test_lodger
	try "the module itself connects the free callback" put 1 "$of_callbacks/itself"
	try "the module disconnects the callback again" put 0 "$of_callbacks/itself"
}

fire() {
	put 1 "$of_callbacks/fire"
}

# fired: succeeds if the module's own tracepoint calls the probe that waited
fired() {
	before=$(ticks)
	fire
	[ "$(ticks)" -gt "$before" ]
}

# A module with a tracepoint of its own: the kernel warns if it unloads while a callback is
# connected.
test_own_tracepoint() {
	try "the module with its own tracepoint unloads" rmmod kmarkers_test_callbacks
	try "the module with its own tracepoint loads while a probe waits" insmod /modules/kmarkers_test_callbacks.ko
	grep -q "^example_tick on tracepoint 1 kmarkers_test_callbacks callbacks_own " \
		"$debugfs"/markers/list
	result $? "the list shows the marker of its own tracepoint on"
	try "the module's own tracepoint calls the probe" fired
	try "count is connected to all markers of the module" put "callbacks_* count" "$switches"
	try "the module with its own tracepoint unloads while its markers are on" rmmod kmarkers_test_callbacks
	try "the probe of the module's own tracepoint unloads" rmmod example_probe
	lacks callbacks "$debugfs"/markers/list
	result $? "the module with its own tracepoint leaves no marker"
}

test_history() {
	try "module with the names of 2006 to 2009 loads" insmod /modules/kmarkers_test_history.ko
	grep -q '^history_defined off generic 0 kmarkers_test_history DEFINE_MARKER .*"value %d"$' \
		"$debugfs"/markers/list
	result $? "the list shows a marker that is in no code"
	refused "a probe of 2006 for an unknown marker is refused" "No such file" put history_none "$of_history"/set
	! more_hits pass_markers
	result $? "markers call no probe of 2006 before one is set"
	try "a probe of 2006 is set on the marker that is in no code" put history_defined "$of_history"/set
	try "markers call the probe of 2006 that is set" more_hits pass_markers
	try "a probe of 2006 is set" put example_tick "$of_history"/set
	same "the probe of 2006 is connected to the markers of its module" "$(cat "$of_history"/connected)" 2
	try "another module with the marker of a probe of 2006 loads" insmod /modules/example_client.ko
	try "the probe of 2006 is set again" put example_tick "$of_history"/set
	same "the probe of 2006 is connected to the new marker, too" "$(cat "$of_history"/connected)" 3
	same "the probe of 2006 is listed at all its markers" "$(cat "$of_history"/listed)" 4
	try "the other module with the marker unloads" rmmod example_client
	try "the interface of 2006 lists all markers" put 1 "$of_history"/list
	logged 'markers: history_load in set_name(), format "name %s"'
	result $? "the interface of 2006 lists a marker without a probe"
	test_history_tracepoint
	try "module with the names of 2006 to 2009 unloads" rmmod kmarkers_test_history
	lacks history "$debugfs"/markers/list
	result $? "module with the names of 2006 to 2009 leaves no marker"
	test_callback_of_many
	test_callback_of_others
	test_own_tracepoint
}
