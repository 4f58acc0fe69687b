# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Twenty thousand recorded functions (built with entry.mk): enabled and disabled in one batch, and
# compared with ftrace.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh
# shellcheck source=tests/vm/lib_turns.sh
. /tests/lib_turns.sh

many_entries=20000
many_dir=$debugfs/entry
many_module=/sys/module/kmarkers_test_entry_many/parameters
traced=/sys/module/kmarkers_test_traced_many/parameters
many_turns=${KMARKERS_TURNS:-3}

# count_functions_in_state STATE COUNT: print the number of functions that are in that state and
# counted COUNT hits
count_functions_in_state() {
	grep -c "^kmarkers_test_entry_many:many_[0-9]*:entry $1 .* $2 " "$many_dir/list"
}

# count_ipis: print the number of function call interrupts (IPIs) that all CPUs have taken
count_ipis() {
	awk '$1 == "CAL:" { for (i = 2; i <= NF; i++) if ($i ~ /^[0-9]+$/) sum += $i } END { print sum + 0 }' /proc/interrupts
}

# switch_many NAME: tests that all functions are enabled and disabled in 3 rounds each
switch_many() {
	rounds=$(patcher_stat rounds)
	put "kmarkers_test_entry_many: count" "$many_dir/control"
	same "$1: 20000 functions are enabled in 3 rounds" $(($(patcher_stat rounds) - rounds)) 3
	rounds=$(patcher_stat rounds)
	put "kmarkers_test_entry_many: -count" "$many_dir/control"
	same "$1: 20000 functions are disabled in 3 rounds" $(($(patcher_stat rounds) - rounds)) 3
}

# Select 20000 functions for the kernel's ftrace by the name of their module, and trace them.
test_many_chosen_by_ftrace() {
	measure_command choosing put ":mod:kmarkers_test_traced_many" "$tracing/set_ftrace_filter"
	put function "$tracing/current_tracer"
	echo >"$tracing/trace"
	put 1 "$traced/pass"
	same "the kernel's ftrace traces 20000 functions" "$(grep -c ": many_[0-9]* <-many_pass" "$tracing/trace")" "$many_entries"
	put nop "$tracing/current_tracer"
	echo >"$tracing/trace"
}

# call_all_functions 0/1: with 1, call each function of both modules once; with 0, do nothing
call_all_functions() {
	[ "$1" = 0 ] || put 1 "$many_module/pass"
	[ "$1" = 0 ] || put 1 "$traced/pass"
}

# measure_switch NAME TEXT FILE: enable or disable all functions by writing to a file; add the
# duration and the number of IPIs as measurements
measure_switch() {
	before=$(count_ipis)
	measure_command "$1" put "$2" "$3"
	add_measurement "$1-calls" $(($(count_ipis) - before))
}

# print_sum_of_medians NAME [SUFFIX]: print the sum of the medians for enabling and for disabling
print_sum_of_medians() {
	echo $(($(print_median "$1-on${2-}") + $(print_median "$1-off${2-}")))
}

# measure_alternately STATE 0/1: measure enabling and disabling by each method alternately; with 1,
# call each function before each measurement
measure_alternately() {
	i=0
	while [ $i -lt "$many_turns" ]; do
		i=$((i + 1))
		call_all_functions "$2"
		measure_switch "$1-ours-on" "kmarkers_test_entry_many: count" "$many_dir/control"
		call_all_functions "$2"
		measure_switch "$1-ours-off" "kmarkers_test_entry_many: -count" "$many_dir/control"
		call_all_functions "$2"
		put 1 "$many_module/by_hand"
		add_measurement "$1-by-hand" "$(cat "$many_module/by_hand_us")"
		measure_switch "$1-ftrace-on" function "$tracing/current_tracer"
		call_all_functions "$2"
		measure_switch "$1-ftrace-off" nop "$tracing/current_tracer"
	done
	ours=$(print_sum_of_medians "$1-ours")
	ftrace=$(print_sum_of_medians "$1-ftrace")
	ours_calls=$(print_sum_of_medians "$1-ours" -calls)
	ftrace_calls=$(print_sum_of_medians "$1-ftrace" -calls)
	by_hand=$((2 * $(print_minimum "$1-by-hand")))
	least=$(($(print_minimum "$1-ours-on") + $(print_minimum "$1-ours-off")))
	echo "# $1: enabling and disabling, median of $many_turns turns: kmarkers $ours us, ftrace $ftrace us, $((ftrace / ours)) times as long; minimum: kmarkers $least us, plain stores and rounds $by_hand us"
	echo "# $1: IPIs: kmarkers $ours_calls, ftrace $ftrace_calls"
	try "$1: less than half as many IPIs as with the kernel's ftrace" \
		[ $((2 * ours_calls)) -lt "$ftrace_calls" ]
}

# Measures functions that have not run, so the module is first unloaded and loaded again.
test_many_not_run() {
	try "the module with functions that have run unloads" rmmod kmarkers_test_entry_many
	try "the module loads again with functions that have not run" insmod /modules/kmarkers_test_entry_many.ko
	measure_alternately not-run 0
	try "functions that have not run are switched faster than by the kernel's ftrace" [ "$ours" -lt "$ftrace" ]
}

