# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Modules that are in MODULE_STATE_GOING: the files of their parameters are still there, and what
# sets them hits markers. Another module has the same markers, so that their names stay.
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

going=/sys/module/kmarkers_test_going/parameters
leaver=/sys/module/kmarkers_test_fields/parameters

is_held() {
	[ "$(cat "$going"/held)" = Y ]
}

# let_go: let the held module unload, and wait until the process that loads or unloads it has ended
let_go() {
	put "" "$going"/hold
	wait
}

# evaluated: print how often the module that unloads evaluated the argument of a marker
evaluated() {
	cat "$leaver"/evaluated
}

# hits_nothing WHO: passes if writes to the parameter of the held module cause no hits
hits_nothing() {
	recorded "no record of a hit in $1" fd_request "request 10" 0
	recorded "no record of a hit of a typed marker in $1" fd_typed "typed 10" 0
	before=$(evaluated)
	hit_fields "counted 10"
	same "no argument of a marker is evaluated in $1" "$(evaluated)" "$before"
	lacks "kmarkers_test_fields " "$debugfs"/markers/list
	result $? "the list has no marker of $1"
}

test_going_unload() {
	must insmod /modules/kmarkers_test_fields.ko || return
	for event in fd_request fd_typed fd_counted; do
		put 1 "$own/$event/enable"
	done
	recorded "a record of each hit before the module leaves" fd_request "request 10" $((10 * cpus))
	put kmarkers_test_fields "$going"/hold
	rmmod kmarkers_test_fields &
	try "a module leaves with its events on" within 10 is_held
	hits_nothing "a module that leaves"
	let_go
	try "the module that was kept has left" lacks "^kmarkers_test_fields " /proc/modules
}

test_going_failed() {
	put kmarkers_test_fields "$going"/hold
	insmod /modules/kmarkers_test_fields.ko fail=1 2>/dev/null &
	try "the init of a module fails" within 10 is_held
	hits_nothing "a module whose init has failed"
	let_go
	try "the module whose init has failed is not there" lacks "^kmarkers_test_fields " /proc/modules
}

# site_of FUNCTION: print the place of its marker's site in the syntax of kprobe_events
site_of() {
	sed -n "s:^immediate \($1+0x[0-9a-f]*\)/.*\[kmarkers_test_fields\].*:kmarkers_test_fields\:\1:p" \
		"$debugfs"/patcher/sites | head -n 1
}

# A site with a kprobe cannot be switched off; all other sites are switched off.
test_going_kprobe() {
	must insmod /modules/kmarkers_test_fields.ko || return
	if ! put "p:going $(site_of hit_request)" "$tracing"/kprobe_events 2>/dev/null; then
		skip "a module leaves with a kprobe on a site" "this kernel puts no kprobe event there"
		rmmod kmarkers_test_fields
		return
	fi
	put 1 "$tracing"/events/kprobes/going/enable
	recorded "a record of each hit at a site with a kprobe" fd_request "request 10" $((10 * cpus))
	put kmarkers_test_fields "$going"/hold
	rmmod kmarkers_test_fields &
	try "a module leaves with a kprobe on a site" within 10 is_held
	hits_nothing "a module with a kprobe"
	let_go
	try "the module with the kprobe has left" lacks "^kmarkers_test_fields " /proc/modules
	put 0 "$tracing"/events/kprobes/going/enable
	put "" "$tracing"/kprobe_events
}

test_going() {
	must insmod /modules/kmarkers_test_going.ko || return
	must insmod /modules/kmarkers_test_fields_again.ko || return
	same "every parameter has its operations in its own module or in the kernel" \
		"$(cat "$going"/foreign_ops)" 0
	test_going_unload
	test_going_failed
	test_going_kprobe
	again=_again
	recorded "a record of each hit in the module that stayed" fd_request "request 10" $((10 * cpus))
	again=
	put 0 "$own"/enable
	try "the module that stayed leaves" rmmod kmarkers_test_fields_again
	rmmod kmarkers_test_going
}
