# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Kprobes where jumps land that are switched on: the kernel makes a jump of 5 bytes of a kprobe
# where it sees nobody jump to, and what we switch on lands in the middle of it.
# shellcheck source=tests/vm/lib_core.sh
. /tests/lib_core.sh

landing=/sys/module/kmarkers_test_landing/parameters
lander=kmarkers_test_landing
kprobe_list=/sys/kernel/debug/kprobes/list
off_value=43
on_value=36

# landing_site KIND: offset of its site in its function
landing_site() {
	sed -n "s/^[a-z]* landing_$1+\(0x[0-9a-f]*\)\/.*/\1/p" "$debugfs"/patcher/sites
}

# target_of KIND: offset of where its jump lands; the last bytes of a branch that is off are the distance
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

# probe_before KIND TARGET: a kprobe, disabled and listed, on the last instruction before the target
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

# flagged FLAG ADDRESS: does the kernel say so of the kprobes there?
flagged() {
	grep "$2 .*\[$1\]" "$kprobe_list" >/dev/null
}

listed() {
	grep "$probed " "$kprobe_list" >/dev/null
}

optimised() {
	flagged OPTIMIZED "$probed"
}

# There is a kprobe at the address, and it is not optimised.
not_optimised() {
	listed && ! optimised
}

# There is a kprobe in the module, and the module has not left.
module_has_kprobe() {
	grep "landing" "$kprobe_list" | grep -v GONE >/dev/null
}

# What the kernel would optimise by now, it has: it takes all that wait in one go.
optimiser_has_run() {
	add_probe control "$lander:landing_plain" "$plain" && enable_probe control &&
		within 20 flagged OPTIMIZED "landing_plain+0x[0-9a-f]*"
	code=$?
	disable_probe control
	remove_probe control
	return "$code"
}

# stays_plain NAME KIND: it is not optimised, the jump works, and so does the kprobe
stays_plain() {
	try "$1: what waits is optimised" optimiser_has_run
	not_optimised
	result $? "$1: the kprobe is not"
	same "$1: value" "$(cat "$landing/$2")" "$on_value"
	try "$1: the branch lands behind the kprobe" put 0 "$landing/$2"
	same "$1: value when off" "$(cat "$landing/$2")" "$off_value"
	old=$(probe_hits land)
	cat "$landing/$2" >/dev/null
	[ "$(probe_hits land)" -gt "${old:-0}" ]
	result $? "$1: the kprobe works"
}

drop_probe() {
	disable_probe land
	remove_probe land
}

test_landing_on_optimised() {
	target=$(target_of "$1")
	same "$1: value" "$(cat "$landing/$1")" "$off_value"
	try "$1: kprobe before the target" probe_before "$1" "$target"
	try "$1: enabled" enable_probe land
	try "$1: the kernel optimises it" within 20 optimised
	same "$1: value" "$(cat "$landing/$1")" "$off_value"
	try "$1: switched on" put 1 "$landing/$1"
	not_optimised
	result $? "$1: the kprobe gave it up"
	dmesg -c >/dev/null
	stays_plain "$1" "$1"
	try "$1: optimised again" within 20 optimised
	same "$1: value" "$(cat "$landing/$1")" "$off_value"
	try "$1: on and off again" put 1 "$landing/$1"
	same "$1: value when on" "$(cat "$landing/$1")" "$on_value"
	try "$1: the kprobe goes while it is on" drop_probe
	same "$1: value when on" "$(cat "$landing/$1")" "$on_value"
	try "$1: off" put 0 "$landing/$1"
	lacks "landing_$1" "$kprobe_list"
	result $? "$1: no kprobe is left"
}

# Those that are not optimised when the branch is switched on, and would be later.
test_landing_on_waiting() {
	target=$(target_of branch)
	try "disabled kprobe before the target" probe_before branch "$target"
	try "switched on" put 1 "$landing/branch"
	flagged DISABLED "$probed"
	result $? "the kprobe is disabled yet"
	try "the kprobe is enabled" enable_probe land
	stays_plain "enabled later" branch
	drop_probe

	try "no kprobe is optimised" put 0 /proc/sys/debug/kprobes-optimization
	try "kprobe before the target" probe_before branch "$target"
	try "enabled" enable_probe land
	try "switched on" put 1 "$landing/branch"
	try "kprobes are optimised again" put 1 /proc/sys/debug/kprobes-optimization
	dmesg -c >/dev/null
	stays_plain "optimised later" branch
	drop_probe

	try "kprobe before the target" probe_before branch "$target"
	enable_probe land && put 1 "$landing/branch"
	result $? "switched on while it waits to be optimised"
	stays_plain "waiting" branch
	drop_probe
}

# The kernel sees the jump, and who comes to the companion is in its company.
test_landing_first() {
	target=$(target_of branch)
	try "switched on" put 1 "$landing/branch"
	try "kprobe before the target" probe_before branch "$target"
	try "enabled" enable_probe land
	stays_plain "branch first" branch
	drop_probe
	try "kprobe before the target" probe_before branch "$target"
	try "enabled" enable_probe land
	try "optimised" within 20 optimised
	try "switched on" put 1 "$landing/branch"
	try "the kprobe goes" drop_probe
	try "another one comes" probe_before branch "$target"
	try "enabled" enable_probe land
	stays_plain "another one" branch
	try "optimised" within 20 optimised
	try "switched on" put 1 "$landing/branch"
	try "the list of kprobes shows one in the module" module_has_kprobe
	try "the module leaves" rmmod "$lander"
	! module_has_kprobe
	result $? "no kprobe is left in it"
	drop_probe
}

# load_lander_at ADDRESS: until it comes to where it was
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

# What kept a kprobe from being optimised left with the module, and does nothing for the one that
# comes to the same address; the kernel registers the kprobe anew.
test_landing_again() {
	must insmod /modules/"$lander".ko || return
	target=$(target_of branch)
	at=$(lander_at)
	try "kprobe before the target" probe_before branch "$target"
	try "enabled" enable_probe land
	try "optimised" within 20 optimised
	try "switched on" put 1 "$landing/branch"
	not_optimised
	result $? "the kprobe gave it up"
	try "the module leaves" rmmod "$lander"
	grep -q GONE "$kprobe_list"
	result $? "the kprobes of a module that left are marked as gone"
	try "the module comes again, to the same address" load_lander_at "$at"
	same "off" "$(cat "$landing/branch")" "$off_value"
	try "the kprobe is optimised again" within 20 optimised
	try "switched on again" put 1 "$landing/branch"
	not_optimised
	result $? "the kprobe gave it up again"
	dmesg -c >/dev/null
	stays_plain "again" branch
	try "optimised once more" within 20 optimised
	try "the module leaves" rmmod "$lander"
	drop_probe
	lacks GONE "$kprobe_list"
	result $? "no kprobe is left"
}

test_landing() {
	put 1 /proc/sys/debug/kprobes-optimization
	dmesg -c >/dev/null
	must insmod /modules/"$lander".ko || return
	# What comes first in it is ftrace's, a copied register, or the addition.
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
	test_landing_on_waiting
	test_landing_first
	test_landing_again
}
