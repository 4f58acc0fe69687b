# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Operations that work while the kernel is locked down, as under Secure Boot. This suite must be the
# last one: if the suite itself locks the kernel down, no unsigned module can be loaded afterwards.
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

lockdown=/sys/kernel/security/lockdown
# The directory of unsigned modules. Under Secure Boot, /modules has signed ones.
unsigned=/modules
[ ! -d /unsigned ] || unsigned=/unsigned

# lock_down: lock the kernel down, unless Secure Boot has done so; succeeds if the kernel is locked
# down then
lock_down() {
	[ -e "$lockdown" ] || mount -t securityfs securityfs /sys/kernel/security
	[ -e "$lockdown" ] || return
	grep -q "\[integrity\]" "$lockdown" || put integrity "$lockdown"
}

# print_files MODE: print the files in /tmp/modes that have this mode. Instead of the names of markers,
# values and benchmarks, print a star.
print_files() {
	sed -n "s:^$1 $debugfs/::p" /tmp/modes |
		sed 's:^\(markers\|bench\)/[^/]*/:\1/*/:; s:/values/.*:/values/*:; s:/[a-z]*-live:/*-live:' |
		sort -u | tr '\n' ' '
}

# Under lockdown, a file in debugfs can be read only if its mode has no write permission.
test_modes() {
	find "$debugfs" -type f -exec stat -c '%a %n' {} + >/tmp/modes
	same "root alone can write the files of commands and settings" "$(print_files 600)" \
		"bench/*-live bench/*/blocks bench/*/cpu bench/*/seed bench/control entry/control immediate/values/* markers/*/enable markers/*/probe markers/control sdt/control "
	same "root alone can read all other files" "$(print_files 400)" \
		"bench/*/samples bench/*/summary bench/env bench/hits bench/status entry/list entry/stats immediate/list markers/*/stats markers/list patcher/sites patcher/stats sdt/list sdt/notes "
	same "no file has another mode" "$(grep -v "^[46]00 " /tmp/modes)" ""
}

test_control_parameter() {
	refused "the debugfs file markers/control cannot be written" "Operation not permitted" put "fd_request count" "$debugfs"/markers/control
	try "the parameter control of markers accepts count" put "fd_* count" "$control_parameter"
	hit_fields "request 10"
	grep -q "^fd_request on " "$debugfs"/markers/list
	result $? "the debugfs list of markers can be read"
	same "the debugfs file stats of a marker can be read" "$(sed -n 's/^hits //p' "$debugfs"/markers/fd_request/stats)" $((10 * cpus))
	try "the parameter control of markers accepts a pattern of names that come later" put "fd_none count" "$control_parameter"
	try "the parameter control of markers accepts none" put "fd_* none" "$control_parameter"
	put "fd_none none" "$control_parameter"
	for word in "" "fd_request" "fd_request nothing" "fd_request  count"; do
		refused "the parameter control of markers refuses '$word'" "Invalid argument\|No such file" put "$word" "$control_parameter"
	done
	try "a marker is attached to a function" put "attach vfs_write fd_function" "$control_parameter"
	put 1 "$own"/fd_function/enable
	refused "detach is refused while the event of the marker is enabled" "busy" put "detach fd_function" "$control_parameter"
	put 0 "$own"/fd_function/enable
	grep -q ": fd_function: caller " "$tracing"/trace
	result $? "calls of the function are recorded"
	try "detach removes the marker on the function" put "detach fd_function" "$control_parameter"
}

# Lockdown forbids writes to debugfs, but a parameter of kmarkers_immediate sets immediate values.
test_values_parameter() {
	values=/sys/module/kmarkers_immediate/parameters/control
	refused "a value cannot be set in debugfs" "Operation not permitted" \
		put 1000 "$debugfs"/immediate/values/example_profile.prof_step
	for line in "" x "example_profile.prof_step" "example_profile.prof_step 0" \
		"example_profile.prof_step 1001" "example_profile.prof_step 5 5" \
		"example_profile.prof_step  5" "example_profile.prof_step 5x" "prof_step 5"; do
		refused "the parameter control of values refuses '$line'" "Invalid argument\|No such file" \
			put "$line" "$values"
	done
	grep -q "^prof_step 4 0x1 " "$debugfs"/immediate/list
	result $? "refused commands leave the value unchanged"
	try "the parameter control of values sets a value" put "example_profile.prof_step 1000" "$values"
	grep -q "^prof_step 4 0x3e8 " "$debugfs"/immediate/list
	result $? "the list shows the new value"
}

