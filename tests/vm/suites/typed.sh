# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Typed markers across modules, and modules that unload without unregistering their probes.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# parameter_exceeds MODULE PARAMETER NUMBER: succeeds if the parameter is greater than NUMBER
parameter_exceeds() {
	[ "$(cat /sys/module/"$1"/parameters/"$2")" -gt "$3" ]
}

test_typed_example() {
	refused "a module with a typed probe does not load without the marker" "unknown symbol" insmod /modules/example_typed_probe.ko
	try "example_typed loads" insmod /modules/example_typed.ko
	grep -q '^example_request off typed 0 example_typed .*"sector %llu bytes %u"$' "$debugfs"/markers/list
	result $? "the list shows the typed marker off without a probe"
	try "example_typed_probe loads" insmod /modules/example_typed_probe.ko
	grep -q "^example_request on typed 1 " "$debugfs"/markers/list
	result $? "the list shows the typed marker on with its probe"
	try "the typed probe is called with the arguments" within 5 parameter_exceeds example_typed_probe bytes 5000
	refused "example_typed cannot be unloaded before the module of its probe" "temporarily unavailable" rmmod example_typed
	try "example_typed_probe unloads" rmmod example_typed_probe
	grep -q "^example_request off typed 0 " "$debugfs"/markers/list
	result $? "the list shows the typed marker off after its probe"
}

# unload_with_probes PROBES PARAMETERS...: load kmarkers_test_leaver, which registers that many
# probes and does not unregister them; check that the probes are called; unload the module
unload_with_probes() {
	probes=$1
	shift
	try "module that leaves $probes probes registered: it loads" insmod /modules/kmarkers_test_leaver.ko "$@"
	grep -q "^example_request on typed $probes " "$debugfs"/markers/list
	result $? "module that leaves $probes probes registered: the probes are connected"
	try "module that leaves $probes probes registered: the probes are called" within 5 parameter_exceeds kmarkers_test_leaver typed 3
	try "module that leaves $probes probes registered: it unloads" rmmod kmarkers_test_leaver
	same "module that leaves $probes probes registered: the log names each of them" "$(grep -c 'module kmarkers_test_leaver: unloaded, but its probe leaver_.* of marker example_request is still registered' "$log")" "$probes"
	grep -q "^example_request off typed 0 " "$debugfs"/markers/list
	result $? "module that leaves $probes probes registered: no probe is connected after it unloaded"
	# The marker must still work after the probes were disconnected while its code was running.
	try "module that leaves $probes probes registered: another probe loads afterwards" insmod /modules/example_typed_probe.ko
	try "module that leaves $probes probes registered: the other probe is called" within 5 parameter_exceeds example_typed_probe bytes 5000
	try "module that leaves $probes probes registered: the other probe unloads" rmmod example_typed_probe
}

test_leavers() {
	unload_with_probes 3
	unload_with_probes 1 all=0
	try "example_typed unloads" rmmod example_typed
}

test_typed() {
	test_typed_example
	test_leavers
}
