# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The tables of modules: found whatever was stripped, refused if they cannot be used, and taken
# with a batch for each subsystem however many files a module has.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

client=/sys/module/example_client

# Its value is listed and set, the file of its parameter is the only one, and it ticks.  The name
# of a static variable goes with the symbols.
client_works() {
	grep -q "^example_tick on jump 1 example_client tick example_client.c:" \
		"$debugfs"/markers/list || return 1
	grep -q " 4 0x64 0 example_client 1$" "$debugfs"/immediate/list || return 1
	[ "$(ls "$client"/parameters)" = period_ms ] || return 1
	ticks=$(cat /sys/module/example_probe/parameters/count)
	put 1 "$client"/parameters/period_ms || return 1
	grep -q " 4 0x1 1 example_client 1$" "$debugfs"/immediate/list || return 1
	within 10 ticked $((ticks + 20))
}

test_stripped() {
	insmod /modules/example_probe.ko
	for way in strip-unneeded strip-debug objcopy-unneeded eu-strip; do
		if [ ! -e /modules/example_client.$way.ko ]; then
			skip "client after $way" "the tool is not there"
			continue
		fi
		try "client after $way" insmod /modules/example_client.$way.ko
		try "client after $way: tables are known, values read" client_works
		try "client after $way unloads" rmmod example_client
	done
	rmmod example_probe
	[ "$(stat -c %s /modules/example_client.strip-unneeded.ko)" -lt \
		"$(stat -c %s /modules/example_client.ko)" ]
	result $? "the stripped module is smaller"
}

# naming MODULE: how many of the lists name it: that of modules and our own
naming() {
	grep -l "$1" /proc/modules "$debugfs"/immediate/list "$debugfs"/markers/list \
		"$debugfs"/patcher/sites | wc -l
}

# turned_away NAME FILE PATTERN: refused, for this reason, and nothing stays of it
turned_away() {
	refused "$1" "invalid module format\|Exec format error" insmod "$2"
	logged "$3"
	result $? "$1: the log says what is wrong with its tables"
	module=$(basename "$2" | cut -d. -f1)
	same "$1: none of its sites and markers is known" "$(naming "$module")" 0
}

test_turned_away() {
	insmod /modules/example_client.ko
	same "every list names a module that is taken" "$(naming example_client)" 4
	rmmod example_client
	turned_away "tables of version 1" /modules/kmarkers_test_old_table.ko \
		"kmarkers_test_old_table: its tables cannot be found: compiled with tables of version 1"
	turned_away "tables of a later version" /modules/kmarkers_test_later_table.ko \
		"kmarkers_test_later_table: compiled with tables of version 99, needed is version 3"
	turned_away "sites without tables" /modules/example_client.no-param.ko \
		"example_client: its tables cannot be found"
	refused "a table as a parameter" "Invalid argument" \
		insmod /modules/example_client.ko kmarkers_chunk_imv=1
	logged "kmarkers_chunk_imv is a table of the module and cannot be set"
	result $? "the log says that a table cannot be set"
	try "a probe in a module without tables" insmod /modules/kmarkers_test_bare.ko
	grep -q "^bare waiting - 1 " "$debugfs"/markers/list
	result $? "the probe of a module without tables is connected"
	try "module without tables unloads" rmmod kmarkers_test_bare
	try "a module that has nothing to do with us" insmod /modules/kmarkers_test_stranger.ko
	try "module that has nothing to do with us unloads" rmmod kmarkers_test_stranger
}

# What patcher/stats said, less what it says now.
remember() {
	for item in batches rounds waits hits sites; do
		eval "old_$item=$(stat_of $item)"
	done
}

since_then() {
	eval "echo \$((\$(stat_of $1) - old_$1))"
}

# costs WHAT BATCHES: that many, a round each, and no grace period was waited for
costs() {
	same "$1: batches" "$(since_then batches)" "$2"
	same "$1: a round each" "$(since_then rounds)" "$2"
	same "$1: no breakpoint was met" "$(since_then hits)" 0
	same "$1: no grace period was waited for" "$(since_then waits)" 0
}

# kmarkers_test has a dozen files with values and markers, and some of them typed ones.
test_costs() {
	loaded kmarkers_test && rmmod kmarkers_test
	insmod /modules/example_probe.ko
	remember
	try "module of one file" insmod /modules/example_client.ko
	grep -q "^example_tick on " "$debugfs"/markers/list
	result $? "the marker of the module of one file is on"
	costs "one file" 1
	remember
	rmmod example_client
	costs "one file leaves" 0
	remember
	try "module of many files" insmod /modules/kmarkers_test.ko
	[ "$(since_then sites)" -gt 100 ]
	result $? "the module of many files has more than 100 sites"
	costs "many files" 2
	remember
	rmmod kmarkers_test
	costs "many files leave" 0
	remember
	insmod /modules/kmarkers_test_bad_init.ko 2>/tmp/said
	costs "a module that is refused" 0
	log_is_clean
	rmmod example_probe
}

test_tables() {
	test_stripped
	test_turned_away
	test_costs
}
