# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Operations that work while the kernel is locked down, as under Secure Boot. This is the last of
# all suites: if the suite itself locks the kernel down, no module of ours can be loaded afterwards.
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

lockdown=/sys/kernel/security/lockdown
# Under Secure Boot the modules of this directory are signed.
unsigned=/modules
[ ! -d /unsigned ] || unsigned=/unsigned

# lock_down: lock the kernel down, unless Secure Boot has done so; succeeds if it is locked down
lock_down() {
	[ -e "$lockdown" ] || mount -t securityfs securityfs /sys/kernel/security
	[ -e "$lockdown" ] || return
	grep -q "\[integrity\]" "$lockdown" || put integrity "$lockdown"
}

test_control_outside() {
	refused "no control in debugfs" "Operation not permitted" put "fd_request count" "$debugfs"/markers/control
	try "control outside debugfs" put "fd_* count" "$control_outside"
	hit_fields "request 10"
	grep -q "^fd_request on " "$debugfs"/markers/list
	result $? "the list can be read"
	same "hits can be read" "$(sed -n 's/^hits //p' "$debugfs"/markers/fd_request/stats)" $((10 * cpus))
	try "counting ends" put "fd_* none" "$control_outside"
	for word in "" "fd_request" "fd_request nothing" "fd_request  count" "fd_none count"; do
		refused "control outside debugfs refuses '$word'" "Invalid argument\|No such file" put "$word" "$control_outside"
	done
	try "a marker on a function" put "attach vfs_write fd_function" "$control_outside"
	put 1 "$own"/fd_function/enable
	refused "detach while its event is on" "busy" put "detach fd_function" "$control_outside"
	put 0 "$own"/fd_function/enable
	grep -q ": fd_function: caller " "$tracing"/trace
	result $? "records of a function"
	try "no marker on the function" put "detach fd_function" "$control_outside"
}

# Values are set and benchmarks run through parameters of their modules.
test_values_outside() {
	values=/sys/module/kmarkers_immediate/parameters/control
	refused "no value in debugfs" "Operation not permitted" \
		put 1000 "$debugfs"/immediate/values/example_profile.prof_step
	for line in "" x "example_profile.prof_step" "example_profile.prof_step 0" \
		"example_profile.prof_step 1001" "example_profile.prof_step 5 5" \
		"example_profile.prof_step  5" "example_profile.prof_step 5x" "prof_step 5"; do
		refused "a value outside debugfs refuses '$line'" "Invalid argument\|No such file" \
			put "$line" "$values"
	done
	grep -q "^prof_step 4 0x1 " "$debugfs"/immediate/list
	result $? "refused lines leave the value as it was"
	try "a value is set outside debugfs" put "example_profile.prof_step 1000" "$values"
	grep -q "^prof_step 4 0x3e8 " "$debugfs"/immediate/list
	result $? "the list shows the value that was set"
}

benchmark_is_done() {
	grep -q "^done" "$debugfs"/bench/status
}

test_benchmarks_outside() {
	benchmarks=/sys/module/kmarkers_bench/parameters/control
	refused "no start in debugfs" "Operation not permitted" put start "$debugfs"/bench/control
	for line in "" "blocks 0" "blocks" "blocks x" "cpu 4096" "blocks 2 2" "start nothing" \
		"getppid-live nothing" "getppid-live"; do
		refused "benchmarks outside debugfs refuse '$line'" "Invalid argument" put "$line" "$benchmarks"
	done
	try "blocks are set outside debugfs" put "blocks 2" "$benchmarks"
	try "the seed is set outside debugfs" put "seed 7" "$benchmarks"
	same "settings are as set" "$(grep -c "^blocks=2$\|^seed=7$" "$debugfs"/bench/env)" 2
	try "a benchmark starts outside debugfs" put "start empty-loop" "$benchmarks"
	within 60 benchmark_is_done
	result $? "the benchmark is done"
	[ "$(grep -c "" "$debugfs"/bench/empty-loop/samples)" -gt 10 ]
	result $? "samples of a benchmark can be read"
	try "getppid(2) is redirected outside debugfs" put "getppid-live immediate" "$benchmarks"
	try "getppid(2) is as it was" put "getppid-live original" "$benchmarks"
}

# SDT probes are switched through a parameter of their module.
test_probes_outside() {
	refused "no control of SDT probes in debugfs" "Operation not permitted" \
		put "tsdt:::io-start count" "$debugfs"/sdt/control
	try "SDT probes count, by control outside debugfs" \
		put "tsdt:::io-start count" /sys/module/kmarkers_sdt/parameters/control
	put 3 /sys/module/kmarkers_test_sdt/parameters/pass
	same "SDT probes counted, as the list shows" \
		"$(grep -c "^tsdt:.*:io-start on jump 1 3 " "$debugfs"/sdt/list)" 2
	try "SDT probes are off, by control outside debugfs" \
		put "tsdt:::io-start -count" /sys/module/kmarkers_sdt/parameters/control
}

test_lockdown() {
	must load_core || return
	must insmod /modules/example_profile.ko || return
	must insmod /modules/kmarkers_test_sdt.ko || return
	try "module with events, loaded before it is tested under lockdown" insmod /modules/kmarkers_test_fields.ko
	if ! lock_down; then
		skip "lockdown" "this kernel has none"
		rmmod kmarkers_test_fields kmarkers_test_sdt example_profile
		unload_core
		return
	fi
	refused "an unsigned module" "not permitted\|Required key\|Key was rejected" insmod "$unsigned"/kmarkers_test_fields_again.ko
	test_own_records
	test_own_filters
	test_control_outside
	test_values_outside
	test_benchmarks_outside
	test_probes_outside
	try "module with SDT probes leaves, under lockdown" rmmod kmarkers_test_sdt
	try "module with values leaves, under lockdown" rmmod example_profile
	try "module with events leaves, under lockdown" rmmod kmarkers_test_fields
	try "all modules unload, under lockdown" unload_core
}
