# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Versions and aliases of the modules, and values in modules loaded before and after a change.
# The suite "cases" has loaded kmarkers_test.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# Test kernels lack modinfo(8), so this reads what modinfo would read.
test_module_names() {
	for module in $core; do
		[ -s "/sys/module/$module/version" ] && [ -s "/sys/module/$module/srcversion" ]
		result $? "$module has a version and a hash of its sources"
	done
	for module in patcher immediate markers sdt entry; do
		grep -qa "alias=$module" "/modules/kmarkers_$module.ko"
		result $? "kmarkers_$module has its short name as an alias"
	done
}

# A second module reads a value that the first one has changed.
test_across_modules() {
	try "second module loads and reads the value that the first one set" \
		insmod /modules/kmarkers_test_peer.ko expect=0x1122334455667788
	grep -q kmarkers_test_peer "$debugfs"/immediate/list
	result $? "the list of values names the second module"
	refused "first module cannot unload before the second one" "temporarily unavailable" rmmod kmarkers_test
	try "second module unloads" rmmod kmarkers_test_peer
	refused "second module does not load if it expects another value" "Invalid" insmod /modules/kmarkers_test_peer.ko expect=1
	refused "module with imv_read() in init text does not load" "Operation not permitted" \
		insmod /modules/kmarkers_test_bad_init.ko
	# clang calls an init function init_module.
	logged "kmarkers_test_bad_init: imv_read() of value is in \(bad_init\|init_module\) .* use _imv_read()"
	result $? "the log names the value in init text and the remedy"
	refused "module with markers in init text does not load" "Operation not permitted" \
		insmod /modules/kmarkers_test_init_mark.ko
	logged "marker test_in_init (tests/kernel/init_mark.c:[0-9]*, init_mark_init) is in \(init_mark_init\|init_module\) .* use _trace_mark()" &&
		logged "marker test_inlined_into_init (tests/kernel/init_mark.c:[0-9]*, set_up) is in \(init_mark_init\|init_module\) " &&
		! logged "marker test_allowed_in_init"
	result $? "the log names both markers in init text and the remedy"
	lacks test_in_init "$debugfs"/markers/list
	result $? "the module that was refused leaves no marker"
	same "modules that do not load leave no sites" "$(grep -c 'kmarkers_test_bad_init\|kmarkers_test_peer' "$debugfs"/immediate/list)" 0
	grep -q test "$debugfs"/markers/list
	result $? "the list has markers of the test module"
	try "test module unloads" rmmod kmarkers_test
	lacks test "$debugfs"/markers/list
	result $? "test module leaves no marker"
}

test_modules() {
	test_module_names
	test_across_modules
}
