# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Kprobes near the targets of the patcher's jumps. The kernel replaces a kprobe by a jump of 5 bytes
# if it finds no jump into these bytes. The kernel does not find the jump of a site that is off.
# Once the site is switched on, its jump would land in the middle of the 5 bytes.
# shellcheck source=tests/vm/lib_core.sh
. /tests/lib_core.sh

landing=/sys/module/kmarkers_test_landing/parameters
lander=kmarkers_test_landing
kprobe_list=/sys/kernel/debug/kprobes/list
off_value=43
on_value=36

# print_landing_offset KIND: print the offset of the site of that kind in its function
print_landing_offset() {
	sed -n "s/^[a-z]* landing_$1+\(0x[0-9a-f]*\)\/.*/\1/p" "$debugfs"/patcher/sites
}

# print_jump_target KIND: print the offset of the site's jump target in the function. The last four
# bytes of a branch that is off are the displacement of its jump.
print_jump_target() {
	site=$(print_landing_offset "$1")
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
		kprobe_is_listed
		return
	done
	echo "# no instruction of less than 5 bytes before landing_$1+$2"
	return 1
}

# kprobe_has_flag FLAG ADDRESS: succeeds if the list of kprobes shows FLAG for the address
kprobe_has_flag() {
	grep "$2 .*\[$1\]" "$kprobe_list" >/dev/null
}

kprobe_is_listed() {
	grep "$probed " "$kprobe_list" >/dev/null
}

kprobe_is_optimised() {
	kprobe_has_flag OPTIMIZED "$probed"
}

# kprobe_is_not_optimised: succeeds if the kprobe exists and is not optimised
kprobe_is_not_optimised() {
	kprobe_is_listed && ! kprobe_is_optimised
}

# module_has_kprobe: succeeds if a kprobe is in the module and the module is loaded
module_has_kprobe() {
	grep "landing" "$kprobe_list" | grep -v GONE >/dev/null
}

# optimiser_has_run: register another kprobe and wait until it is optimised, because the kernel
# optimises all pending kprobes at the same time
optimiser_has_run() {
	add_probe control "$lander:landing_plain" "$plain" && enable_probe control &&
		within 20 kprobe_has_flag OPTIMIZED "landing_plain+0x[0-9a-f]*"
	code=$?
	disable_probe control
	remove_probe control
	return "$code"
}

# check_not_optimised NAME KIND: tests that, while the site is on, the kprobe is hit but not
# optimised, and that the jump of the site works
check_not_optimised() {
	try "$1: another kprobe is optimised meanwhile" optimiser_has_run
	kprobe_is_not_optimised
	result $? "$1: the kprobe before the target is not optimised"
	same "$1: the function returns the value of a site that is on" "$(cat "$landing/$2")" "$on_value"
	try "$1: the site is switched off" put 0 "$landing/$2"
	same "$1: the function returns the value of a site that is off" "$(cat "$landing/$2")" "$off_value"
	old=$(probe_hits land)
	cat "$landing/$2" >/dev/null
	[ "$(probe_hits land)" -gt "${old:-0}" ]
	result $? "$1: the kprobe is hit after the site is switched off"
}

remove_land_probe() {
	disable_probe land
	remove_probe land
}

# register_optimised NAME KIND [PLACE]: register a kprobe in the function with a site of that kind,
# and wait until the kernel optimises it; PLACE says in the result where the kprobe is
register_optimised() {
	try "$1: a kprobe is registered${3-}" probe_before "$2" "$(print_jump_target "$2")"
	try "$1: the kprobe is enabled" enable_probe land
	try "$1: the kernel optimises the kprobe" within 20 kprobe_is_optimised
}

