# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Storms of changes beside everything else that changes text: kprobes, ftrace, live patches, static
# keys, and CPUs and modules that come and go.
# shellcheck source=tests/vm/lib_owners.sh
. /tests/lib_owners.sh
# shellcheck source=tests/vm/lib_storms.sh
. /tests/lib_storms.sh

cpu1=/sys/devices/system/cpu/cpu1/online

# in_background NAME COMMAND: repeat the command in the background until /tmp/background is removed.
# /tmp/turns.NAME counts the turns that worked, /tmp/vain.NAME those that failed, and /tmp/why.NAME
# holds the last error.
in_background() {
	name=$1
	shift
	echo 0 >"/tmp/turns.$name"
	echo 0 >"/tmp/vain.$name"
	(
		turns=0
		vain=0
		while [ -e /tmp/background ]; do
			if "$@" >/dev/null 2>"/tmp/said.$name"; then
				turns=$((turns + 1))
			else
				vain=$((vain + 1))
				cp "/tmp/said.$name" "/tmp/why.$name"
			fi
			echo $turns >"/tmp/turns.$name"
			echo $vain >"/tmp/vain.$name"
		done
	) &
}

# went_on NAME...: each command of in_background must have worked in more than half of its turns
went_on() {
	for name in "$@"; do
		turns=$(cat "/tmp/turns.$name")
		vain=$(cat "/tmp/vain.$name")
		echo "# $name: $turns turns worked, $vain failed"
		[ "$vain" -eq 0 ] || sed 's/^/# /' "/tmp/why.$name"
		[ "$turns" -gt "$vain" ]
		result $? "$name worked in more than half of its turns"
	done
}

toggle_tracer() {
	put function "$tracing"/current_tracer &&
		sleep 0.2 &&
		put nop "$tracing"/current_tracer &&
		sleep 0.2
}

toggle_keys() {
	put 1 /proc/sys/kernel/sched_schedstats &&
		put 1 "$tracing"/events/sched/enable &&
		put 0 "$tracing"/events/sched/enable &&
		put 0 /proc/sys/kernel/sched_schedstats
}

# One of the two CPUs goes offline and comes back.
toggle_cpu() {
	put 0 "$cpu1" && [ "$(cat "$cpu1")" = 0 ] && sleep 0.2 && put 1 "$cpu1" && sleep 0.3
}

# The module with the marker and the one with its probe come and go in loops of their own, so that
# either does so at any moment of a change of the marker's sites.
toggle_client() {
	insmod /modules/example_client.ko && rmmod example_client
}

toggle_marker() {
	insmod /modules/example_probe.ko && rmmod example_probe
}

# A module without sites.
toggle_stranger() {
	insmod /modules/kmarkers_test_stranger.ko && rmmod kmarkers_test_stranger
}

# While a storm keeps tasks busy, the kernel may take longer to disable a live patch than
# remove_owner waits. Until it has, the module stays loaded and insmod fails. Writing to "force" is
# no remedy: the kernel never unloads a patch whose disabling was forced.
remove_late_livepatch() {
	remove_owner livepatch && echo >>/tmp/late_livepatches
}

toggle_livepatch() {
	! loaded kmarkers_test_livepatch || remove_late_livepatch || return
	make_owner livepatch || return
	remove_owner livepatch || remove_late_livepatch
}

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

# A kprobe in the kernel and a uprobe in a program: breakpoints that are not the patcher's.
toggle_probes() {
	add_probe noise "$getpid" "$call" &&
		echo "p:kmarkers/user /bin/busybox:$entry" >>"$tracing"/uprobe_events &&
		enable_probe noise && enable_probe user &&
		sh -c : && [ "$(probe_hits noise)" -gt 0 ] && user_probe_hits
	code=$?
	disable_probe noise
	disable_probe user
	remove_probe noise
	echo "-:kmarkers/user" >>"$tracing"/uprobe_events
	return "$code"
}

user_probe_hits() {
	[ "$(sed -n 's/.* user *\([0-9]*\)$/\1/p' "$tracing"/uprobe_profile)" -gt 0 ]
}

# has_toggler NAME: succeeds if this kernel has what toggle_NAME toggles
has_toggler() {
	case $1 in
	tracer) grep -q "\<function\>" "$tracing"/available_tracers ;;
	keys) [ -e /proc/sys/kernel/sched_schedstats ] ;;
	cpu) [ -e "$cpu1" ] ;;
	livepatch) has_livepatch ;;
	probes) [ -e "$tracing"/uprobe_events ] ;;
	esac
}

# find_togglers: set $togglers to the names of those that have something to toggle in this kernel
find_togglers() {
	togglers=
	for each in tracer keys cpu client marker stranger livepatch probes; do
		if has_toggler $each; then
			togglers="$togglers $each"
		else
			skip "$each worked in more than half of its turns" "this kernel has none"
		fi
	done
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

# Mappings of text that were there while it was written, and afterwards.
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

# The case of runs needs a kernel that preempts itself; a LOCK prefix is dropped with one CPU only.
test_special() {
	case_with patcher_storm_of_runs "a kernel that preempts itself"
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
	read_symbols
	try "the call in getpid is found" find_call "$getpid"
	# The offset of the program's entry in its file, whether it is linked to 4 MiB or to 0.
	entry=$(($(od -A n -t u8 -j 24 -N 8 /bin/busybox) & 0x3fffff))
	text=$(sed -n '/ pass_branches\t\[kmarkers_test\]/{s/ .*//p;q}' /proc/kallsyms)
	: >/tmp/mappings
	: >/tmp/late_livepatches
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
