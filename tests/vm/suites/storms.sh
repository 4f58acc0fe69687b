# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Storms of changes beside everyone else who changes text: kprobes, ftrace, live patches, static
# keys, CPUs and modules that come and go.
# shellcheck source=tests/vm/lib_owners.sh
. /tests/lib_owners.sh
# shellcheck source=tests/vm/lib_storms.sh
. /tests/lib_storms.sh

cpu1=/sys/devices/system/cpu/cpu1/online

# in_background NAME COMMAND: a loop, until /tmp/background goes; what worked and what did not is
# counted in /tmp/turns.NAME and /tmp/vain.NAME
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

# went_on NAME...: did each work, more often than not?
went_on() {
	for name in "$@"; do
		turns=$(cat "/tmp/turns.$name")
		vain=$(cat "/tmp/vain.$name")
		echo "# $name: $turns turns, $vain in vain"
		[ "$vain" -eq 0 ] || sed 's/^/# /' "/tmp/why.$name"
		[ "$turns" -gt "$vain" ]
		result $? "$name went on"
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

toggle_cpu() {
	put 0 "$cpu1" && [ "$(cat "$cpu1")" = 0 ] && sleep 0.2 && put 1 "$cpu1" && sleep 0.3
}

# Two loops, so that a client comes and goes at any moment of a change of its own sites.
toggle_client() {
	insmod /modules/example_client.ko && rmmod example_client
}

toggle_marker() {
	insmod /modules/example_probe.ko && rmmod example_probe
}

# A module of somebody else's: it has no site.
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

# The patch of the last turn may still be there when the storm has ended.
end_livepatches() {
	has_livepatch || return 0
	! loaded kmarkers_test_livepatch || remove_late_livepatch 2>/dev/null
	echo "# livepatch: $(wc -l </tmp/late_livepatches) patches took longer than 20 s to remove"
	lacks "^kmarkers_test_livepatch " /proc/modules
	result $? "no live patch is loaded after the storm"
}

# Looks at the page tables while text is being written.
look_at_mappings() {
	ask mappings "$text" >>/tmp/mappings
}

# A breakpoint of somebody else's in the kernel, and one in a program.
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

# has_toggler NAME: does this kernel have what it toggles?
has_toggler() {
	case $1 in
	tracer) grep -q "\<function\>" "$tracing"/available_tracers ;;
	keys) [ -e /proc/sys/kernel/sched_schedstats ] ;;
	cpu) [ -e "$cpu1" ] ;;
	livepatch) has_livepatch ;;
	probes) [ -e "$tracing"/uprobe_events ] ;;
	esac
}

# Those of all togglers that have something to toggle.
find_togglers() {
	togglers=
	for each in tracer keys cpu client marker stranger livepatch probes; do
		if has_toggler $each; then
			togglers="$togglers $each"
		else
			skip "$each goes on" "this kernel has none"
		fi
	done
}

# A file that is no module is copied into an area of memory, and refused. The kernel frees the area,
# and purges it later.
free_area_is_listed() {
	! insmod /bin/busybox 2>/dev/null && grep -q unpurged /proc/vmallocinfo
}

batch_leaves_no_free_area() {
	put patcher_replaces_and_restores "$cases/run"
	lacks unpurged /proc/vmallocinfo
}

# What was seen while text was written, and what is left.
test_aliases() {
	grep -q "executable 0" /tmp/mappings && ! grep -v "executable 0" /tmp/mappings
	result $? "no mapping was writable and executable at any time"
	echo "# alias seen $(grep -c "writable 1" /tmp/mappings) of $(wc -l </tmp/mappings) times"
	grep -q "writable 1" /tmp/mappings
	result $? "an alias was seen while there was one"
	same "no alias is left" "$(ask mappings "$text")" "writable 0 executable 0"
	no_area_of kmarkers_patcher
	result $? "no area is left"
	try "an area that was freed and not purged is listed" within 5 free_area_is_listed
	try "no freed area is left to be purged after a batch" within 5 batch_leaves_no_free_area
}

# Runs need a kernel that preempts itself, prefixes one with a single CPU.
test_special() {
	case_with patcher_storm_of_runs "runs"
	case_with patcher_prefixes "two CPUs"
	put 0 "$cpu1"
	case_with patcher_prefixes "one CPU"
	put 1 "$cpu1"
	rmmod kmarkers_test
}

test_storms() {
	# Long enough for everybody else to have turns.
	must insmod /modules/kmarkers_test.ko batches=$((5 * batches)) || return
	try "noise" insmod /modules/kmarkers_test_noise.ko changes=1
	insmod /modules/kmarkers_test_core.ko
	read_symbols
	try "a call to probe" find_call "$getpid"
	# Where a program begins in its file, whether it is linked to 4 MiB or to 0.
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
	storms "everything else" patcher_storm_of_jumps patcher_storm_of_kinds \
		patcher_storm_of_thousands markers_storm
	rm /tmp/background
	wait
	# shellcheck disable=SC2086 # they are words
	went_on $togglers mappings
	end_livepatches
	sed 's/^/# /' "$noise"/counts
	for kind in timers samples keys kprobes changes; do
		[ "$(noise_of $kind)" -gt 0 ]
		result $? "$kind went on"
	done
	same "no wrong value in an interrupt" "$(noise_of wrong)" 0
	[ "$(stat_of hits)" -gt "$hits" ]
	result $? "breakpoints were met"
	try "noise ends" within 5 rmmod kmarkers_test_noise
	test_aliases
	rmmod kmarkers_test_core
	test_special
}
