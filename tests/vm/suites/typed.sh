# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Typed markers across modules, and modules that leave their probes behind.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

parameter_exceeds() {
	[ "$(cat /sys/module/"$1"/parameters/"$2")" -gt "$3" ]
}

test_typed_example() {
	refused "typed probe without its marker" "unknown symbol" insmod /modules/example_typed_probe.ko
	try "module with a typed marker" insmod /modules/example_typed.ko
	grep -q '^example_request off typed 0 example_typed .*"sector %llu bytes %u"$' "$debugfs"/markers/list
	result $? "list shows it off"
	try "typed probe" insmod /modules/example_typed_probe.ko
	grep -q "^example_request on typed 1 " "$debugfs"/markers/list
	result $? "list shows it on"
	try "typed probe adds up bytes" within 5 parameter_exceeds example_typed_probe bytes 5000
	refused "marker held by its probe" "temporarily unavailable" rmmod example_typed
	try "typed probe unloads" rmmod example_typed_probe
	grep -q "^example_request off typed 0 " "$debugfs"/markers/list
	result $? "list shows it off again"
}

# leaves PROBES PARAMETERS...: load the leaver, see its probes called, unload it
leaves() {
	probes=$1
	shift
	try "probes of a module that will leave them" insmod /modules/kmarkers_test_leaver.ko "$@"
	grep -q "^example_request on typed $probes " "$debugfs"/markers/list
	result $? "probes of the leaver are connected"
	try "probes of the leaver are called" within 5 parameter_exceeds kmarkers_test_leaver typed 3
	try "the leaver leaves" rmmod kmarkers_test_leaver
	same "the log names each probe that was left" "$(grep -c 'kmarkers_test_leaver left its probe leaver_.* of marker example_request registered' "$log")" "$probes"
	grep -q "^example_request off typed 0 " "$debugfs"/markers/list
	result $? "no probe of the leaver is connected"
	# The marker goes on and off while its code runs where the probes were.
	try "the marker with another probe" insmod /modules/example_typed_probe.ko
	try "the other probe is called" within 5 parameter_exceeds example_typed_probe bytes 5000
	try "the other probe unloads" rmmod example_typed_probe
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