test_landing_on_optimised() {
	same "$1: the function returns the value of a site that is off without a kprobe" "$(cat "$landing/$1")" "$off_value"
	register_optimised "$1" "$1" " before the target"
	same "$1: the function returns the same value with an optimised kprobe" "$(cat "$landing/$1")" "$off_value"
	try "$1: the site is switched on" put 1 "$landing/$1"
	kprobe_is_not_optimised
	result $? "$1: the kprobe is no longer optimised once the site is on"
	dmesg -c >/dev/null
	check_not_optimised "$1" "$1"
	try "$1: the kernel optimises the kprobe again once the site is off" within 20 kprobe_is_optimised
	same "$1: the function returns the value of a site that is off with the kprobe optimised again" "$(cat "$landing/$1")" "$off_value"
	try "$1: the site is switched on again" put 1 "$landing/$1"
	same "$1: the function returns the value of a site that is on again" "$(cat "$landing/$1")" "$on_value"
	try "$1: the kprobe is removed while the site is on" remove_land_probe
	same "$1: the function returns the value of a site that is on after the kprobe is removed" "$(cat "$landing/$1")" "$on_value"
	try "$1: the site is switched off after the kprobe is removed" put 0 "$landing/$1"
	lacks "landing_$1" "$kprobe_list"
	result $? "$1: no kprobe is left in the function"
}

# The operand of a cmp is no displacement: a kprobe is still optimised if an operand is set to the
# distance of a jump into the kprobe.
test_landing_compare() {
	register_optimised compare compare " behind the cmp"
	dmesg -c >/dev/null
	try "compare: the operand is set to the distance of the instruction behind the kprobe" put 1 "$landing/compare"
	kprobe_is_optimised && ! logged "is not optimised"
	result $? "compare: the kprobe stays optimised when the operand changes"
	same "compare: the function returns the same value" "$(cat "$landing/compare")" "$off_value"
	try "compare: the operand is set back" put 0 "$landing/compare"
	try "compare: the kprobe is removed" remove_land_probe
}

# A batch is refused after the patcher has unoptimised a kprobe for the batch: the kernel must
# optimise the kprobe again.
test_landing_refused() {
	register_optimised "refused batch" jump
	dmesg -c >/dev/null
	refused "refused batch: the patcher refuses a batch that expects other bytes" "" put 1 "$landing/refused"
	logged "is not optimised: landing_jump"
	result $? "refused batch: the log says that the kprobe was unoptimised"
	try "refused batch: the kernel optimises the kprobe again" within 20 kprobe_is_optimised
	same "refused batch: the function returns the value of a site that is off" "$(cat "$landing/jump")" "$off_value"
	try "refused batch: the kprobe is removed" remove_land_probe
}

# Kprobes that are not optimised yet when the jump is switched on must not be optimised later.
test_landing_on_waiting() {
	target=$(print_jump_target "$switched")
	try "kprobe enabled later: a disabled kprobe is registered" probe_before "$switched" "$target"
	try "kprobe enabled later: the jump is switched on" put 1 "$landing/$switched"
	kprobe_has_flag DISABLED "$probed"
	result $? "kprobe enabled later: the kprobe is still disabled"
	try "kprobe enabled later: the kprobe is enabled" enable_probe land
	check_not_optimised "kprobe enabled later" "$switched"
	remove_land_probe

	try "optimisation allowed later: it is disabled first" put 0 /proc/sys/debug/kprobes-optimization
	try "optimisation allowed later: a kprobe is registered" probe_before "$switched" "$target"
	try "optimisation allowed later: the kprobe is enabled" enable_probe land
	try "optimisation allowed later: the jump is switched on" put 1 "$landing/$switched"
	try "optimisation allowed later: it is enabled again" put 1 /proc/sys/debug/kprobes-optimization
	dmesg -c >/dev/null
	check_not_optimised "optimisation allowed later" "$switched"
	remove_land_probe

	try "optimisation pending: a kprobe is registered" probe_before "$switched" "$target"
	enable_probe land && put 1 "$landing/$switched"
	result $? "optimisation pending: the kprobe is enabled and the jump switched on at once"
	check_not_optimised "optimisation pending" "$switched"
	remove_land_probe
}

