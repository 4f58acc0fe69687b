# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Markers and probes that use the interfaces of 2006 to 2009.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

of_history=/sys/module/kmarkers_test_history/parameters
of_callbacks=/sys/module/kmarkers_test_callbacks/parameters
# The module parameter is used because the debugfs file cannot be written under lockdown.
switches=/sys/module/kmarkers_markers/parameters/control

# history_probe_is_called COMMAND...: succeeds if the probe of kmarkers_test_history is called while
# the command runs
history_probe_is_called() {
	before=$(cat "$of_history"/hits)
	"$@" >/dev/null
	[ "$(cat "$of_history"/hits)" -gt "$before" ]
}

# hit_history_markers: execute the markers of kmarkers_test_history
hit_history_markers() {
	put 1 "$of_history/tick"
}

# fire_module_get: read a file of a module, which fires the kernel's tracepoint module_get
fire_module_get() {
	cat "$debugfs/markers/list"
}

# print_count NAME: print the number of hits that the built-in probe count has counted
print_count() {
	cut -d' ' -f2 "$debugfs/markers/$1/stats" | head -n 1
}

hits_of_get() {
	print_count history_module_get
}

hits_of_first() {
	print_count callbacks_first
}

hits_of_second() {
	print_count callbacks_second
}

# count_ticks: print the number of calls of the probe in example_probe
count_ticks() {
	cat /sys/module/example_probe/parameters/count
}

# counter_grows COUNTER: succeeds if the number that the function COUNTER prints grows when a module
# is used
counter_grows() {
	before=$("$1")
	fire_module_get >/dev/null
	[ "$("$1")" -gt "$before" ]
}

test_history_tracepoint() {
	grep -q '^history_module_get off tracepoint 0 ' "$debugfs"/markers/list
	result $? "the list shows the marker of a tracepoint as off"
	try "count is connected to the marker of a tracepoint" put "history_module_get count" "$switches"
	grep -q '^history_module_get on tracepoint 1 ' "$debugfs"/markers/list
	result $? "the list shows the marker of a tracepoint as on"
	try "the tracepoint calls its marker" counter_grows hits_of_get
	try "the module of the marker unloads while the marker is on" rmmod kmarkers_test_history
	fire_module_get >/dev/null
	result $? "the tracepoint fires after the module of its marker was unloaded"
	try "example_probe loads before the marker of a tracepoint exists" insmod /modules/example_probe.ko
	try "the module of the marker loads after the probe" insmod /modules/kmarkers_test_history.ko
	grep -q '^example_tick on tracepoint 1 ' "$debugfs"/markers/list
	result $? "the list shows the marker with the probe as on"
	try "the tracepoint calls the probe that was registered before its marker" counter_grows count_ticks
	try "example_probe unloads before the marker" rmmod example_probe
	grep -q '^example_tick off tracepoint 0 ' "$debugfs"/markers/list
	result $? "the list shows the marker without its probe as off"
}

# Several markers in one callback: the callback must be connected to the tracepoint only once.
test_callback_of_many() {
	try "the module with several markers in a callback loads" insmod /modules/kmarkers_test_callbacks.ko
	try "count is connected to one of several markers in a callback" put "callbacks_first count" "$switches"
	try "count is connected to another marker in the same callback" put "callbacks_second count" "$switches"
	try "the tracepoint calls the first marker" counter_grows hits_of_first
	try "the tracepoint calls the second marker" counter_grows hits_of_second
	try "the first marker of the callback is switched off" put "callbacks_first none" "$switches"
	try "the tracepoint still calls the second marker" counter_grows hits_of_second
	try "the second marker of the callback is switched off" put "callbacks_second none" "$switches"
}

