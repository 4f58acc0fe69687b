# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Storms of changes beside all other code that changes text: kprobes, ftrace, live patches, static
# keys, CPU hotplug and module loading.
# shellcheck source=tests/vm/lib_togglers.sh
. /tests/lib_togglers.sh
# shellcheck source=tests/vm/lib_storms.sh
. /tests/lib_storms.sh

# The live patch of the last turn may still be loaded when the storm has ended.
end_livepatches() {
	has_livepatch || return 0
	! loaded kmarkers_test_livepatch || remove_late_livepatch 2>/dev/null
	echo "# livepatch: $(wc -l </tmp/late_livepatches) patches took longer than 20 s to remove"
	lacks "^kmarkers_test_livepatch " /proc/modules
	result $? "no live patch is loaded after the storm"
}

# Reads from the page tables how the text of kmarkers_test is mapped while it is being written.
look_at_mappings() {
	ask mappings "$text" >>/tmp/mappings
}

# insmod of a file that is no module: the kernel copies it into an area of memory, refuses it, frees
# the area, and purges the area later.
free_area_is_listed() {
	! insmod /bin/busybox 2>/dev/null && grep -q unpurged /proc/vmallocinfo
}

batch_leaves_no_free_area() {
	put patcher_replaces_and_restores "$case_to_run"
	lacks unpurged /proc/vmallocinfo
}

# Mappings of text during writes to it, and afterwards.
test_aliases() {
	grep -q "executable 0" /tmp/mappings && ! grep -v "executable 0" /tmp/mappings
	result $? "no mapping was writable and executable at any time"
	echo "# $(grep -c "writable 1" /tmp/mappings) of $(wc -l </tmp/mappings) looks saw a writable alias"
	grep -q "writable 1" /tmp/mappings
	result $? "the page tables show a writable alias while text is written"
	same "the page tables show no writable alias after the storm" "$(ask mappings "$text")" "writable 0 executable 0"
	no_area_of kmarkers_patcher
	result $? "no area of kmarkers_patcher is mapped after the storm"
	try "an area that was freed and not purged is listed" within 5 free_area_is_listed
	try "no freed area is left to be purged after a batch" within 5 batch_leaves_no_free_area
}

# The cases of runs and of held tasks need a kernel with full preemption; a LOCK prefix is dropped
# with one CPU only.
test_special() {
	for case in patcher_storm_of_runs patcher_waits_for_a_held_task patcher_exchanges_prefix_of_a_held_task; do
		case_with "$case" "a kernel that preempts itself"
	done
	case_with patcher_prefixes "two CPUs"
	put 0 "$cpu1"
	case_with patcher_prefixes "one CPU"
	put 1 "$cpu1"
	rmmod kmarkers_test
}

test_storms() {
	# The storm is long enough for each command in the background to have turns.
	must insmod /modules/kmarkers_test.ko batches=$((5 * batches)) || return
	try "the module of noise loads" insmod /modules/kmarkers_test_noise.ko changes=1
	insmod /modules/kmarkers_test_core.ko
	try "the call in getpid is found" prepare_togglers
	text=$(sed -n '/ pass_branches\t\[kmarkers_test\]/{s/ .*//p;q}' /proc/kallsyms)
	: >/tmp/mappings
	hits=$(stat_of hits)
	find_togglers
	: >/tmp/background
	for each in $togglers; do
		in_background "$each" "toggle_$each"
	done
	in_background mappings look_at_mappings
	storms "everything else that changes text" patcher_storm_of_jumps patcher_storm_of_kinds \
		patcher_storm_of_thousands markers_storm
	rm /tmp/background
	wait
	# shellcheck disable=SC2086 # they are words
	went_on $togglers mappings
	end_livepatches
	sed 's/^/# /' "$noise"/counts
	for kind in timers samples keys kprobes changes; do
		[ "$(noise_of $kind)" -gt 0 ]
		result $? "noise of $kind was made"
	done
	same "no site that an interrupt executed gave a wrong value" "$(noise_of wrong)" 0
	[ "$(stat_of hits)" -gt "$hits" ]
	result $? "CPUs met breakpoints of the patcher"
	try "the module of noise unloads" within 5 rmmod kmarkers_test_noise
	test_aliases
	rmmod kmarkers_test_core
	test_special
}
