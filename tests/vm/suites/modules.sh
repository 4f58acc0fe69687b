# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# What the modules say of themselves, and values in modules loaded before and after a change.
# The suite "cases" has loaded kmarkers_test.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# What modinfo(8) shows, which is not in a test kernel.
test_module_names() {
	for module in $core; do
		[ -s "/sys/module/$module/version" ] && [ -s "/sys/module/$module/srcversion" ]
		result $? "$module: its version and a hash of its sources are known"
	done
	for module in patcher immediate markers; do
		grep -qa "alias=$module" "/modules/kmarkers_$module.ko"
		result $? "kmarkers_$module: its short name is an alias"
	done
}

# In modules loaded before and after a change, and with a probe that waits.
test_across_modules() {
	try "value read in a second module" \
		insmod /modules/kmarkers_test_peer.ko expect=0x1122334455667788
	grep -q peer "$debugfs"/immediate/list
	result $? "the list of values names the second module"
	refused "module held by its client" "temporarily unavailable" rmmod kmarkers_test
	try "second module unloads" rmmod kmarkers_test_peer
	refused "wrong expectation is noticed" "Invalid" insmod /modules/kmarkers_test_peer.ko expect=1
	refused "imv_read in init text" "Operation not permitted" \
		insmod /modules/kmarkers_test_bad_init.ko
	logged "kmarkers_test_bad_init: imv_read() in text that is freed"
	result $? "the log says that the imv_read() is in init text"
	same "refused modules leave no sites" "$(grep -c 'bad_init\|peer' "$debugfs"/immediate/list)" 0
	grep -q test "$debugfs"/markers/list
	result $? "the list has markers of the test module"
	try "test module unloads" rmmod kmarkers_test
	lacks test "$debugfs"/markers/list
	result $? "no marker of it is left"
}

test_modules() {
	test_module_names
	test_across_modules
}
