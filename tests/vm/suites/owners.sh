# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Changes of text that others own: kprobes, ftrace, live patches.
# shellcheck source=tests/vm/lib_owners.sh
. /tests/lib_owners.sh

redirect() {
	command_core redirect "$getppid" "$callee"
}

# owner_sees KIND: does it work while the call is as it is?
owner_sees() {
	case $1 in
	armed) pid_is "$2" && new_hits ;;
	ftrace)
		put "" "$tracing"/trace
		pid_is "$2" && grep -q getppid "$tracing"/trace
		;;
	livepatch) within 20 pid_is 4444 >/dev/null ;;
	*) pid_is "$2" ;;
	esac
}

# An owner of the call itself keeps us out as long as it is there.
test_owner_of_call() {
	make_owner "$1"
	result $? "$1 kprobe before"
	refused "$1 kprobe: redirect refused" "busy" redirect
	logged "refused: a kprobe"
	result $? "$1 kprobe: the log names a kprobe as the reason"
	try "$1 kprobe works" owner_sees "$1" real
	try "$1 kprobe goes" remove_owner "$1"
	same "$1 kprobe: bytes as before" "$(call_bytes)" "$bytes"

	try "redirect before $1 kprobe" redirect
	try "$1 kprobe after" make_owner "$1"
	try "$1 kprobe works on the redirected call" owner_sees "$1" 4242
	refused "$1 kprobe: restore refused" "busy" command_core restore
	logged "refused: a kprobe"
	result $? "$1 kprobe: the log names a kprobe as the reason"
	try "$1 kprobe: the call is still redirected" pid_is 4242
	try "$1 kprobe goes" remove_owner "$1"
	try "$1 kprobe gone: the call is still redirected" pid_is 4242
	try "restore after $1 kprobe" command_core restore
	try "the real call" pid_is real
	same "$1 kprobe: bytes as before" "$(call_bytes)" "$bytes"
}

# An owner of the function's entry and we do not meet.
test_owner_of_entry() {
	try "$1 before" make_owner "$1"
	try "$1 works" owner_sees "$1" real
	try "$1: redirect" redirect
	try "$1 works on" owner_sees "$1" 4242
	try "$1: restore" command_core restore
	same "$1: bytes as before" "$(call_bytes)" "$bytes"
	try "redirect again" redirect
	try "$1 goes during" remove_owner "$1"
	try "$1: redirected" pid_is 4242
	try "$1 after" make_owner "$1"
	try "$1 works" owner_sees "$1" 4242
	try "$1 goes" remove_owner "$1"
	try "$1: redirected" pid_is 4242
	try "restore" command_core restore
	try "the real call" pid_is real
	same "$1: bytes as before" "$(call_bytes)" "$bytes"
}

# come_and_go KIND FILE: until FILE is gone; there for a while, and not there for a while
come_and_go() {
	while [ -e "$2" ]; do
		make_owner "$1"
		pid_is real >/dev/null
		remove_owner "$1"
		sleep 0.05
	done 2>/dev/null
}

# Both at it all the time: any order is possible; only the refusals that are documented are.
test_during() {
	: >/tmp/during
	come_and_go "$1" /tmp/during >/dev/null &
	changed=0
	odd=0
	for _ in $(seq 40); do
		if said=$( (redirect) 2>&1); then
			changed=$((changed + 1))
			until said=$( (command_core restore) 2>&1); do
				case $said in
				*busy* | *"Illegal byte"* | *"Invalid or incomplete"*) ;;
				*)
					odd=$((odd + 1))
					echo "# restore: $said"
					;;
				esac
			done
		else
			case $said in
			*busy* | *"Illegal byte"* | *"Invalid or incomplete"*) ;;
			*)
				odd=$((odd + 1))
				echo "# redirect: $said"
				;;
			esac
		fi
	done
	rm /tmp/during
	wait
	echo "# $changed of 40 changes made"
	[ $odd -eq 0 ] && [ $changed -gt 0 ]
	result $? "$1 comes and goes during changes"
	try "the real call" pid_is real
	same "bytes as before" "$(call_bytes)" "$bytes"
}

# A detour is one of ftrace's own clients, and like a live patch the only one of its kind.
test_detour_owners() {
	make_owner ftrace
	try "detour of a traced function" command_core detour "$getppid"
	try "the detour" pid_is 4343
	remove_owner ftrace
	try "the detour" pid_is 4343
	if has_livepatch; then
		refused "live patch of a detour" "busy" insmod /modules/kmarkers_test_livepatch.ko
		dmesg -c | grep -v "livepatch:" >/dev/null
		try "undetour" command_core undetour
		try "live patch" make_owner livepatch
		refused "detour of a live patch" "busy" command_core detour "$getppid"
		try "live patch goes" remove_owner livepatch
	else
		try "undetour" command_core undetour
	fi
	try "the real function" pid_is real
}

test_owners() {
	must insmod /modules/kmarkers_test_core.ko || return
	read_symbols
	try "a call to redirect" find_call "$getppid"
	bytes=$(call_bytes)
	for owner in disabled armed; do
		test_owner_of_call $owner
		test_during $owner
	done
	owners=ftrace
	if has_livepatch; then
		owners="ftrace livepatch"
	else
		skip "live patch" "this kernel has none"
	fi
	for owner in $owners; do
		test_owner_of_entry "$owner"
		test_during "$owner"
	done
	test_detour_owners
	rmmod kmarkers_test_core
}
