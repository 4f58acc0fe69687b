# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Tables of sites in modules: the tables must be found in a stripped module, refused if they cannot
# be used, and applied in one batch for each subsystem, independent of the number of the module's
# files.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

client=/sys/module/example_client

# client_works: succeeds if the marker and the value of example_client are listed, the value can be
# set, period_ms is the only parameter, and the marker is hit. In a stripped module the value has no
# name.
client_works() {
	grep -q "^example_tick on jump 1 example_client tick example_client.c:" \
		"$debugfs"/markers/list || return 1
	grep -q " 4 0x64 0 example_client 1$" "$debugfs"/immediate/list || return 1
	[ "$(ls "$client"/parameters)" = period_ms ] || return 1
	ticks=$(cat /sys/module/example_probe/parameters/count)
	put 1 "$client"/parameters/period_ms || return 1
	grep -q " 4 0x1 1 example_client 1$" "$debugfs"/immediate/list || return 1
	within 10 example_probe_was_called $((ticks + 20))
}

test_stripped() {
	insmod /modules/example_probe.ko
	for way in strip-unneeded strip-debug objcopy-unneeded eu-strip; do
		if [ ! -e /modules/example_client.$way.ko ]; then
			# Skip as many results as there are otherwise, so that their number does not depend
			# on the tools of the build machine.
			for what in "loads" "works" "unloads"; do
				skip "client stripped by $way $what" "the build machine lacks the tool"
			done
			continue
		fi
		try "client stripped by $way loads" insmod /modules/example_client.$way.ko
		try "client stripped by $way: its marker and its value work" client_works
		try "client stripped by $way unloads" rmmod example_client
	done
	rmmod example_probe
	[ "$(stat -c %s /modules/example_client.strip-unneeded.ko)" -lt \
		"$(stat -c %s /modules/example_client.ko)" ]
	result $? "the stripped module is smaller"
}

# count_lists_naming MODULE: print the number of lists that name the module: /proc/modules and the
# lists of values, markers and sites
count_lists_naming() {
	grep -l "$1" /proc/modules "$debugfs"/immediate/list "$debugfs"/markers/list \
		"$debugfs"/patcher/sites | wc -l
}

# expect_refused_tables NAME FILE PATTERN: tests that insmod of the file is refused, that the log
# has a line that matches PATTERN, and that no list names the module
expect_refused_tables() {
	refused "$1" "invalid module format\|Exec format error" insmod "$2"
	logged "$3"
	result $? "$1: the log names the module and the fault of its tables"
	module=$(basename "$2" | cut -d. -f1)
	same "$1: no list names the module" "$(count_lists_naming "$module")" 0
}

test_refused_tables() {
	insmod /modules/example_client.ko
	same "each of the 4 lists names a module that is loaded" "$(count_lists_naming example_client)" 4
	rmmod example_client
	expect_refused_tables "a module with tables of version 1 does not load" /modules/kmarkers_test_old_table.ko \
		"kmarkers_test_old_table: its kmarkers tables cannot be found: it has table version 1"
	expect_refused_tables "a module with tables of a later version does not load" /modules/kmarkers_test_later_table.ko \
		"kmarkers_test_later_table: compiled with table version 99, but version 5 is required"
	expect_refused_tables "a module with sites and no tables does not load" /modules/example_client.no-param.ko \
		"example_client: its kmarkers tables cannot be found"
	refused "a table cannot be set as a parameter" "Invalid argument" \
		insmod /modules/example_client.ko kmarkers_chunk_imv=1
	logged "parameter kmarkers_chunk_imv only holds the address of a table and cannot be set"
	result $? "the log says that a table cannot be set"
	try "a module without tables that registers a probe loads" insmod /modules/kmarkers_test_bare.ko
	grep -q "^bare waiting - 1 " "$debugfs"/markers/list
	result $? "the list shows the probe of the module without tables"
	try "the module without tables unloads" rmmod kmarkers_test_bare
	try "a module that does not use kmarkers loads" insmod /modules/kmarkers_test_stranger.ko
	try "a module that does not use kmarkers unloads" rmmod kmarkers_test_stranger
}

# remember_stats: store the numbers of patcher/stats
remember_stats() {
	for item in batches rounds waits hits sites; do
		eval "old_$item=$(patcher_stat $item)"
	done
}

# stat_increase NAME: print the increase of the number since remember_stats
stat_increase() {
	eval "echo \$((\$(patcher_stat $1) - old_$1))"
}

# check_patcher_costs WHAT BATCHES ROUNDS: tests that there were that many batches and rounds since
# remember_stats, that no breakpoint was hit, and that the patcher did not wait for a grace period
check_patcher_costs() {
	same "$1: number of batches" "$(stat_increase batches)" "$2"
	same "$1: number of rounds" "$(stat_increase rounds)" "$3"
	same "$1: no CPU hits a breakpoint" "$(stat_increase hits)" 0
	same "$1: the patcher does not wait for a grace period" "$(stat_increase waits)" 0
}

# Counts the patcher's batches and rounds while a module loads and unloads: first example_client,
# which has one source file, then kmarkers_test, which has a dozen.
test_costs() {
	loaded kmarkers_test && rmmod kmarkers_test
	insmod /modules/example_probe.ko
	remember_stats
	try "module of one file loads" insmod /modules/example_client.ko
	grep -q "^example_tick on " "$debugfs"/markers/list
	result $? "the marker in the module of one file is on"
	check_patcher_costs "module of one file loads" 1 1
	remember_stats
	rmmod example_client
	# Unloading takes three rounds, because the marker is on, and the functions that set the
	# module's parameters may still run.
	check_patcher_costs "module of one file unloads" 1 3
	remember_stats
	try "module of many files loads" insmod /modules/kmarkers_test.ko
	[ "$(stat_increase sites)" -gt 100 ]
	result $? "the module of many files has more than 100 sites"
	# Three batches: values, stubs of typed markers, and SDT probes.
	check_patcher_costs "module of many files loads" 3 3
	remember_stats
	rmmod kmarkers_test
	check_patcher_costs "module of many files unloads" 0 0
	remember_stats
	insmod /modules/kmarkers_test_bad_init.ko 2>/tmp/said
	check_patcher_costs "a module is refused because of its init text" 0 0
	log_is_clean
	rmmod example_probe
}

test_versions() {
	refused "a module of kmarkers of another version is refused" "invalid module format\|Exec format error" \
		insmod /modules/kmarkers_test_other_version.ko
	logged "_other_version has version 0.9-other, but version [0-9][^ ]* of kmarkers is loaded: unload all modules of kmarkers"
	result $? "the log names both versions and the remedy"
}

test_tables() {
	test_stripped
	test_refused_tables
	test_versions
	test_costs
}