# A callback that a module has connected to the tracepoint itself must not be connected a second
# time.
test_callback_of_others() {
	try "the module connects the callback itself" put 1 "$of_callbacks/itself"
	refused "a marker in a connected callback cannot be counted" "File exists" put "callbacks_first count" "$switches"
	logged "markers: marker callbacks_first in .*: callback callbacks_get .*is already connected to the tracepoint module_get by other code"
	result $? "the log says that the callback is connected already"
	grep -q "^callbacks_first off tracepoint 0 " "$debugfs"/markers/list
	result $? "the list shows the marker in the connected callback as off"
	try "example_probe loads before another module with its marker" insmod /modules/example_probe.ko
	refused "a module with the marker in a connected callback does not load" "File exists" \
		insmod /modules/kmarkers_test_lodger.ko
	logged "markers: marker example_tick in set_hit(): callback callbacks_get .*is already connected to the tracepoint module_get by other code"
	result $? "the log says that the other module's callback is connected already"
	lacks lodger "$debugfs"/markers/list
	result $? "the module that did not load leaves no marker"
	try "the module disconnects the callback" put 0 "$of_callbacks/itself"
	try "count is connected to the marker in the free callback" put "callbacks_first count" "$switches"
	try "the other module loads with the callback free" insmod /modules/kmarkers_test_lodger.ko
	grep -q "^example_tick on tracepoint 1 kmarkers_test_lodger " "$debugfs"/markers/list
	result $? "the list shows the marker of the other module as on"
	try "the first marker is switched off beside the other module" put "callbacks_first none" "$switches"
	try "the other module unloads" rmmod kmarkers_test_lodger
	try "the module connects the callback itself again" put 1 "$of_callbacks/itself"
	try "the module disconnects the callback again" put 0 "$of_callbacks/itself"
}

# fire_own_tracepoint: fire the tracepoint of kmarkers_test_callbacks
fire_own_tracepoint() {
	put 1 "$of_callbacks/fire"
}

# own_tracepoint_calls_probe: succeeds if the module's own tracepoint calls the probe in
# example_probe
own_tracepoint_calls_probe() {
	before=$(count_ticks)
	fire_own_tracepoint
	[ "$(count_ticks)" -gt "$before" ]
}

# A module with a tracepoint of its own: the kernel warns if it unloads while a callback is
# connected.
test_own_tracepoint() {
	try "the module with its own tracepoint unloads" rmmod kmarkers_test_callbacks
	try "the module with its own tracepoint loads after the probe" insmod /modules/kmarkers_test_callbacks.ko
	grep -q "^example_tick on tracepoint 1 kmarkers_test_callbacks callbacks_own " \
		"$debugfs"/markers/list
	result $? "the list shows the marker of the module's own tracepoint as on"
	try "the module's own tracepoint calls the probe" own_tracepoint_calls_probe
	try "count is connected to all markers of the module" put "callbacks_* count" "$switches"
	try "the module with its own tracepoint unloads while its markers are on" rmmod kmarkers_test_callbacks
	try "the probe of the module's own tracepoint unloads" rmmod example_probe
	lacks callbacks "$debugfs"/markers/list
	result $? "the module with its own tracepoint leaves no marker"
}

test_history() {
	try "the module with the interfaces of 2006 to 2009 loads" insmod /modules/kmarkers_test_history.ko
	grep -q '^history_defined off generic 0 kmarkers_test_history DEFINE_MARKER .*"value %d"$' \
		"$debugfs"/markers/list
	result $? "the list shows a marker that is only defined, and is in no code"
	refused "a probe of 2006 for an unknown marker is refused" "No such file" put history_none "$of_history"/set
	! history_probe_is_called hit_history_markers
	result $? "markers call no probe of 2006 before one is set"
	try "a probe of 2006 is set on the marker that is in no code" put history_defined "$of_history"/set
	try "markers call the probe of 2006 that is set" history_probe_is_called hit_history_markers
	try "a probe of 2006 is set" put example_tick "$of_history"/set
	same "the probe of 2006 is connected to the markers of its module" "$(cat "$of_history"/connected)" 2
	try "another module with the marker of a probe of 2006 loads" insmod /modules/example_client.ko
	try "the probe of 2006 is set again" put example_tick "$of_history"/set
	same "the probe of 2006 is connected to the new marker, too" "$(cat "$of_history"/connected)" 3
	same "the list shows the probe of 2006 at all its markers" "$(cat "$of_history"/listed)" 4
	try "the other module with the marker unloads" rmmod example_client
	try "the interface of 2006 lists all markers" put 1 "$of_history"/list
	logged 'markers: marker history_load in set_name(), format "name %s"'
	result $? "the interface of 2006 lists a marker without a probe"
	test_history_tracepoint
	try "the module with the interfaces of 2006 to 2009 unloads" rmmod kmarkers_test_history
	lacks history "$debugfs"/markers/list
	result $? "the module with the interfaces of 2006 to 2009 leaves no marker"
	test_callback_of_many
	test_callback_of_others
	test_own_tracepoint
}
