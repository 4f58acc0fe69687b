# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Storms of changes while all other code that changes text is active: kprobes, ftrace, live patches,
# static keys, CPU hotplug and module loading.
# shellcheck source=tests/vm/lib_togglers.sh
. /tests/lib_togglers.sh
# shellcheck source=tests/vm/lib_storms.sh
. /tests/lib_storms.sh

# remove_left_livepatch: remove the live patch that the last repetition of toggle_livepatch may have
# left loaded
remove_left_livepatch() {
	has_livepatch || return 0
	! loaded kmarkers_test_livepatch || remove_late_livepatch 2>/dev/null
	echo "# livepatch: $(wc -l </tmp/late_livepatches) patches took longer than 20 s to remove"
	lacks "^kmarkers_test_livepatch " /proc/modules
	result $? "no live patch is loaded after the storm"
}

# record_mappings: append to /tmp/mappings how the text of kmarkers_test is mapped now
record_mappings() {
	ask_core mappings "$text" >>/tmp/mappings
}

# free_area_is_listed: succeeds if /proc/vmallocinfo shows a freed area that is not purged yet.
# insmod of a file that is no module leaves such an area: the kernel frees its copy of the file, and
# purges the area later.
free_area_is_listed() {
	! insmod /bin/busybox 2>/dev/null && grep -q unpurged /proc/vmallocinfo
}

# batch_leaves_no_free_area: succeeds if no freed area is left unpurged after a batch
batch_leaves_no_free_area() {
	put patcher_replaces_and_restores "$case_to_run"
	lacks unpurged /proc/vmallocinfo
}

# Checks the mappings of the text of kmarkers_test during the storm and afterwards.
test_aliases() {
	grep -q "executable 0" /tmp/mappings && ! grep -v "executable 0" /tmp/mappings
	result $? "no mapping of the text was writable and executable during the storm"
	echo "# $(grep -c "writable 1" /tmp/mappings) of $(wc -l </tmp/mappings) samples of the page tables had a writable alias"
	grep -q "writable 1" /tmp/mappings
	result $? "the page tables show a writable alias while text is written"
	same "the page tables show no writable alias after the storm" "$(ask_core mappings "$text")" "writable 0 executable 0"
	no_vmalloc_area_of kmarkers_patcher
	result $? "no area of kmarkers_patcher is mapped after the storm"
	try "/proc/vmallocinfo shows an area that was freed and not purged" within 5 free_area_is_listed
	try "no freed area is unpurged after a batch" within 5 batch_leaves_no_free_area
}

# Runs the cases that need a kernel with full preemption. Runs the case of LOCK prefixes twice: with
# two CPUs online, and with one CPU, where the kernel removes the prefixes.
test_preemption_cases() {
	for case in patcher_storm_of_runs patcher_waits_for_a_held_task patcher_exchanges_prefix_of_a_held_task; do
		run_case_with "$case" "full preemption"
	done
	run_case_with patcher_prefixes "two CPUs"
	put 0 "$cpu1"
	run_case_with patcher_prefixes "one CPU"
	put 1 "$cpu1"
	rmmod kmarkers_test
}

test_storms() {
	# The storm is long enough for several repetitions of each command in the background.
	must insmod /modules/kmarkers_test.ko batches=$((5 * batches)) || return
	try "kmarkers_test_noise loads" insmod /modules/kmarkers_test_noise.ko changes=1
	insmod /modules/kmarkers_test_core.ko
	try "the call in getpid is found" prepare_togglers
	text=$(sed -n '/ execute_branches\t\[kmarkers_test\]/{s/ .*//p;q}' /proc/kallsyms)
	: >/tmp/mappings
	hits=$(patcher_stat hits)
	find_togglers
	: >/tmp/background
	for each in $togglers; do
		in_background "$each" "toggle_$each"
	done
	in_background mappings record_mappings
	run_storms "everything else that changes text" patcher_storm_of_jumps patcher_storm_of_kinds \
		patcher_storm_of_thousands markers_storm
	rm /tmp/background
	wait
	# shellcheck disable=SC2086 # they are words
	check_background $togglers mappings
	remove_left_livepatch
	sed 's/^/# /' "$noise"/counts
	for kind in timers samples keys kprobes changes; do
		[ "$(count_noise $kind)" -gt 0 ]
		result $? "kmarkers_test_noise has run the activity $kind"
	done
	same "no site executed by an interrupt had a wrong value" "$(count_noise wrong)" 0
	[ "$(patcher_stat hits)" -gt "$hits" ]
	result $? "CPUs hit breakpoints of the patcher during the storm"
	try "kmarkers_test_noise unloads" within 5 rmmod kmarkers_test_noise
	test_aliases
	rmmod kmarkers_test_core
	test_preemption_cases
}
