# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Twenty thousand recorded functions, switched at once.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh
# shellcheck source=tests/vm/lib_turns.sh
. /tests/lib_turns.sh

many_entries=20000
many_dir=$debugfs/entry
many_module=/sys/module/kmarkers_test_entry_many/parameters
traced=/sys/module/kmarkers_test_traced_many/parameters
many_turns=${KMARKERS_TURNS:-3}

# many_in STATE COUNT: print how many of the functions are in that state with that count
many_in() {
	grep -c "^kmarkers_test_entry_many:many_[0-9]*:entry $1 .* $2 " "$many_dir/list"
}

# held_up: print how many function call interrupts (IPIs) all CPUs have taken
held_up() {
	awk '$1 == "CAL:" { for (i = 2; i <= NF; i++) if ($i ~ /^[0-9]+$/) sum += $i } END { print sum + 0 }' /proc/interrupts
}

# switch_many NAME: switch all functions on and off
switch_many() {
	rounds=$(stat_of rounds)
	put "kmarkers_test_entry_many: count" "$many_dir/control"
	same "$1: 20000 functions are on in 3 rounds" $(($(stat_of rounds) - rounds)) 3
	rounds=$(stat_of rounds)
	put "kmarkers_test_entry_many: -count" "$many_dir/control"
	same "$1: 20000 functions are off in 3 rounds" $(($(stat_of rounds) - rounds)) 3
}

# The kernel's ftrace: choose as many functions by the name of their module, then switch.
test_many_chosen_by_ftrace() {
	timed_turn choosing put ":mod:kmarkers_test_traced_many" "$tracing/set_ftrace_filter"
	put function "$tracing/current_tracer"
	echo >"$tracing/trace"
	put 1 "$traced/pass"
	same "the kernel's ftrace switches as many functions" "$(grep -c ": many_[0-9]* <-many_pass" "$tracing/trace")" "$many_entries"
	put nop "$tracing/current_tracer"
	echo >"$tracing/trace"
}

# run_all 0/1: with 1, call each function of both modules once
run_all() {
	[ "$1" = 0 ] || put 1 "$many_module/pass"
	[ "$1" = 0 ] || put 1 "$traced/pass"
}

# switched_all NAME TEXT FILE: switch by writing to a file; note the time, and the number of IPIs
switched_all() {
	before=$(held_up)
	timed_turn "$1" put "$2" "$3"
	note "$1-calls" $(($(held_up) - before))
}

# both_of NAME [SUFFIX]: print the sum of the medians for on and for off
both_of() {
	echo $(($(median_of "$1-on${2-}") + $(median_of "$1-off${2-}")))
}

# turns_of STATE 0/1: switch on and off by each method in turns; with 1, each function runs before
# each switch
turns_of() {
	i=0
	while [ $i -lt "$many_turns" ]; do
		i=$((i + 1))
		run_all "$2"
		switched_all "$1-ours-on" "kmarkers_test_entry_many: count" "$many_dir/control"
		run_all "$2"
		switched_all "$1-ours-off" "kmarkers_test_entry_many: -count" "$many_dir/control"
		run_all "$2"
		put 1 "$many_module/by_hand"
		note "$1-by-hand" "$(cat "$many_module/by_hand_us")"
		switched_all "$1-ftrace-on" function "$tracing/current_tracer"
		run_all "$2"
		switched_all "$1-ftrace-off" nop "$tracing/current_tracer"
	done
	ours=$(both_of "$1-ours")
	ftrace=$(both_of "$1-ftrace")
	ours_calls=$(both_of "$1-ours" -calls)
	ftrace_calls=$(both_of "$1-ftrace" -calls)
	by_hand=$((2 * $(least_of "$1-by-hand")))
	least=$(($(least_of "$1-ours-on") + $(least_of "$1-ours-off")))
	echo "# $1, on and off, medians of $many_turns turns: ours $ours us, ftrace $ftrace us, $((ftrace / ours)) times ours; least: ours $least us, stores and rounds by hand $by_hand us"
	echo "# $1: interrupts of CPUs by others: ours $ours_calls, ftrace $ftrace_calls"
	try "$1: CPUs are interrupted less than half as often as by the kernel's ftrace" \
		[ $((2 * ours_calls)) -lt "$ftrace_calls" ]
}

