# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# A module with ten thousand markers, and commands that switch all of them.
# shellcheck source=tests/vm/lib_events.sh
. /tests/lib_events.sh
# shellcheck source=tests/vm/lib_core.sh
. /tests/lib_core.sh

many=10000
# Pattern of the names whose files are read. For slow kernels, the host sets a pattern with fewer
# matches.
sample=${KMARKERS_SAMPLE:-many_*}
# Time limit in seconds for a command that switches all names, in an emulator under load.
patience=${KMARKERS_PATIENCE:-10}

# check_command_for_all_names COMMAND ROUNDS: test that the file control accepts COMMAND, and that
# COMMAND takes ROUNDS rounds of the patcher and at most $patience seconds
check_command_for_all_names() {
	rounds=$(patcher_stat rounds)
	start=$(cut -d. -f1 /proc/uptime)
	put "$1" "$markers"/control
	result $? "control accepts '$1'"
	took=$(($(cut -d. -f1 /proc/uptime) - start))
	same "'$1' takes $2 rounds" $(($(patcher_stat rounds) - rounds)) "$2"
	echo "# '$1' took $took s"
	[ $took -le "$patience" ]
	result $? "'$1' takes at most $patience s"
}

# count_markers_in_state STATE: print the number of names in that state, on or off
count_markers_in_state() {
	grep -c "^many_[0-9]* $1 " "$markers"/list
}

# hit_many TIMES: hit every marker
hit_many() {
	put "$1" /sys/module/kmarkers_test_many/parameters/pass
}

# count_names_with_hits NUMBER: print the number of sampled names that counted NUMBER hits
count_names_with_hits() {
	# shellcheck disable=SC2086 # a pattern
	cat $markers/$sample/stats | grep -c "^hits $1\$"
}

# many_events: read the list, which waits until all pending trace events are added or removed, and
# then print the number of names that are trace events
many_events() {
	cat "$markers"/list >/dev/null
	find "$tracing"/events/kmarkers -maxdepth 1 -name 'many_*' | wc -l
}

# switch_many_on_and_off: count the hits of all names, then disable them
switch_many_on_and_off() {
	put "many_* count" "$markers"/control && put "many_* none" "$markers"/control
}

# print_site_in_bucket N: print the offset of a site in the function pass_0 whose kprobe the kernel
# would keep in bucket N of its hash table. The hash of an address has 6 bits.
print_site_in_bucket() {
	start=$(sed -n 's/^\([0-9a-f]*\) . pass_0[[:space:]]\[kmarkers_test_many\]$/\1/p' /proc/kallsyms)
	sed -n 's/^immediate pass_0+\(0x[0-9a-f]*\)\/.* \[kmarkers_test_many\] .*/\1/p' "$debugfs"/patcher/sites |
		while read -r offset; do
			[ $(((0x$start + offset) * 0x61c8864680b583eb >> 58 & 63)) -eq "$1" ] || continue
			echo "$offset"
			break
		done
}

# A kprobe keeps its site from being changed, in whichever bucket of the kernel's table it is.
test_many_kprobes() {
	for bucket in 0 1 62 63; do
		try "a kprobe in bucket $bucket is registered on a site" \
			add_probe held kmarkers_test_many:pass_0 "$(print_site_in_bucket $bucket)"
		refused "the markers of a function with a kprobe in bucket $bucket are not switched on" "busy" \
			put "many_0* count" "$markers"/control
		remove_probe held
		put "many_0* none" "$markers"/control
	done
}

test_many() {
	start=$(cut -d. -f1 /proc/uptime)
	try "the module with ten thousand markers loads" insmod /modules/kmarkers_test_many.ko
	echo "# it took $(($(cut -d. -f1 /proc/uptime) - start)) s"
	same "each marker has a directory" "$(find "$markers" -maxdepth 1 -name 'many_*' | wc -l)" "$many"
	same "each name is a trace event" "$(many_events)" "$many"
	# This write makes the kernel allocate its trace buffer at full size.
	put 0 "$tracing"/events/kmarkers/many_0000/enable
	test_many_kprobes
	sites=$(patcher_stat sites)
	check_command_for_all_names "many_* count" 3
	same "'many_* count' switches every site" $(($(patcher_stat sites) - sites)) "$many"
	same "all markers are on after count" "$(count_markers_in_state on)" "$many"
	hit_many 2
	sampled=$(find "$markers" -maxdepth 1 -name "$sample" | wc -l)
	same "each marker counted its hits" "$(count_names_with_hits 2)" "$sampled"
	check_command_for_all_names "many_* count" 0
	test_many_listed
	check_command_for_all_names "many_* none" 3
	same "all markers are off after none" "$(count_markers_in_state off)" "$many"
	hit_many 1
	same "no marker counts hits while it is off" "$(count_names_with_hits 2)" "$sampled"

	try "commands for all names leave no memory behind" grows_less_than 500 switch_many_on_and_off

	check_command_for_all_names "many_00?[0-4] trace" 3
	same "50 markers are on after trace for a part of the names" "$(count_markers_in_state on)" 50
	clear_trace
	hit_many 1
	same "50 markers are traced after trace for a part of the names" "$(print_trace_texts | sort -u | wc -l)" 50
	check_command_for_all_names "many_* trace" 3
	same "all markers are on after trace for all names" "$(count_markers_in_state on)" "$many"
	check_command_for_all_names "many_* count" 0
	check_command_for_all_names "many_* -trace" 0
	same "markers with count stay on after -trace" "$(count_markers_in_state on)" "$many"
	check_command_for_all_names "* none" 3
	same "no marker is on after '* none'" "$(count_markers_in_state on)" 0
	test_all_or_nothing
	try "the module with ten thousand markers unloads" rmmod kmarkers_test_many
	same "no marker has a directory after the module unloaded" "$(find "$markers" -maxdepth 1 -name 'many_*')" ""
	same "no name is a trace event after the module unloaded" "$(many_events)" 0
}

# The kernel must let other tasks run while it prints a list of ten thousand lines, also to the log.
test_many_listed() {
	try "reading the list of ten thousand markers can be preempted" is_preempted "read -r line <$markers/list"
	try "reading the list of ten thousand values can be preempted" is_preempted "read -r line <$debugfs/immediate/list"
	insmod /modules/kmarkers_test_history.ko
	level=$(cut -f1 /proc/sys/kernel/printk)
	put 1 /proc/sys/kernel/printk
	try "logging ten thousand markers can be preempted" is_preempted "echo >/sys/module/kmarkers_test_history/parameters/list"
	put "$level" /proc/sys/kernel/printk
	rmmod kmarkers_test_history
}

# A command is refused as a whole if its pattern also matches a marker that cannot be traced.
test_all_or_nothing() {
	insmod /modules/kmarkers_test_events.ko
	put "many_0000 trace" "$markers"/control
	refused "trace is refused for a pattern with a marker that cannot be traced" "Invalid argument" put "* trace" "$markers"/control
	same "the refused pattern switched no marker" "$(count_markers_in_state on)" 1
	same "the refused pattern connected no probe" "$(cat "$markers"/ev_plain/probe)" ""
	put "many_0000 none" "$markers"/control
	rmmod kmarkers_test_events
}
