# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Functions of the suite soak: the activities that run in parallel, and the checks between rounds.
# shellcheck source=tests/vm/lib_togglers.sh
. /tests/lib_togglers.sh
# shellcheck source=tests/vm/lib_storms.sh
. /tests/lib_storms.sh
# shellcheck source=tests/vm/lib_entry.sh
. /tests/lib_entry.sh
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

soak_sdt=/sys/module/kmarkers_test_sdt/parameters
hundred=/sys/module/kmarkers_test_hundred/parameters
recorder=$tracing/instances/soak
# Modules that stay loaded for the whole test, and modules that are loaded and unloaded one after
# the other.
residents="kmarkers_test kmarkers_test_core kmarkers_test_entry kmarkers_test_sdt kmarkers_test_hundred"
visitors="example_typed kmarkers_test_fields kmarkers_test_sdt_more kmarkers_test_notes kmarkers_test_events"
# The cases of kmarkers_test that can run while other code changes text, and that restore all
# values.
storm_cases="patcher_storm_of_jumps patcher_storm_of_kinds patcher_storm_of_traps markers_storm
	markers_storm_exactly_once typed_storm_exactly_once sdt_storm_exactly_once core_text_storm"
# The limit for the growth of kernel memory from the second round to the end, in kB.
most_growth_kb=1024
# The number of hits of each function and probe in a call of toggle_hits or toggle_others.
hits_each=20

# Enable and disable all functions and SDT probes of the test modules and a hundred markers. At the
# same time, toggle_parts enables and disables some of these in a second process.
toggle_arms() {
	put "kmarkers_test_entry count" "$entry/control"
	put "tsdt:::* event" "$debugfs/sdt/control"
	put "many_0?? trace" "$markers_dir/control"
	put "many_0?? -trace" "$markers_dir/control"
	put "tsdt:::* -event" "$debugfs/sdt/control"
	put "kmarkers_test_entry -count" "$entry/control"
}
markers_dir=$debugfs/markers

toggle_parts() {
	put "kmarkers_test_entry:te_[mrt]* count" "$entry/control"
	put "tsdt_write:trapped count" "$debugfs/sdt/control"
	put "tsdt_write:trapped promote" "$debugfs/sdt/control"
	put 1 "$own/many_007/enable"
	put 1 "$own/many_042/enable"
	put 0 "$own/many_042/enable"
	put 0 "$own/many_007/enable"
	put "tsdt_write:trapped -promote" "$debugfs/sdt/control"
	put "tsdt_write:trapped -count" "$debugfs/sdt/control"
	put "kmarkers_test_entry:te_[mrt]* -count" "$entry/control"
}

hit_all_sites() {
	put "$hits_each" "$te/pass" && put "$hits_each" "$soak_sdt/pass" && put "$hits_each" "$hundred/pass"
}

# Hit all sites, then sleep, so that the CPU is idle for a while. If one thread emulates all CPUs
# one after the other, busy CPUs delay an IPI between two other CPUs.
toggle_hits() {
	hit_all_sites && sleep 0.3
}

toggle_others() {
	hit_all_sites && sleep 0.3
}

# Redirect a call in the kernel's getppid, and restore it.
toggle_redirect() {
	command_core redirect "$getppid" "$callee" || return
	until command_core restore; do
		sleep 0.1
	done
}

toggle_visitors() {
	for visitor in $visitors; do
		insmod "/modules/$visitor.ko" && rmmod "$visitor" || return
	done
}

# Run the next case of $storm_cases; after the last case, begin again with the first.
toggle_storms() {
	[ "$storms_left" ] || storms_left=$storm_cases
	# shellcheck disable=SC2086 # they are words
	set -- $storms_left
	storms_now=$1
	shift
	storms_left=$*
	run_case "$storms_now" >&2 && sleep 5 && return
	echo "case $storms_now of kmarkers_test failed" >&2
	return 1
}
storms_left=

# print_meminfo NAME: print the value of the line NAME of /proc/meminfo, in kB
print_meminfo() {
	sed -n "s/^$1: *\([0-9]*\) kB/\1/p" /proc/meminfo
}

# Fill the available memory except 32 MB, so that the kernel has to reclaim memory.
toggle_memory() {
	dd if=/dev/zero of=/pressure/file bs=1M count=$(($(print_meminfo MemAvailable) / 1024 - 32)) 2>/dev/null
	now=$(print_meminfo MemFree)
	[ "$now" -gt "$(cat /tmp/least_kb)" ] || echo "$now" >/tmp/least_kb
	rm /pressure/file
	sleep 3
}