# Measures functions that have run. Under an emulator, each store to a page with such functions is
# slow, because the emulator searches all code that it has translated.
test_many_run() {
	measure_alternately run 1
	try "functions that have run are switched faster than by the kernel's ftrace" [ "$ours" -lt "$ftrace" ]
	try "functions are selected and switched faster than by the kernel's ftrace" \
		[ "$ours" -lt $(($(print_median choosing) + ftrace)) ]
}

# measure_interruption NAME COMMAND...: run a command, and add as a measurement the longest
# interruption of another CPU, which polls the clock, in ns. The gap is read after the
# polling thread has ended, because this thread may see the end of an interruption later than the
# command. A gap of 0 is no measurement: the thread did not run.
measure_interruption() {
	name=$1
	shift
	put 1 "$many_module/watch"
	sleep 0.2
	put 0 "$many_module/gap_ns"
	"$@"
	put 0 "$many_module/watch"
	gap=$(cat "$many_module/gap_ns")
	[ "$gap" -eq 0 ] || add_measurement "$name" "$gap"
}

# gap_is_of_interrupts: measure the interruption of another CPU by a switch, and by IPIs alone during
# a time of the same length. Succeeds if the switch interrupts for at most twice as long. The minimum
# of all measurements so far is used, because other programs of the machine cause interruptions, too.
gap_is_of_interrupts() {
	measure_interruption gap-switch put "kmarkers_test_entry_many: count" "$many_dir/control"
	measure_interruption gap-interrupt put "$(print_median not-run-ours-on)" "$many_module/interrupt"
	measure_interruption gap-switch put "kmarkers_test_entry_many: -count" "$many_dir/control"
	measure_interruption gap-interrupt put "$(print_median not-run-ours-off)" "$many_module/interrupt"
	# Without a measurement, the comparison would succeed.
	[ -s /tmp/turns-gap-switch ] && [ -s /tmp/turns-gap-interrupt ] &&
		[ "$(print_minimum gap-switch)" -le $((2 * $(print_minimum gap-interrupt))) ]
}

# The functions must not have run: see test_many_run().
test_many_gaps() {
	limit=$(cat /proc/sys/kernel/sched_rt_runtime_us)
	put -1 /proc/sys/kernel/sched_rt_runtime_us
	kept=1
	for _ in $(seq 40); do
		gap_is_of_interrupts
		kept=$?
		[ $kept = 0 ] && break
	done
	put "$limit" /proc/sys/kernel/sched_rt_runtime_us
	echo "# longest interruption of another CPU: $(print_minimum gap-switch) ns while 20000 functions are switched, $(print_minimum gap-interrupt) ns by IPIs alone"
	result $kept "a switch interrupts another CPU for at most twice as long as IPIs alone"
}

# reload_many: load and unload the module
reload_many() {
	insmod /modules/kmarkers_test_entry_many.ko && rmmod kmarkers_test_entry_many
}

# The counts of the module take 8 bytes for each record, which is 160 KB or more, and its other
# tables half as much each.
test_many_freed() {
	put "kmarkers_test_entry_many: count" "$many_dir/control"
	try "a module with counted functions leaves no tables when it unloads" grows_less_than 300 reload_many
	put "kmarkers_test_entry_many: -count" "$many_dir/control"
}

test_many_against_ftrace() {
	if ! [ -r "$tracing/available_filter_functions" ]; then
		skip "20000 functions are compared with the kernel's ftrace" "this kernel has no function tracer"
		return
	fi
	# Skip this in debug kernels, for which the host sets a small KMARKERS_BATCHES, because this
	# test takes minutes there.
	if [ "$batches" -lt 200 ]; then
		skip "20000 functions are compared with the kernel's ftrace" "this kernel is too slow"
		return
	fi
	try "the module with 20000 functions for the kernel's ftrace loads" insmod /modules/kmarkers_test_traced_many.ko
	measure_command choosing put ":mod:kmarkers_test_traced_many" "$tracing/set_ftrace_filter"
	echo "# ftrace selects 20000 functions in $(print_median choosing) us"
	test_many_not_run
	test_many_gaps
	test_many_chosen_by_ftrace
	test_many_run
	put "" "$tracing/set_ftrace_filter"
	try "the module with functions for the kernel's ftrace unloads" rmmod kmarkers_test_traced_many
}

test_entry_many() {
	can_record "the module with 20000 recorded functions loads" || return
	try "the module with 20000 recorded functions loads" insmod /modules/kmarkers_test_entry_many.ko
	records=$(($(sed -n 's/^entries //p' "$many_dir/stats") + $(sed -n 's/^exits //p' "$many_dir/stats")))
	[ "$records" -ge "$many_entries" ] &&
		[ "$(sed -n 's/^table_bytes //p' "$many_dir/stats")" -le $((8 * records)) ]
	result $? "each record has at most 8 bytes"
	switch_many "not yet run"
	put 1 "$many_module/pass"
	switch_many "run before"
	put "kmarkers_test_entry_many: count" "$many_dir/control"
	put 2 "$many_module/pass"
	same "each of 20000 functions counted its hits" "$(count_functions_in_state on 2)" "$many_entries"
	put "kmarkers_test_entry_many: -count" "$many_dir/control"
	same "each of 20000 functions is disabled" "$(count_functions_in_state off 2)" "$many_entries"
	test_many_against_ftrace
	try "the module with 20000 recorded functions unloads" rmmod kmarkers_test_entry_many
	test_many_freed
}