# First, a kprobe is registered while the jump is on, so that the kernel finds it.
# Second, a kprobe is registered at the address of a guard kprobe, which the patcher registered to
# prevent optimisation.
test_landing_first() {
	target=$(print_jump_target "$switched")
	try "jump first: the jump is switched on" put 1 "$landing/$switched"
	try "jump first: a kprobe is registered" probe_before "$switched" "$target"
	try "jump first: the kprobe is enabled" enable_probe land
	check_not_optimised "branch first" "$switched"
	remove_land_probe
	try "second kprobe: a first one is registered" probe_before "$switched" "$target"
	try "second kprobe: the first one is enabled" enable_probe land
	try "second kprobe: the first one is optimised" within 20 kprobe_is_optimised
	try "second kprobe: the jump is switched on" put 1 "$landing/$switched"
	try "second kprobe: the first one is removed" remove_land_probe
	try "second kprobe: another one is registered at the address of the guard kprobe" probe_before "$switched" "$target"
	try "second kprobe: the other one is enabled" enable_probe land
	check_not_optimised "second kprobe" "$switched"
	try "second kprobe: the other one is optimised once the jump is off" within 20 kprobe_is_optimised
	try "second kprobe: the jump is switched on again" put 1 "$landing/$switched"
	try "the list of kprobes shows a kprobe in the module" module_has_kprobe
	try "the module with the kprobe unloads" rmmod "$lander"
	! module_has_kprobe
	result $? "the list of kprobes shows no kprobe in the unloaded module"
	remove_land_probe
}

# load_lander_at ADDRESS: load and unload the module up to 20 times, until it is loaded at the
# address
load_lander_at() {
	for _ in $(seq 20); do
		insmod "/modules/$lander.ko" || return
		[ "$(print_lander_address)" = "$1" ] && return
		rmmod "$lander"
	done
	return 1
}

print_lander_address() {
	sed -n 's/ t landing_branch\t.*//p' /proc/kallsyms
}

# When a jump is switched on, the patcher registers a guard kprobe, which keeps another kprobe at
# the same address from being optimised. When the module unloads, the guard kprobe is lost. If the
# module is then loaded at the same address, the kernel registers the other kprobe again, and
# switching the jump on must again keep this kprobe from being optimised.
test_landing_again() {
	must insmod /modules/"$lander".ko || return
	at=$(print_lander_address)
	register_optimised "module loaded again" "$switched"
	try "module loaded again: the jump is switched on" put 1 "$landing/$switched"
	kprobe_is_not_optimised
	result $? "module loaded again: the kprobe is no longer optimised once the jump is on"
	try "module loaded again: the module unloads first" rmmod "$lander"
	grep -q GONE "$kprobe_list"
	result $? "the kprobes of the unloaded module are marked as GONE"
	try "module loaded again: the module is at the same address" load_lander_at "$at"
	same "module loaded again: the function returns the value of a jump that is off" "$(cat "$landing/$switched")" "$off_value"
	try "module loaded again: the kernel optimises the kprobe in the new module" within 20 kprobe_is_optimised
	try "module loaded again: the jump of the new module is switched on" put 1 "$landing/$switched"
	kprobe_is_not_optimised
	result $? "module loaded again: the kprobe in the new module is no longer optimised"
	dmesg -c >/dev/null
	check_not_optimised "module loaded again" "$switched"
	try "module loaded again: the kprobe is optimised once the jump is off" within 20 kprobe_is_optimised
	try "module loaded again: the module unloads a second time" rmmod "$lander"
	remove_land_probe
	lacks GONE "$kprobe_list"
	result $? "no kprobe is marked as GONE after its removal"
}

test_landing() {
	put 1 /proc/sys/debug/kprobes-optimization
	dmesg -c >/dev/null
	must insmod /modules/"$lander".ko || return
	# Find an offset behind ftrace's instructions at which an instruction begins.
	plain=
	for offset in 5 6 7 8 9 10 11 12 13 14; do
		add_probe control "$lander:landing_plain" $offset 2>/dev/null || continue
		remove_probe control
		plain=$offset
		break
	done
	# The kind of jump that most tests switch on and off.
	switched=branch
	if [ "$(cat "$landing/target_has_endbr")" = Y ]; then
		switched=jump
		skip "branch: the kernel optimises the kprobe" "the compiler put an ENDBR at the target, and the kernel optimises no kprobe before it"
	else
		test_landing_on_optimised branch
	fi
	for kind in jump run; do
		test_landing_on_optimised $kind
	done
	test_landing_compare
	test_landing_refused
	test_landing_on_waiting
	test_landing_first
	test_landing_again
}
