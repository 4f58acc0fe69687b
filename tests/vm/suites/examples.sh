# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The modules of examples/: example_client with a marker and example_probe with its probe, loaded in
# either order; and example_entry with recorded functions (built with entry.mk).
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# example_work_was_counted COUNT: succeeds if at least COUNT entries of the function example_work
# were counted
example_work_was_counted() {
	[ "$(sed -n 's/^example_entry:example_work:entry on count \([0-9]*\) .*/\1/p' "$debugfs/entry/list")" -ge "$1" ]
}

test_example_entry() {
	can_record "an example of recorded functions" || return
	try "a module with recorded functions loads" insmod /modules/example_entry.ko
	try "the functions of the example are counted" put "example_entry: count" "$entry_control"
	try "20 entries of example_work are counted" within 5 example_work_was_counted 20
	try "the module unloads while its recorded functions are enabled" rmmod example_entry
	try "the pattern of the example is removed" put "example_entry: -count" "$entry_control"
}

test_examples() {
	try "example_probe loads before its marker exists" insmod /modules/example_probe.ko
	grep -q "example_tick waiting - 1" "$debugfs"/markers/list
	result $? "the list shows the probe waiting for its marker"
	try "example_client loads after its probe" insmod /modules/example_client.ko
	grep -q "example_tick on jump 1 example_client tick example_client.c:" "$debugfs"/markers/list
	result $? "the list shows the marker connected to its probe"
	try "the period of example_client is set to 1 ms" put 1 /sys/module/example_client/parameters/period_ms
	refused "a period out of range is refused" "Invalid argument" \
		put 0 /sys/module/example_client/parameters/period_ms
	try "the probe counts 20 ticks" within 5 example_probe_was_called 20
	try "example_probe unloads before example_client" rmmod example_probe
	grep -q "example_tick off jump 0" "$debugfs"/markers/list
	result $? "the list shows the marker off without its probe"
	try "example_client unloads after its probe" rmmod example_client
	try "example_client loads before its probe" insmod /modules/example_client.ko
	try "example_probe loads after its marker" insmod /modules/example_probe.ko
	try "example_client unloads while its probe is registered" rmmod example_client
	try "example_probe unloads after example_client" rmmod example_probe
	test_example_entry
}
