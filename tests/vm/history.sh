# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# shellcheck disable=SC2154 # variables of lib.sh
# Markers and probes through the interfaces of 2006 to 2009.

of_history=/sys/module/kmarkers_test_history/parameters

# more_hits COMMAND...: is the probe called meanwhile?
more_hits() {
	before=$(cat $of_history/hits)
	"$@" >/dev/null
	[ "$(cat $of_history/hits)" -gt "$before" ]
}

pass_markers() {
	put 1 "$of_history/tick"
}

# Whoever reads a file of a module uses that module.
use_module() {
	cat "$debugfs/markers/list"
}

hits_of_get() {
	cut -d' ' -f2 "$debugfs/markers/history_module_get/stats" | head -n 1
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
	grep -q '^history_module_get off tracepoint 0 ' $debugfs/markers/list
	result $? "list shows the marker of a tracepoint off"
	try "it is counted" put "history_module_get count" $debugfs/markers/control
	grep -q '^history_module_get on tracepoint 1 ' $debugfs/markers/list
	result $? "list shows it on"
	try "the tracepoint calls it" more hits_of_get
	try "its module leaves while it is on" rmmod kmarkers_test_history
	use_module >/dev/null
	result $? "the tracepoint calls nothing"
	try "a probe that waits for such a marker" insmod /modules/example_probe.ko
	try "its module comes again" insmod /modules/kmarkers_test_history.ko
	grep -q '^example_tick on tracepoint 1 ' $debugfs/markers/list
	result $? "list shows it on"
	try "the tracepoint calls it" more ticks
	try "the probe goes" rmmod example_probe
	grep -q '^example_tick off tracepoint 0 ' $debugfs/markers/list
	result $? "list shows it off"
}

test_history() {
	try "module with the names of 2006 to 2009" insmod /modules/kmarkers_test_history.ko
	grep -q '^history_defined off generic 0 kmarkers_test_history DEFINE_MARKER .*"value %d"$' \
		$debugfs/markers/list
	result $? "list shows the marker that stands nowhere"
	refused "a probe for no marker is not set" "No such file" put history_none $of_history/set
	! more_hits pass_markers
	result $? "no probe is called"
	try "a probe on what stands nowhere" put history_defined $of_history/set
	try "is called" more_hits pass_markers
	try "a probe of 2006 is set" put example_tick $of_history/set
	same "it is connected to its own markers" "$(cat $of_history/connected)" 2
	try "another module with that marker" insmod /modules/example_client.ko
	try "it is set again" put example_tick $of_history/set
	same "it is connected to the new one, too" "$(cat $of_history/connected)" 3
	same "it is listed at all of them" "$(cat $of_history/listed)" 4
	try "the other module goes" rmmod example_client
	try "all markers are listed" put 1 $of_history/list
	logged 'markers: history_load in set_name(), format "name %s"'
	result $? "those without a probe, too"
	test_history_tracepoint
	try "the module unloads" rmmod kmarkers_test_history
	! grep -q history $debugfs/markers/list
	result $? "no marker of it is left"
}
