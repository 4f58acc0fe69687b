# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# All activities that change text, in parallel and in rounds. After each round all activities stop,
# and text, counts, memory and log are checked. KMARKERS_SECONDS is the total time of the rounds.
# KMARKERS_FAULTS lists faults to inject, as ROUND:KIND, to show that the checks find these faults.
# shellcheck source=tests/vm/lib_soak.sh
. /tests/lib_soak.sh

seconds=${KMARKERS_SECONDS:-60}
round_seconds=${KMARKERS_ROUND:-45}
most_rounds=${KMARKERS_ROUNDS:-1000000}

print_uptime() {
	cut -d. -f1 /proc/uptime
}

# print_total NAME: print how many repetitions of the activity succeeded in all rounds so far
print_total() {
	cat "/tmp/total.$1"
}

# add_to_totals: add the numbers of repetitions in the last round to the totals of all rounds
add_to_totals() {
	for each in $activities; do
		echo $(($(print_total "$each") + $(cat "/tmp/turns.$each"))) >"/tmp/total.$each"
		echo $(($(cat "/tmp/failed.$each") + $(cat "/tmp/vain.$each"))) >"/tmp/failed.$each"
	done
}

reset_totals() {
	for each in $activities; do
		echo 0 >"/tmp/total.$each"
		echo 0 >"/tmp/failed.$each"
	done
}

count_live_patch_loads() {
	cat /tmp/total.livepatch 2>/dev/null || echo 0
}

# print_totals: print how many times each activity has run so far
print_totals() {
	loads=$(($(print_total client) + $(print_total marker) + $(print_total stranger) + rounds))
	loads=$((loads + $(print_total visitors) * $(echo "$visitors" | wc -w)))
	echo "# soak: $(($(print_uptime) - begin)) of $seconds s, round $rounds: $(patcher_stat batches) batches," \
		"$(patcher_stat sites) sites switched, $(patcher_stat hits) breakpoints hit ($(patcher_stat stale) stale)," \
		"$loads modules loaded, $(print_total cpu) times a CPU offline," \
		"$(($(print_total arms) * armed + $(print_total parts) * parts)) probes armed by two processes," \
		"$(print_total probes) kprobes and uprobes, $(print_total tracer) times the function tracer," \
		"$(count_live_patch_loads) live patches, $(print_total redirect) calls redirected," \
		"$(print_total storms) storms, $(print_total memory) times memory filled"
}

# inject_fault KIND: inject a fault that a check must find
inject_fault() {
	case $1 in
	byte) put "kmarkers_test_entry:te_cold count" "$entry/control" ;;
	count) put 1 "$te/pass" ;;
	marker)
		# Hit the markers outside of the activities, while the event that is recorded is
		# disabled.
		put 0 "$recorder/events/kmarkers/many_099/enable"
		put 1 "$hundred/pass"
		;;
	owner) add_probe left "$getpid" "$call" ;;
	leak)
		for leaf in $(seq 4000); do
			: >"/tmp/leak.$leaf"
		done
		;;
	log) insmod /modules/kmarkers_test_warn.ko && rmmod kmarkers_test_warn ;;
	esac
}

remove_fault() {
	case $1 in
	byte) put "kmarkers_test_entry:te_cold -count" "$entry/control" ;;
	owner) remove_probe left ;;
	leak) rm /tmp/leak.* ;;
	esac
}

# print_faults ROUND: print the kinds of faults to inject in this round
print_faults() {
	for fault in ${KMARKERS_FAULTS:-}; do
		[ "${fault%:*}" != "$1" ] || echo "${fault#*:}"
	done
}

# run_round SECONDS: run all activities in parallel for that time, and wait until they have ended
run_round() {
	insmod /modules/kmarkers_test_noise.ko changes=1 probes=1
	: >/tmp/background
	arm_counters
	for each in $activities; do
		in_background "$each" "toggle_$each"
	done
	end=$(($(print_uptime) + $1))
	while [ "$(print_uptime)" -lt "$end" ]; do
		sleep 5
		echo "# $((seconds + begin - $(print_uptime))) s left"
	done
	rm /tmp/background
	wait
	add_to_totals
	! loaded kmarkers_test_livepatch || remove_late_livepatch
	noise_wrong=$(count_noise wrong)
	within 5 rmmod kmarkers_test_noise
}