# The module is loaded anew, so that none of the functions has run.
test_many_not_run() {
	try "20000 functions leave that have run" rmmod kmarkers_test_entry_many
	try "20000 functions of which none has run" insmod /modules/kmarkers_test_entry_many.ko
	turns_of not-run 0
	try "functions that have not run are switched 30 times faster than by the kernel's ftrace" \
		[ $((30 * ours)) -le "$ftrace" ]
}

# For each store to a page with functions that have run, an emulator searches all its translations.
# The plain stores to which the time is compared have the same cost.
test_many_run() {
	turns_of run 1
	try "functions that have run are switched faster than by the kernel's ftrace" [ "$ours" -lt "$ftrace" ]
	try "functions that have run take at most 3 times as long as their stores and rounds by hand" \
		[ "$least" -le $((3 * by_hand)) ]
	try "functions are chosen and switched faster than by the kernel's ftrace" \
		[ "$ours" -lt $(($(median_of choosing) + ftrace)) ]
}

# watched NAME COMMAND...: note the longest time for which the CPU that polls the clock was
# interrupted
watched() {
	name=$1
	shift
	run_all 1
	put 1 "$many_module/watch"
	sleep 0.2
	put 0 "$many_module/gap_us"
	"$@"
	gap=$(cat "$many_module/gap_us")
	put 0 "$many_module/watch"
	note "$name" "$gap"
}

# The smallest gap of a few turns is judged: other programs on this machine cause gaps, too.
test_many_gaps() {
	limit=$(cat /proc/sys/kernel/sched_rt_runtime_us)
	put -1 /proc/sys/kernel/sched_rt_runtime_us
	i=0
	while [ $i -lt 5 ]; do
		i=$((i + 1))
		watched gap-idle sleep 0.3
		watched gap-ours put "kmarkers_test_entry_many: count" "$many_dir/control"
		watched gap-ours put "kmarkers_test_entry_many: -count" "$many_dir/control"
		watched gap-stopped put 1 "$many_module/stopped"
	done
	put "$limit" /proc/sys/kernel/sched_rt_runtime_us
	idle=$(least_of gap-idle)
	ours=$(($(least_of gap-ours) - idle))
	stopped=$(($(least_of gap-stopped) - idle))
	echo "# another CPU is kept from its work: $idle us while nothing is done; $ours us more by 20000 functions that are switched, $stopped us more by their stores in stop_machine()"
	try "a CPU stands still for at most 5 % of the time of stop_machine()" [ $((20 * ours)) -le "$stopped" ]
}

test_many_against_ftrace() {
	if ! [ -r "$tracing/available_filter_functions" ]; then
		skip "20000 functions against the kernel's ftrace" "this kernel has no function tracer"
		return
	fi
	# The test would take minutes in a debug kernel, for which the host sets short storms.
	if [ "$batches" -lt 200 ]; then
		skip "20000 functions against the kernel's ftrace" "this kernel is too slow"
		return
	fi
	try "20000 functions for the kernel's ftrace" insmod /modules/kmarkers_test_traced_many.ko
	timed_turn choosing put ":mod:kmarkers_test_traced_many" "$tracing/set_ftrace_filter"
	echo "# ftrace chooses as many functions in $(median_of choosing) us"
	test_many_not_run
	test_many_chosen_by_ftrace
	test_many_run
	test_many_gaps
	put "" "$tracing/set_ftrace_filter"
	try "the functions for the kernel's ftrace leave" rmmod kmarkers_test_traced_many
}

test_entry_many() {
	can_record "20000 recorded functions" || return
	try "20000 recorded functions" insmod /modules/kmarkers_test_entry_many.ko
	records=$(($(sed -n 's/^entries //p' "$many_dir/stats") + $(sed -n 's/^exits //p' "$many_dir/stats")))
	[ "$records" -ge "$many_entries" ] &&
		[ "$(sed -n 's/^table_bytes //p' "$many_dir/stats")" -le $((8 * records)) ]
	result $? "no record has more than 8 bytes"
	switch_many "not yet run"
	put 1 "$many_module/pass"
	switch_many "run before"
	put "kmarkers_test_entry_many: count" "$many_dir/control"
	put 2 "$many_module/pass"
	same "each of 20000 functions counted its hits" "$(many_in on 2)" "$many_entries"
	put "kmarkers_test_entry_many: -count" "$many_dir/control"
	same "each of 20000 functions is off" "$(many_in off 2)" "$many_entries"
	test_many_against_ftrace
	try "20000 recorded functions leave" rmmod kmarkers_test_entry_many
}
