# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Versions and aliases of the modules; and immediate values, whose readers in other modules see
# changes. The suite "cases" has loaded kmarkers_test.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# Test kernels lack modinfo(8), so the data that modinfo prints is read from sysfs and the module
# file.
test_module_names() {
	for module in $core; do
		[ -s "/sys/module/$module/version" ] && [ -s "/sys/module/$module/srcversion" ]
		result $? "$module has a version and a hash of its sources"
	done
	for module in patcher events immediate markers sdt entry; do
		grep -qa "alias=$module" "/modules/kmarkers_$module.ko"
		result $? "kmarkers_$module has its short name as an alias"
	done
}

# A second module reads a value that the first module defines and has changed.
test_across_modules() {
	try "a second module loads and reads the value that kmarkers_test set" \
		insmod /modules/kmarkers_test_peer.ko expect=0x1122334455667788
	grep -q kmarkers_test_peer "$debugfs"/immediate/list
	result $? "the list of values names the second module"
	refused "kmarkers_test cannot be unloaded before the second module" "temporarily unavailable" rmmod kmarkers_test
	try "the second module unloads" rmmod kmarkers_test_peer
	refused "the second module does not load if it expects another value" "Invalid" insmod /modules/kmarkers_test_peer.ko expect=1
	refused "a module with imv_read() in init text does not load" "Operation not permitted" \
		insmod /modules/kmarkers_test_bad_init.ko
	# With clang the symbol of an init function is init_module.
	# "[ ]" is one blank. It separates words that are not a literal text of the sources, so that
	# test_log_patterns.py does not search for them.
	logged "kmarkers_test_bad_init: imv_read()[ ]of value is in \(bad_init\|init_module\) .* use _imv_read()" &&
		logged "kmarkers_test_bad_init: comparison[ ]with value is in \(bad_init\|init_module\) .* use _imv_read()"
	result $? "the log names the value in init text and the remedy"
	refused "a module with markers in init text does not load" "Operation not permitted" \
		insmod /modules/kmarkers_test_init_mark.ko
	logged "marker test_in_init (tests/kernel/init_mark.c:[0-9]*, init_mark_init) is in \(init_mark_init\|init_module\) .* use _trace_mark()" &&
		logged "marker test_inlined_into_init (tests/kernel/init_mark.c:[0-9]*, set_up) is in \(init_mark_init\|init_module\) " &&
		! logged "marker test_allowed_in_init"
	result $? "the log names both markers in init text and the remedy"
	lacks test_in_init "$debugfs"/markers/list
	result $? "the module that was refused leaves no marker"
	same "modules that were refused or unloaded leave no sites" "$(grep -c 'kmarkers_test_bad_init\|kmarkers_test_peer' "$debugfs"/immediate/list)" 0
	grep -q test "$debugfs"/markers/list
	result $? "the list has markers of kmarkers_test"
	try "kmarkers_test unloads" rmmod kmarkers_test
	lacks test "$debugfs"/markers/list
	result $? "kmarkers_test leaves no marker"
}

test_modules() {
	test_module_names
	test_across_modules
}