# check_round: run the checks after a round
check_round() {
	hits=$(($(cat /tmp/turns.hits) + $(cat /tmp/turns.others)))
	for kind in $(print_faults "$rounds"); do
		inject_fault "$kind"
	done
	result 0 "round $rounds: the kernel logged no fault"
	n=$((hits * hits_each))
	same "round $rounds: the counts of entries, exits, SDT probes and records are exact" \
		"$(counted_since "$before")" "$((2 * n)) $((2 * n)) $((2 * n)) $n"
	same "round $rounds: the counts of ten markers are exact" "$(marker_counts)" "$n"
	same "round $rounds: no interrupt handler and no recorded function got a wrong value" \
		"$noise_wrong $(cat "$te/wrong")" "0 0"
	disarm_counters
	try "round $rounds: the text is the same as before the first round" unchanged text
	try "round $rounds: modules, probes and ftrace are as before the first round" unchanged owners
	[ "$rounds" -gt 2 ] || {
		first_kb=$(print_used_kb)
		print_memory_parts >/tmp/parts.first
	}
	try "round $rounds: the growth of kernel memory is within the limit" within 1 memory_grew_little
	echo "# memory of the kernel: $used kB, $((used - first_kb)) kB more than after round 2:$(list_grown_memory_parts)"
	same "round $rounds: no storm failed" "$(cat /tmp/vain.storms)" 0
	[ "$(cat /tmp/vain.storms)" = 0 ] || sed 's/^/# /' /tmp/why.storms
	for kind in $(print_faults "$rounds"); do
		remove_fault "$kind"
	done
	log_is_clean
	print_totals
}

prepare_soak() {
	for module in $residents; do
		insmod "/modules/$module.ko" || return 1
	done
	put 10 /sys/module/kmarkers_test/parameters/batches
	mkdir -p "$recorder" /pressure
	mount -t tmpfs -o size=100% tmpfs /pressure
	print_meminfo MemFree >/tmp/least_kb
	# Trace a few hundred functions. Tracing all would block other changes of text for half a
	# minute.
	put "vfs_*" "$tracing/set_ftrace_filter"
	prepare_togglers && expedite_grace_periods 1
}

test_soak() {
	must prepare_soak || return
	find_togglers
	activities="$togglers arms parts hits others redirect visitors storms memory"
	reset_totals
	armed=$(($(grep -c "^kmarkers_test_entry:" "$entry/list") + $(grep -c "^tsdt:" "$debugfs/sdt/list") + 100))
	parts=$(($(grep -c "^kmarkers_test_entry:te_[mrt]" "$entry/list") + 3))
	arm_counters
	disarm_counters
	text_now >/tmp/text.first
	owners_now >/tmp/owners.first
	begin=$(print_uptime)
	rounds=0
	while left=$((begin + seconds - $(print_uptime))) && [ $left -gt 0 ] && [ $rounds -lt "$most_rounds" ]; do
		rounds=$((rounds + 1))
		[ $left -lt "$round_seconds" ] || left=$round_seconds
		run_round "$left"
		check_round
	done
	for each in $activities; do
		print_total "$each" >"/tmp/turns.$each"
		cat "/tmp/failed.$each" >"/tmp/vain.$each"
	done
	# shellcheck disable=SC2086 # they are words
	check_background $activities
	[ "$(cat /tmp/least_kb)" -lt 65536 ]
	result $? "less than 64 MB of memory were free at times: $(cat /tmp/least_kb) kB"
	expedite_grace_periods 0
	put "" "$tracing/set_ftrace_filter"
	for module in $residents; do
		rmmod "$module"
	done
	lacks "^kmarkers_test" /proc/modules
	result $? "all test modules unload"
}
