# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Redirects and detours of functions that also have a kprobe, ftrace or a live patch.
# shellcheck source=tests/vm/lib_owners.sh
. /tests/lib_owners.sh

# redirect_getppid_call: redirect the call in getppid to a replacement that makes it return 4242
redirect_getppid_call() {
	command_core redirect "$getppid" "$callee"
}

# owner_gets_call KIND PID: succeeds if getppid returns PID and the kprobe or ftrace gets the call.
# With a live patch, which replaces the function, getppid must return 4444.
owner_gets_call() {
	case $1 in
	armed) getppid_returns "$2" && site_probe_was_hit ;;
	ftrace)
		put "" "$tracing"/trace
		getppid_returns "$2" && grep -q getppid "$tracing"/trace
		;;
	livepatch) within 20 getppid_returns 4444 >/dev/null ;;
	*) getppid_returns "$2" ;;
	esac
}

# While a kprobe is registered on the call itself, the patcher refuses to change the call.
test_owner_of_call() {
	make_owner "$1"
	result $? "$1 kprobe: it is registered on the call before the redirect"
	refused "$1 kprobe: the redirect is refused" "busy" redirect_getppid_call
	logged "refused: a kprobe"
	result $? "$1 kprobe: the log names a kprobe as the reason"
	try "$1 kprobe: it is hit as before after the refusal" owner_gets_call "$1" real
	try "$1 kprobe: it is removed" remove_owner "$1"
	same "$1 kprobe: the call has its former bytes after the refusal" "$(call_bytes)" "$bytes"

	try "$1 kprobe: the call is redirected after the kprobe is removed" redirect_getppid_call
	try "$1 kprobe: it is registered on the redirected call" make_owner "$1"
	try "$1 kprobe: it is hit on the redirected call" owner_gets_call "$1" 4242
	refused "$1 kprobe: restore of the redirected call is refused" "busy" command_core restore
	logged "refused: a kprobe"
	result $? "$1 kprobe: the log names a kprobe as the reason"
	try "$1 kprobe: the call is still redirected" getppid_returns 4242
	try "$1 kprobe: it is removed from the redirected call" remove_owner "$1"
	try "$1 kprobe: the call is still redirected after the kprobe is removed" getppid_returns 4242
	try "$1 kprobe: the call is restored after the kprobe is removed" command_core restore
	try "$1 kprobe: getppid returns the real process ID after the restore" getppid_returns real
	same "$1 kprobe: the restored call has its former bytes" "$(call_bytes)" "$bytes"
}

# ftrace or a live patch owns the entry of the function, which shares no byte with the call.
test_owner_of_entry() {
	try "$1: it is attached to the entry before the redirect" make_owner "$1"
	try "$1: it gets the call before the redirect" owner_gets_call "$1" real
	try "$1: the call is redirected" redirect_getppid_call
	try "$1: it gets the call while the call is redirected" owner_gets_call "$1" 4242
	try "$1: the call is restored" command_core restore
	same "$1: the restored call has its former bytes" "$(call_bytes)" "$bytes"
	try "$1: the call is redirected again" redirect_getppid_call
	try "$1: it is removed while the call is redirected" remove_owner "$1"
	try "$1: the call is still redirected after the removal" getppid_returns 4242
	try "$1: it is attached to the entry after the redirect" make_owner "$1"
	try "$1: it gets the call after the redirect" owner_gets_call "$1" 4242
	try "$1: it is removed a second time" remove_owner "$1"
	try "$1: the call is still redirected after the second removal" getppid_returns 4242
	try "$1: the call is restored after the second removal" command_core restore
	try "$1: getppid returns the real process ID after the restore" getppid_returns real
	same "$1: the call restored after the second removal has its former bytes" "$(call_bytes)" "$bytes"
}

# toggle_owner KIND FILE: make and remove an owner repeatedly until FILE is removed
toggle_owner() {
	while [ -e "$2" ]; do
		make_owner "$1"
		getppid_returns real >/dev/null
		remove_owner "$1"
		sleep 0.05
	done 2>/dev/null
}

# The call is redirected and restored while an owner is added and removed repeatedly: a request may
# fail, but only with the errors that redirect.h documents.
test_redirect_beside_owner() {
	: >/tmp/during
	toggle_owner "$1" /tmp/during >/dev/null &
	changed=0
	odd=0
	for _ in $(seq 40); do
		if said=$( (redirect_getppid_call) 2>&1); then
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
	echo "# $changed of 40 redirects were made"
	[ $odd -eq 0 ] && [ $changed -gt 0 ]
	result $? "$1 is added and removed repeatedly: redirects succeed or fail with a documented error"
	try "$1 is added and removed repeatedly: getppid returns the real process ID afterwards" getppid_returns real
	same "$1 is added and removed repeatedly: the call has its former bytes afterwards" "$(call_bytes)" "$bytes"
}

# A detour of the patcher is an ftrace client that changes the instruction pointer, like a live
# patch. ftrace allows only one such client for a function.
test_detour_owners() {
	make_owner ftrace
	try "a function that is traced gets a detour" command_core detour "$getppid"
	try "the detour is called while the function is traced" getppid_returns 4343
	remove_owner ftrace
	try "the detour is called after tracing has ended" getppid_returns 4343
	if has_livepatch; then
		refused "a live patch of a function with a detour is refused" "busy" insmod /modules/kmarkers_test_livepatch.ko
		dmesg -c | grep -v "livepatch:" >/dev/null
		try "the detour is removed" command_core undetour
		try "a live patch of the function without a detour is applied" make_owner livepatch
		refused "a detour of a function with a live patch is refused" "busy" command_core detour "$getppid"
		try "the live patch is removed" remove_owner livepatch
	else
		try "the detour is removed" command_core undetour
	fi
	try "getppid returns the real process ID without a detour" getppid_returns real
}

test_owners() {
	must insmod /modules/kmarkers_test_core.ko || return
	read_symbols
	try "the call in getppid is found" find_call "$getppid"
	bytes=$(call_bytes)
	for owner in disabled armed; do
		test_owner_of_call $owner
		test_redirect_beside_owner $owner
	done
	owners=ftrace
	if has_livepatch; then
		owners="ftrace livepatch"
	else
		skip "a live patch on the function of a redirected call" "this kernel has none"
	fi
	for owner in $owners; do
		test_owner_of_entry "$owner"
		test_redirect_beside_owner "$owner"
	done
	test_detour_owners
	rmmod kmarkers_test_core
}
