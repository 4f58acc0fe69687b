# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Typed markers across modules, and modules that unload without unregistering their probes.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# parameter_exceeds MODULE PARAMETER NUMBER: succeeds if the parameter exceeds the number
parameter_exceeds() {
	[ "$(cat /sys/module/"$1"/parameters/"$2")" -gt "$3" ]
}

test_typed_example() {
	refused "a typed probe without its marker does not load" "unknown symbol" insmod /modules/example_typed_probe.ko
	try "module with a typed marker loads" insmod /modules/example_typed.ko
	grep -q '^example_request off typed 0 example_typed .*"sector %llu bytes %u"$' "$debugfs"/markers/list
	result $? "the list shows the typed marker off without a probe"
	try "typed probe loads" insmod /modules/example_typed_probe.ko
	grep -q "^example_request on typed 1 " "$debugfs"/markers/list
	result $? "the list shows the typed marker on with its probe"
	try "typed probe adds up bytes" within 5 parameter_exceeds example_typed_probe bytes 5000
	refused "module of a typed marker cannot unload before the module of its probe" "temporarily unavailable" rmmod example_typed
	try "typed probe unloads" rmmod example_typed_probe
	grep -q "^example_request off typed 0 " "$debugfs"/markers/list
	result $? "the list shows the typed marker off after its probe"
}

# leaves PROBES PARAMETERS...: load kmarkers_test_leaver, which registers that many probes and
# leaves them registered; see them called; unload it
leaves() {
	probes=$1
	shift
	try "leaver of $probes probes loads" insmod /modules/kmarkers_test_leaver.ko "$@"
	grep -q "^example_request on typed $probes " "$debugfs"/markers/list
	result $? "leaver of $probes probes: they are connected"
	try "leaver of $probes probes: they are called" within 5 parameter_exceeds kmarkers_test_leaver typed 3
	try "leaver of $probes probes unloads" rmmod kmarkers_test_leaver
	same "leaver of $probes probes: the log names each probe that it left" "$(grep -c 'kmarkers_test_leaver left its probe leaver_.* of marker example_request registered' "$log")" "$probes"
	grep -q "^example_request off typed 0 " "$debugfs"/markers/list
	result $? "leaver of $probes probes: none is connected after it unloaded"
	# The marker is switched on and off while its code runs, after the probes were disconnected.
	try "leaver of $probes probes: another probe loads afterwards" insmod /modules/example_typed_probe.ko
	try "leaver of $probes probes: the other probe is called" within 5 parameter_exceeds example_typed_probe bytes 5000
	try "leaver of $probes probes: the other probe unloads" rmmod example_typed_probe
}

test_leavers() {
	leaves 3
	leaves 1 all=0
	try "module with a typed marker unloads" rmmod example_typed
}

test_typed() {
	test_typed_example
	test_leavers
}
