# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Modules in MODULE_STATE_GOING. Their parameters can still be written, and the functions that set
# these parameters hit markers, which must be off. Another module has markers of the same names, so
# that the names are not removed.
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

going=/sys/module/kmarkers_test_going/parameters
leaver=/sys/module/kmarkers_test_fields/parameters

# is_held: succeeds if kmarkers_test_going keeps a module from being freed in MODULE_STATE_GOING
is_held() {
	[ "$(cat "$going"/held)" = Y ]
}

# release_held_module: release the module that is held, and wait until the process that loads or
# unloads it has ended
release_held_module() {
	put "" "$going"/hold
	wait
}

# count_evaluations: print how many times the arguments of markers were evaluated
count_evaluations() {
	cat "$leaver"/evaluated
}

# expect_no_hits WHO: tests that writes to the parameter of the held module hit no marker
expect_no_hits() {
	expect_records "a hit of a marker has no record in $1" fd_request "request 10" 0
	expect_records "a hit of a typed marker has no record in $1" fd_typed "typed 10" 0
	before=$(count_evaluations)
	hit_fields "counted 10"
	same "no argument of a marker is evaluated in $1" "$(count_evaluations)" "$before"
	lacks "kmarkers_test_fields " "$debugfs"/markers/list
	result $? "the list has no marker of $1"
}

test_going_unload() {
	must insmod /modules/kmarkers_test_fields.ko || return
	for event in fd_request fd_typed fd_counted; do
		put 1 "$own/$event/enable"
	done
	expect_records "each hit has a record before the module unloads" fd_request "request 10" $((10 * cpus))
	put kmarkers_test_fields "$going"/hold
	rmmod kmarkers_test_fields &
	try "a module whose events are enabled is held while it unloads" within 10 is_held
	expect_no_hits "a module that unloads"
	release_held_module
	try "the module that was held is unloaded" lacks "^kmarkers_test_fields " /proc/modules
}

test_going_failed() {
	put kmarkers_test_fields "$going"/hold
	insmod /modules/kmarkers_test_fields.ko fail=1 2>/dev/null &
	try "a module is held after its init function failed" within 10 is_held
	expect_no_hits "a module whose init has failed"
	release_held_module
	try "the module whose init has failed is not loaded" lacks "^kmarkers_test_fields " /proc/modules
}

# print_site FUNCTION: print the location of the marker's site in the function, in the syntax of
# kprobe_events
print_site() {
	sed -n "s:^immediate \($1+0x[0-9a-f]*\)/.*\[kmarkers_test_fields\].*:kmarkers_test_fields\:\1:p" \
		"$debugfs"/patcher/sites | head -n 1
}

# A site with a kprobe cannot be switched off when its module unloads; all other sites are switched
# off.
test_going_kprobe() {
	must insmod /modules/kmarkers_test_fields.ko || return
	if ! put "p:going $(print_site hit_request)" "$tracing"/kprobe_events 2>/dev/null; then
		skip "a module with a kprobe on a site is held while it unloads" "this kernel puts no kprobe event there"
		rmmod kmarkers_test_fields
		return
	fi
	put 1 "$tracing"/events/kprobes/going/enable
	expect_records "each hit at a site with a kprobe has a record" fd_request "request 10" $((10 * cpus))
	put kmarkers_test_fields "$going"/hold
	rmmod kmarkers_test_fields &
	try "a module with a kprobe on a site is held while it unloads" within 10 is_held
	expect_no_hits "a module with a kprobe"
	release_held_module
	try "the module with the kprobe is unloaded" lacks "^kmarkers_test_fields " /proc/modules
	put 0 "$tracing"/events/kprobes/going/enable
	put "" "$tracing"/kprobe_events
}

test_going() {
	must insmod /modules/kmarkers_test_going.ko || return
	must insmod /modules/kmarkers_test_fields_again.ko || return
	same "the operations of every parameter are in its module or in the kernel" \
		"$(cat "$going"/foreign_ops)" 0
	test_going_unload
	test_going_failed
	test_going_kprobe
	again=_again
	expect_records "each hit in the module that stayed loaded has a record" fd_request "request 10" $((10 * cpus))
	again=
	put 0 "$own"/enable
	try "the module that stayed loaded unloads" rmmod kmarkers_test_fields_again
	rmmod kmarkers_test_going
}
