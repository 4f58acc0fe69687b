# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Twenty thousand recorded functions, switched at once.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

many_entries=20000
many_dir=$debugfs/entry

# hundredths: set $now to the time since boot in hundredths of a second; without a process, which
# takes longer than what is measured
hundredths() {
	read -r now _ </proc/uptime
	now=${now%.*}${now#*.}
}

# many_in STATE COUNT: print how many of the functions are so
many_in() {
	grep -c "^kmarkers_test_entry_many:many_[0-9]*:entry $1 .* $2 " "$many_dir/list"
}

# held_up: print how many interrupts CPUs have taken that another one sent to them to call a function
held_up() {
	awk '$1 == "CAL:" { for (i = 2; i <= NF; i++) if ($i ~ /^[0-9]+$/) sum += $i } END { print sum + 0 }' /proc/interrupts
}

# turns_of ON OFF FILE: write both texts twice; sets $took to the hundredths of a second, and
# $calls to the interrupts that CPUs took
turns_of() {
	calls=$(held_up)
	hundredths
	took=$now
	failed=0
	for _ in 1 2; do
		put "$1" "$3" || failed=$((failed + 1))
		put "$2" "$3" || failed=$((failed + 1))
	done
	hundredths
	took=$((now - took))
	calls=$(($(held_up) - calls))
	same "two turns of $1" $failed 0
}

# switch_many NAME: on and off
switch_many() {
	rounds=$(stat_of rounds)
	put "kmarkers_test_entry_many: count" "$many_dir/control"
	same "$1: 20000 functions are on in 3 rounds" $(($(stat_of rounds) - rounds)) 3
	rounds=$(stat_of rounds)
	put "kmarkers_test_entry_many: -count" "$many_dir/control"
	same "$1: 20000 functions are off in 3 rounds" $(($(stat_of rounds) - rounds)) 3
}

# The kernel's ftrace: choose as many functions by the name of their module, then switch.
test_many_by_ftrace() {
	hundredths
	chosen=$now
	put ":mod:kmarkers_test_traced_many" "$tracing/set_ftrace_filter"
	failed=$?
	hundredths
	chosen=$((now - chosen))
	result $failed "the kernel's ftrace chooses as many functions"
	put function "$tracing/current_tracer"
	echo >"$tracing/trace"
	put 1 /sys/module/kmarkers_test_traced_many/parameters/pass
	same "the kernel's ftrace switches as many functions" "$(grep -c ": many_[0-9]* <-many_pass" "$tracing/trace")" "$many_entries"
	put nop "$tracing/current_tracer"
	echo >"$tracing/trace"
	turns_of function nop "$tracing/current_tracer"
}

# parts_of: print how many microseconds the patcher has taken so far
parts_of() {
	echo $(($(stat_of check_us) + $(stat_of map_us) + $(stat_of apply_us)))
}

test_many_against_ftrace() {
	if ! [ -r "$tracing/available_filter_functions" ]; then
		skip "20000 functions against the kernel's ftrace" "this kernel has no function tracer"
		return
	fi
	# A debug kernel, for which the host sets short storms, takes minutes.
	if [ "$batches" -lt 200 ]; then
		skip "20000 functions against the kernel's ftrace" "this kernel is too slow"
		return
	fi
	parts=$(parts_of)
	turns_of "kmarkers_test_entry_many: count" "kmarkers_test_entry_many: -count" "$many_dir/control"
	parts=$(($(parts_of) - parts))
	ours=$took ours_calls=$calls
	try "20000 functions for the kernel's ftrace" insmod /modules/kmarkers_test_traced_many.ko
	test_many_by_ftrace
	put "" "$tracing/set_ftrace_filter"
	try "the functions for the kernel's ftrace leave" rmmod kmarkers_test_traced_many
	echo "# ours, two turns: chosen, on and off in ${ours}0 ms, of which $((parts / 1000)) in the patcher; $ours_calls interrupts of CPUs"
	echo "# ftrace, two turns: chosen once in ${chosen}0 ms; on and off in ${took}0 ms, $calls interrupts of CPUs"
	try "20000 functions are chosen and switched faster than by the kernel's ftrace" \
		[ "$ours" -lt $((2 * chosen + took)) ]
	try "CPUs are interrupted less than half as often as by the kernel's ftrace" [ $((2 * ours_calls)) -lt "$calls" ]
}

test_entry_many() {
	try "20000 recorded functions" insmod /modules/kmarkers_test_entry_many.ko
	records=$(($(sed -n 's/^entries //p' "$many_dir/stats") + $(sed -n 's/^exits //p' "$many_dir/stats")))
	[ "$records" -ge "$many_entries" ] &&
		[ "$(sed -n 's/^table_bytes //p' "$many_dir/stats")" -le $((8 * records)) ]
	result $? "no record has more than 8 bytes"
	switch_many "not yet run"
	put 1 /sys/module/kmarkers_test_entry_many/parameters/pass
	switch_many "run before"
	put "kmarkers_test_entry_many: count" "$many_dir/control"
	put 2 /sys/module/kmarkers_test_entry_many/parameters/pass
	same "each of 20000 functions counted its hits" "$(many_in on 2)" "$many_entries"
	put "kmarkers_test_entry_many: -count" "$many_dir/control"
	same "each of 20000 functions is off" "$(many_in off 2)" "$many_entries"
	test_many_against_ftrace
	try "20000 recorded functions leave" rmmod kmarkers_test_entry_many
}