# arm_counters: start counting hits for a round, and store the counts so far in $before
arm_counters() {
	put "kmarkers_test_entry:te_leaf count" "$entry/control"
	put "tsdt:::io-start count" "$debugfs/sdt/control"
	put "many_00? count" "$markers_dir/control"
	put 1 "$recorder/events/kmarkers/many_099/enable"
	echo >"$recorder/trace"
	before=$(print_hit_counts)
}

disarm_counters() {
	put 0 "$recorder/events/kmarkers/many_099/enable"
	put "many_00? -count" "$markers_dir/control"
	put "tsdt:::io-start -count" "$debugfs/sdt/control"
	put "kmarkers_test_entry:te_leaf -count" "$entry/control"
}

# print_written_records: print the number of records that were written to the trace instance,
# including overwritten records
print_written_records() {
	sed -n 's:^# entries-in-buffer/entries-written\: [0-9]*/\([0-9]*\) .*:\1:p;6q' "$recorder/trace"
}

# print_hit_counts: print four numbers: of entries of te_leaf, of exits of te_leaf, of hits of an
# SDT probe, and of records written to the trace instance
print_hit_counts() {
	echo "$(entry_hits entry te_leaf) $(entry_hits exit te_leaf)" \
		"$(awk '/^tsdt:.*:io-start / { sum += $5 } END { print sum + 0 }' "$debugfs/sdt/list")" \
		"$(print_written_records)"
}

# counted_since COUNTED: print the differences between what print_hit_counts prints now and COUNTED
counted_since() {
	# shellcheck disable=SC2046,SC2086 # they are numbers
	set -- $1 $(print_hit_counts)
	echo "$(($5 - $1)) $(($6 - $2)) $(($7 - $3)) $(($8 - $4))"
}

# marker_counts: print the hit counts of the ten counted markers, each distinct number once
marker_counts() {
	cat "$markers_dir"/many_00?/stats | sed -n 's/^hits //p' | sort -u
}

# text_now: print the bytes of every site, and the bytes of the two kernel functions that the test
# changes. Of a typed marker's stub only the first instruction is printed: the following bytes still
# contain the address of the last probe, and are unused while the marker is off.
text_now() {
	awk '$2 ~ /^__marker_stub_/ { split($2, part, "+"); if (part[1] == stub) next; stub = part[1] }
		{ print }' "$debugfs/patcher/sites"
	for function in "$getppid" "$getpid"; do
		ask_core bytes "$(add_hex "$(address "$function")" 0)" 64
	done
}

# owners_now: print the state of all other code that changes text: modules, kprobes, uprobes and
# ftrace; and the CPUs that are online
owners_now() {
	cut -d" " -f1 /proc/modules | sort
	cat /sys/kernel/debug/kprobes/list "$tracing/enabled_functions" "$tracing/uprobe_events" \
		"$tracing/kprobe_events" "$tracing/current_tracer" /sys/devices/system/cpu/online
}

# unchanged WHAT: succeeds if the function WHAT_now prints the same as before the first round
unchanged() {
	"${1}_now" >"/tmp/$1.now"
	cmp -s "/tmp/$1.now" "/tmp/$1.first" && return
	diff "/tmp/$1.first" "/tmp/$1.now" | sed 's/^/# /' | head -n 20
	return 1
}

# print_used_kb: drop caches, and print how much memory the kernel itself uses, in kB
print_used_kb() {
	cat "$debugfs/markers/list" >/dev/null
	echo 3 >/proc/sys/vm/drop_caches
	for shrink in /sys/kernel/slab/*/shrink; do
		[ -w "$shrink" ] && echo 1 >"$shrink"
	done 2>/dev/null
	awk '/^(SUnreclaim|VmallocUsed|Percpu|KernelStack|PageTables):/ { sum += $2 } END { print sum }' \
		/proc/meminfo
}

# print_memory_parts: print the parts of the kernel's memory, and the size of each slab cache, in kB
print_memory_parts() {
	awk '/^(SUnreclaim|VmallocUsed|Percpu|KernelStack|PageTables):/ { print $1, $2 }' /proc/meminfo
	awk 'NR > 2 { print $1, $15 * $6 * 4 }' /proc/slabinfo
}

# list_grown_memory_parts: print the parts of kernel memory that grew by at least 16 kB since the
# second round
list_grown_memory_parts() {
	print_memory_parts >/tmp/parts.now
	awk 'NR == FNR { first[$1] = $2; next }
		$2 - first[$1] >= 16 { printf " %s %d kB", $1, $2 - first[$1] }' /tmp/parts.first /tmp/parts.now
}

# memory_grew_little: succeeds if the kernel's memory grew by at most $most_growth_kb since the
# second round
memory_grew_little() {
	used=$(print_used_kb)
	[ "$((used - first_kb))" -le "$most_growth_kb" ]
}
