# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The modules of examples/: example_client with a marker and example_probe, loaded in either order.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

test_examples() {
	try "probe loads before its marker exists" insmod /modules/example_probe.ko
	grep -q "example_tick waiting - 1" "$debugfs"/markers/list
	result $? "the list shows the probe waiting for its marker"
	try "marked module loads after its probe" insmod /modules/example_client.ko
	grep -q "example_tick on jump 1 example_client tick example_client.c:" "$debugfs"/markers/list
	result $? "the list shows the marker connected to its probe"
	try "the period of the marked module is shortened" put 1 /sys/module/example_client/parameters/period_ms
	refused "a period out of range is refused" "Invalid argument" \
		put 0 /sys/module/example_client/parameters/period_ms
	try "the probe counts 20 ticks" within 5 ticked 20
	try "probe unloads before the marked module" rmmod example_probe
	grep -q "example_tick off jump 0" "$debugfs"/markers/list
	result $? "the list shows the marker off without its probe"
	try "marked module unloads after its probe" rmmod example_client
	try "marked module loads before its probe" insmod /modules/example_client.ko
	try "probe loads after its marker" insmod /modules/example_probe.ko
	try "marked module unloads while its probe is registered" rmmod example_client
	try "probe unloads after the marked module" rmmod example_probe
}
