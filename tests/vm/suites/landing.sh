# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Kprobes near the targets of our jumps. The kernel optimises a kprobe by a jump of 5 bytes if it
# sees no jump into these bytes. It cannot see a jump of ours that is off. Once switched on, that
# jump would land in the middle of the 5 bytes.
# shellcheck source=tests/vm/lib_core.sh
. /tests/lib_core.sh

landing=/sys/module/kmarkers_test_landing/parameters
lander=kmarkers_test_landing
kprobe_list=/sys/kernel/debug/kprobes/list
off_value=43
on_value=36

# landing_site KIND: print the offset of its site in its function
landing_site() {
	sed -n "s/^[a-z]* landing_$1+\(0x[0-9a-f]*\)\/.*/\1/p" "$debugfs"/patcher/sites
}

# target_of KIND: print the offset of the target of its jump. The last bytes of a branch that is off
# are its distance.
target_of() {
	site=$(landing_site "$1")
	if [ "$1" = branch ]; then
		# shellcheck disable=SC2046 # each byte is a word
		set -- $(sed -n "s/^immediate landing_branch+.*\[$lander\] //p" "$debugfs"/patcher/sites)
		echo $((site + 7 + 0x$4 + (0x$5 << 8)))
	else
		echo $((site + 8))
	fi
}

# probe_before KIND TARGET: register a disabled kprobe on the last instruction before the target
probe_before() {
	for before in 1 2 3 4; do
		probed=landing_$1+$(printf "0x%x" $(($2 - before)))
		add_probe land "$lander:landing_$1" $(($2 - before)) 2>/dev/null || continue
		listed
		return
	done
	echo "# no instruction of less than 5 bytes before landing_$1+$2"
	return 1
}

# flagged FLAG ADDRESS: succeeds if a kprobe at the address has the flag
flagged() {
	grep "$2 .*\[$1\]" "$kprobe_list" >/dev/null
}

listed() {
	grep "$probed " "$kprobe_list" >/dev/null
}

optimised() {
	flagged OPTIMIZED "$probed"
}

# not_optimised: succeeds if there is a kprobe, and it is not optimised
not_optimised() {
	listed && ! optimised
}

# module_has_kprobe: succeeds if a kprobe is in the module, which has not left
module_has_kprobe() {
	grep "landing" "$kprobe_list" | grep -v GONE >/dev/null
}

# optimiser_has_run: register another kprobe and wait until it is optimised. The kernel optimises
# all kprobes that wait for it together.
optimiser_has_run() {
	add_probe control "$lander:landing_plain" "$plain" && enable_probe control &&
		within 20 flagged OPTIMIZED "landing_plain+0x[0-9a-f]*"
	code=$?
	disable_probe control
	remove_probe control
	return "$code"
}

# stays_plain NAME KIND: passes if the kprobe is not optimised and is hit, and the jump of the site,
# which is on, works
stays_plain() {
	try "$1: another kprobe is optimised" optimiser_has_run
	not_optimised
	result $? "$1: the kprobe before the target is not optimised"
	same "$1: value when on" "$(cat "$landing/$2")" "$on_value"
	try "$1: the site is switched off" put 0 "$landing/$2"
	same "$1: value when off" "$(cat "$landing/$2")" "$off_value"
	old=$(probe_hits land)
	cat "$landing/$2" >/dev/null
	[ "$(probe_hits land)" -gt "${old:-0}" ]
	result $? "$1: the kprobe is hit"
}

drop_probe() {
	disable_probe land
	remove_probe land
}

test_landing_on_optimised() {
	target=$(target_of "$1")
	same "$1: value without a kprobe" "$(cat "$landing/$1")" "$off_value"
	try "$1: a kprobe is registered before the target" probe_before "$1" "$target"
	try "$1: the kprobe is enabled" enable_probe land
	try "$1: the kernel optimises the kprobe" within 20 optimised
	same "$1: value with an optimised kprobe" "$(cat "$landing/$1")" "$off_value"
	try "$1: the site is switched on" put 1 "$landing/$1"
	not_optimised
	result $? "$1: the kprobe is no longer optimised once the site is on"
	dmesg -c >/dev/null
	stays_plain "$1" "$1"
	try "$1: the kernel optimises the kprobe again once the site is off" within 20 optimised
	same "$1: value when off and optimised again" "$(cat "$landing/$1")" "$off_value"
	try "$1: the site is switched on again" put 1 "$landing/$1"
	same "$1: value when on again" "$(cat "$landing/$1")" "$on_value"
	try "$1: the kprobe is removed while the site is on" drop_probe
	same "$1: value after the kprobe is removed" "$(cat "$landing/$1")" "$on_value"
	try "$1: the site is switched off after the kprobe is removed" put 0 "$landing/$1"
	lacks "landing_$1" "$kprobe_list"
	result $? "$1: no kprobe is left in the function"
}

# A batch is refused after kprobes were unoptimised for it: the kernel may optimise them again.
test_landing_refused() {
	target=$(target_of jump)
	try "refused: a kprobe is registered" probe_before jump "$target"
	try "refused: the kprobe is enabled" enable_probe land
	try "refused: the kprobe is optimised" within 20 optimised
	dmesg -c >/dev/null
	refused "refused: a batch that expects other bytes" "" put 1 "$landing/refused"
	logged "is not optimised: landing_jump"
	result $? "refused: the kprobe made way for it"
	try "refused: the kprobe is optimised again" within 20 optimised
	same "refused: value" "$(cat "$landing/jump")" "$off_value"
	try "refused: the kprobe is removed" drop_probe
}

