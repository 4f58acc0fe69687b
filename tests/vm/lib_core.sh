# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# For tests of core text: the commands of kmarkers_test_core, symbols, other owners of text.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

core_test=/sys/kernel/debug/kmarkers_test_core
# shellcheck disable=SC2034 # for the scripts that source this
getppid=__x64_sys_getppid
# shellcheck disable=SC2034
getpid=__x64_sys_getpid
callee=__task_pid_nr_ns

# command_core WORDS...
command_core() {
	put "$*" "$core_test"/command
}

# ask WORDS...: a command, and what it found out
ask() {
	command_core "$@" && cat "$core_test"/answer
}

read_symbols() {
	grep -v '\[' /proc/kallsyms >/tmp/symbols
}

# address SYMBOL
address() {
	sed -n "/ $1\$/{s/ .*//p;q}" /tmp/symbols
}

# in_kernel SYMBOL; in_module SYMBOL MODULE: what is refused proves nothing if it is not there
in_kernel() {
	[ "$(address "$1")" ]
}

in_module() {
	grep -q " $1[[:space:]]\[$2\]" /proc/kallsyms
}

# add ADDRESS NUMBER: shells have signed numbers, which print right in hexadecimal
add() {
	printf "%x" $((0x$1 + $2))
}

# extent FUNCTION: its size
extent() {
	ask symbol "$(address "$1")" | sed 's/.*\///;s/[^0-9a-fx].*//'
}

# times_logged PATTERN: how often the kernel said that during the last test
times_logged() {
	grep -c "$1" "$log"
}

# parent_pid: what getppid returns
parent_pid() {
	sh -c 'echo $PPID'
}

# find_call FUNCTION: the offset of its call, from the list of sites while it is redirected.
find_call() {
	command_core redirect "$1" "$callee" || return
	call=$(sed -n "s/^redirect [^ ]*+\(0x[0-9a-f]*\).*/\1/p" "$debugfs"/patcher/sites)
	command_core restore
	call_addr=$(add "$(address "$1")" "$call")
}

# call_bytes: the instruction and what is around it
call_bytes() {
	ask bytes "$(add "$call_addr" -8)" 24
}

# add_probe NAME FUNCTION OFFSET: a kprobe, registered and disabled
add_probe() {
	echo "p:kmarkers/$1 $2+$3" >>"$tracing"/kprobe_events
}

# enable_probe NAME; disable_probe NAME
enable_probe() {
	put 1 "$tracing/events/kmarkers/$1/enable"
}

disable_probe() {
	put 0 "$tracing/events/kmarkers/$1/enable"
}

remove_probe() {
	echo "-:kmarkers/$1" >>"$tracing"/kprobe_events
}

# probe_hits NAME
probe_hits() {
	sed -n "s/^ *$1 *\([0-9]*\) .*/\1/p" "$tracing"/kprobe_profile
}

# called_since CALLS: was the replacement called more often?
called_since() {
	[ "$(cat "$core_test"/calls)" -gt "$1" ]
}

# stays_until_drained UNDO COMMAND...: nobody is left in the replacement, though nothing but a
# grace period of RCU tasks waits for who is: getpid makes its call outside of RCU's sections
stays_until_drained() {
	undo=$1
	shift
	before=$(cat "$core_test"/calls)
	put 2000 "$core_test"/delay_ms
	try "$*" command_core "$@"
	sh -c : &
	within 5 called_since "$before"
	result $? "$1: a task is in the replacement"
	try "$undo while it is" command_core "$undo"
	same "$undo: nobody was left inside" "$(cat "$core_test"/left_inside)" 0
	put 0 "$core_test"/delay_ms
	wait $!
	same "$undo: the task came through" $? 0
}
