# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Functions for tests that patch the text of the kernel itself, through kmarkers_test_core.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

core_test=/sys/kernel/debug/kmarkers_test_core
# shellcheck disable=SC2034 # for the scripts that source this
getppid=__x64_sys_getppid
# shellcheck disable=SC2034
getpid=__x64_sys_getpid
callee=__task_pid_nr_ns

# command_core WORDS...: write a command to kmarkers_test_core
command_core() {
	put "$*" "$core_test"/command
}

# ask_core WORDS...: write a command to kmarkers_test_core and print its answer
ask_core() {
	command_core "$@" && cat "$core_test"/answer
}

# read_symbols: write the symbols of the kernel itself to /tmp/symbols, once in each boot
read_symbols() {
	[ ! -s /tmp/symbols ] || return 0
	mkdir -p /tmp/addresses
	grep -v -F '[' /proc/kallsyms >/tmp/symbols
}

# address SYMBOL: print the address of a symbol of the kernel. A search takes long under an
# emulator, so the result is kept in a file, and grep searches a fixed text before sed compares the
# whole name.
address() {
	[ -e "/tmp/addresses/$1" ] ||
		grep -F " $1" /tmp/symbols | sed -n "/ $1\$/{s/ .*//p;q}" >"/tmp/addresses/$1"
	read -r found_address <"/tmp/addresses/$1" || return 0
	echo "$found_address"
}

# in_kernel SYMBOL; in_module SYMBOL MODULE: succeed if the symbol exists. This is checked before
# tests of refused requests, which would also be refused if the symbol did not exist.
in_kernel() {
	[ "$(address "$1")" ]
}

in_module() {
	grep -q " $1[[:space:]]\[$2\]" /proc/kallsyms
}

# add_hex ADDRESS NUMBER: print the sum in hexadecimal. The shell's arithmetic is signed, but the
# hexadecimal digits are the same.
add_hex() {
	printf "%x" $((0x$1 + $2))
}

# print_function_size FUNCTION: print the size of the function in bytes
print_function_size() {
	ask_core symbol "$(address "$1")" | sed 's/.*\///;s/[^0-9a-fx].*//'
}

# times_logged PATTERN: print the number of matching lines that the kernel logged during the last
# test
times_logged() {
	grep -c "$1" "$log"
}

# parent_pid: print the number that getppid(2) returns
parent_pid() {
	sh -c 'echo $PPID'
}

# find_call FUNCTION: set $call to the offset of the call of $callee in FUNCTION, and $call_addr to
# the address of that call. To find the offset, redirect the call for a moment, because the list of
# sites shows only redirected calls.
find_call() {
	command_core redirect "$1" "$callee" || return
	call=$(sed -n "s/^redirect [^ ]*+\(0x[0-9a-f]*\).*/\1/p" "$debugfs"/patcher/sites)
	command_core restore
	call_addr=$(add_hex "$(address "$1")" "$call")
}

# call_bytes: print 24 bytes of text, from 8 bytes before the call on
call_bytes() {
	ask_core bytes "$(add_hex "$call_addr" -8)" 24
}

# add_probe NAME FUNCTION OFFSET: register a disabled kprobe event
add_probe() {
	echo "p:kmarkers/$1 $2+$3" >>"$tracing"/kprobe_events
}

# enable_probe NAME; disable_probe NAME: arm or disarm the kprobe
enable_probe() {
	put 1 "$tracing/events/kmarkers/$1/enable"
}

disable_probe() {
	put 0 "$tracing/events/kmarkers/$1/enable"
}

remove_probe() {
	echo "-:kmarkers/$1" >>"$tracing"/kprobe_events
}

# probe_hits NAME: print the number of hits of the kprobe
probe_hits() {
	sed -n "s/^ *$1 *\([0-9]*\) .*/\1/p" "$tracing"/kprobe_profile
}

# calls_exceed CALLS: succeeds if the replacement function was called more than CALLS times
calls_exceed() {
	[ "$(cat "$core_test"/calls)" -gt "$1" ]
}

# check_undo_waits UNDO COMMAND...: run COMMAND, which redirects a call of getpid to a
# replacement, and run UNDO while a task is in the replacement. UNDO must not return before the task
# has left the replacement. Only an RCU Tasks grace period waits for this task, because the task is
# in no RCU read-side section.
check_undo_waits() {
	undo=$1
	shift
	before=$(cat "$core_test"/calls)
	put 2000 "$core_test"/delay_ms
	try "$*" command_core "$@"
	sh -c : &
	within 5 calls_exceed "$before"
	result $? "$1: a task is in the replacement function"
	try "$undo while a task is in the replacement function" command_core "$undo"
	same "$undo: no task is left in the replacement function" "$(cat "$core_test"/left_inside)" 0
	put 0 "$core_test"/delay_ms
	wait $!
	same "$undo: the task in the replacement function ends without an error" $? 0
}