# Kprobes that are not optimised yet when the branch is switched on: the kernel would do it later.
test_landing_on_waiting() {
	target=$(target_of branch)
	try "enabled later: a disabled kprobe is registered" probe_before branch "$target"
	try "enabled later: the branch is switched on" put 1 "$landing/branch"
	flagged DISABLED "$probed"
	result $? "enabled later: the kprobe is still disabled"
	try "enabled later: the kprobe is enabled" enable_probe land
	stays_plain "enabled later" branch
	drop_probe

	try "allowed later: optimisation is switched off" put 0 /proc/sys/debug/kprobes-optimization
	try "allowed later: a kprobe is registered" probe_before branch "$target"
	try "allowed later: the kprobe is enabled" enable_probe land
	try "allowed later: the branch is switched on" put 1 "$landing/branch"
	try "allowed later: optimisation is switched on" put 1 /proc/sys/debug/kprobes-optimization
	dmesg -c >/dev/null
	stays_plain "allowed later" branch
	drop_probe

	try "waiting: a kprobe is registered" probe_before branch "$target"
	enable_probe land && put 1 "$landing/branch"
	result $? "waiting: the branch is switched on while the kprobe waits to be optimised"
	stays_plain "waiting" branch
	drop_probe
}

# A kprobe that is registered while the branch is on: the kernel sees the jump. Then a kprobe that
# is registered at the address of a guard kprobe, the patcher's own kprobe: the kernel optimises no
# kprobe at the address of a guard kprobe.
test_landing_first() {
	target=$(target_of branch)
	try "branch first: the branch is switched on" put 1 "$landing/branch"
	try "branch first: a kprobe is registered" probe_before branch "$target"
	try "branch first: the kprobe is enabled" enable_probe land
	stays_plain "branch first" branch
	drop_probe
	try "second kprobe: a first one is registered" probe_before branch "$target"
	try "second kprobe: the first one is enabled" enable_probe land
	try "second kprobe: the first one is optimised" within 20 optimised
	try "second kprobe: the branch is switched on" put 1 "$landing/branch"
	try "second kprobe: the first one is removed" drop_probe
	try "second kprobe: it is registered" probe_before branch "$target"
	try "second kprobe: it is enabled" enable_probe land
	stays_plain "second kprobe" branch
	try "second kprobe: it is optimised once the branch is off" within 20 optimised
	try "second kprobe: the branch is switched on again" put 1 "$landing/branch"
	try "the list of kprobes shows one in the module" module_has_kprobe
	try "the module of the kprobe leaves" rmmod "$lander"
	! module_has_kprobe
	result $? "no kprobe is left in the module that left"
	drop_probe
}

# load_lander_at ADDRESS: load the module until it is at the address, at most 20 times
load_lander_at() {
	for _ in $(seq 20); do
		insmod "/modules/$lander.ko" || return
		[ "$(lander_at)" = "$1" ] && return
		rmmod "$lander"
	done
	return 1
}

lander_at() {
	sed -n 's/ t landing_branch\t.*//p' /proc/kallsyms
}

# A module unloads, and with it the guard that kept a kprobe from being optimised. When the module
# is loaded at the same address again, the kernel registers the kprobe anew, and the branch must
# keep it from being optimised again.
test_landing_again() {
	must insmod /modules/"$lander".ko || return
	target=$(target_of branch)
	at=$(lander_at)
	try "module again: a kprobe is registered" probe_before branch "$target"
	try "module again: the kprobe is enabled" enable_probe land
	try "module again: the kprobe is optimised" within 20 optimised
	try "module again: the branch is switched on" put 1 "$landing/branch"
	not_optimised
	result $? "module again: the kprobe is no longer optimised once the branch is on"
	try "module again: the module leaves" rmmod "$lander"
	grep -q GONE "$kprobe_list"
	result $? "the kprobes of a module that left are marked as gone"
	try "module again: it is loaded at the same address" load_lander_at "$at"
	same "module again: its branch is off" "$(cat "$landing/branch")" "$off_value"
	try "module again: the kprobe is optimised in it" within 20 optimised
	try "module again: its branch is switched on" put 1 "$landing/branch"
	not_optimised
	result $? "module again: the kprobe is no longer optimised once its branch is on"
	dmesg -c >/dev/null
	stays_plain "module again" branch
	try "module again: the kprobe is optimised once its branch is off" within 20 optimised
	try "module again: it leaves a second time" rmmod "$lander"
	drop_probe
	lacks GONE "$kprobe_list"
	result $? "no kprobe is marked as gone once it is removed"
}

test_landing() {
	put 1 /proc/sys/debug/kprobes-optimization
	dmesg -c >/dev/null
	must insmod /modules/"$lander".ko || return
	# After ftrace's instructions, an instruction that copies a register or adds begins at one
	# of these offsets.
	plain=
	for offset in 5 6 7 8 9 10 11 12 13 14; do
		add_probe control "$lander:landing_plain" $offset 2>/dev/null || continue
		remove_probe control
		plain=$offset
		break
	done
	for kind in branch jump run; do
		test_landing_on_optimised $kind
	done
	test_landing_refused
	test_landing_on_waiting
	test_landing_first
	test_landing_again
}