benchmark_is_done() {
	grep -q "^done" "$debugfs"/bench/status
}

# Lockdown forbids writes to debugfs, but a parameter of kmarkers_bench starts benchmarks.
test_benchmarks_parameter() {
	benchmarks=/sys/module/kmarkers_bench/parameters/control
	refused "a benchmark cannot be started in debugfs" "Operation not permitted" put start "$debugfs"/bench/control
	for line in "" "blocks 0" "blocks" "blocks x" "cpu 4096" "blocks 2 2" "start nothing" \
		"getppid-live nothing" "getppid-live"; do
		refused "the parameter control of benchmarks refuses '$line'" "Invalid argument" put "$line" "$benchmarks"
	done
	try "the parameter control of benchmarks sets blocks" put "blocks 2" "$benchmarks"
	try "the parameter control of benchmarks sets the seed" put "seed 7" "$benchmarks"
	same "env shows the settings" "$(grep -c "^blocks=2$\|^seed=7$" "$debugfs"/bench/env)" 2
	try "the parameter control of benchmarks starts a benchmark" put "start empty-loop" "$benchmarks"
	within 60 benchmark_is_done
	result $? "status shows that the benchmark is done"
	[ "$(grep -c "" "$debugfs"/bench/empty-loop/samples)" -gt 10 ]
	result $? "the debugfs file samples can be read"
	try "the parameter control of benchmarks redirects getppid(2)" put "getppid-live immediate" "$benchmarks"
	try "the parameter control of benchmarks restores getppid(2)" put "getppid-live original" "$benchmarks"
}

# Lockdown forbids writes to debugfs, but a parameter of kmarkers_sdt switches SDT probes.
test_probes_parameter() {
	refused "the debugfs file sdt/control cannot be written" "Operation not permitted" \
		put "tsdt:::io-start count" "$debugfs"/sdt/control
	try "the parameter control of SDT probes accepts count" \
		put "tsdt:::io-start count" /sys/module/kmarkers_sdt/parameters/control
	put 3 /sys/module/kmarkers_test_sdt/parameters/pass
	same "the list shows the counted hits of SDT probes" \
		"$(grep -c "^tsdt:.*:io-start on jump 1 3 " "$debugfs"/sdt/list)" 2
	try "the parameter control of SDT probes accepts -count" \
		put "tsdt:::io-start -count" /sys/module/kmarkers_sdt/parameters/control
}

test_lockdown() {
	must load_core || return
	must load_bench || return
	must insmod /modules/example_profile.ko || return
	must insmod /modules/kmarkers_test_sdt.ko || return
	try "kmarkers_test_fields loads before the lockdown" insmod /modules/kmarkers_test_fields.ko
	test_modes
	if ! lock_down; then
		skip "operations under lockdown" "this kernel has none"
		rmmod kmarkers_test_fields kmarkers_test_sdt example_profile
		unload_core
		return
	fi
	refused "an unsigned module cannot be loaded" "not permitted\|Required key\|Key was rejected" insmod "$unsigned"/kmarkers_test_fields_again.ko
	test_own_records
	test_own_filters
	test_control_parameter
	test_values_parameter
	test_benchmarks_parameter
	test_probes_parameter
	try "kmarkers_test_sdt unloads under lockdown" rmmod kmarkers_test_sdt
	try "example_profile unloads under lockdown" rmmod example_profile
	try "kmarkers_test_fields unloads under lockdown" rmmod kmarkers_test_fields
	try "all modules of kmarkers unload under lockdown" unload_core
}
