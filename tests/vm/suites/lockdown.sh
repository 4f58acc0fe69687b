# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# What can be done where Secure Boot has locked the kernel down: the last of all tests, since
# no module can be loaded afterwards.
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

lockdown=/sys/kernel/security/lockdown
control=/sys/module/kmarkers_markers/parameters/control

lock_down() {
	[ -e "$lockdown" ] || mount -t securityfs securityfs /sys/kernel/security
	[ -e "$lockdown" ] || return
	put integrity "$lockdown"
}

test_control_outside() {
	refused "no control in debugfs" "Operation not permitted" put "fd_request count" "$debugfs"/markers/control
	try "control outside debugfs" put "fd_* count" "$control"
	hit_fields "request 10"
	grep -q "^fd_request on " "$debugfs"/markers/list
	result $? "the list can be read"
	same "hits can be read" "$(sed -n 's/^hits //p' "$debugfs"/markers/fd_request/stats)" $((10 * cpus))
	try "counting ends" put "fd_* none" "$control"
	for word in "" "fd_request" "fd_request nothing" "fd_request  count" "fd_none count"; do
		refused "control outside debugfs refuses '$word'" "Invalid argument\|No such file" put "$word" "$control"
	done
	try "a marker on a function" put "attach vfs_write fd_function" "$control"
	put 1 "$own"/fd_function/enable
	refused "detach while its event is on" "busy" put "detach fd_function" "$control"
	put 0 "$own"/fd_function/enable
	grep -q ": fd_function: caller " "$tracing"/trace
	result $? "records of a function"
	try "no marker on the function" put "detach fd_function" "$control"
}

test_lockdown() {
	must load_core || return
	try "module with events, before lockdown" insmod /modules/kmarkers_test_fields.ko
	if ! lock_down; then
		skip "lockdown" "this kernel has none"
		rmmod kmarkers_test_fields
		unload_core
		return
	fi
	refused "an unsigned module" "not permitted\|Required key" insmod /modules/kmarkers_test_fields_again.ko
	test_own_records
	test_own_filters
	test_control_outside
	try "module with events leaves, under lockdown" rmmod kmarkers_test_fields
	try "all modules unload, under lockdown" unload_core
}
