# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The modules of examples/: a marked one and one with a probe, in either order.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

test_examples() {
	try "probe before its marker exists" insmod /modules/example_probe.ko
	grep -q "example_tick waiting - 1" "$debugfs"/markers/list
	result $? "list shows it waiting"
	try "marked module" insmod /modules/example_client.ko
	grep -q "example_tick on jump 1 example_client tick example_client.c:" "$debugfs"/markers/list
	result $? "list shows it connected"
	try "period shortened" put 1 /sys/module/example_client/parameters/period_ms
	refused "period out of range" "Invalid argument" \
		put 0 /sys/module/example_client/parameters/period_ms
	try "probe counts ticks" within 5 ticked 20
	try "probe goes first" rmmod example_probe
	grep -q "example_tick off jump 0" "$debugfs"/markers/list
	result $? "list shows it off"
	try "marked module unloads" rmmod example_client
	try "marked module first" insmod /modules/example_client.ko
	try "probe after its marker" insmod /modules/example_probe.ko
	try "marked module leaves while probes are registered" rmmod example_client
	try "probe unloads" rmmod example_probe
}
