# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Activities that change text, repeated in the background: kprobes, ftrace, live patches, static
# keys, CPU hotplug, and the loading and unloading of modules.
# shellcheck source=tests/vm/lib_owners.sh
. /tests/lib_owners.sh

cpu1=/sys/devices/system/cpu/cpu1/online

# in_background NAME COMMAND: repeat the command in the background until /tmp/background is removed.
# /tmp/turns.NAME has the number of repetitions that succeeded, /tmp/vain.NAME the number of
# repetitions that failed, and /tmp/why.NAME the last error.
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

# check_background NAME...: for each command of in_background, a test that passes if the command
# succeeded in more than half of its repetitions
check_background() {
	for name in "$@"; do
		turns=$(cat "/tmp/turns.$name")
		vain=$(cat "/tmp/vain.$name")
		echo "# $name in the background: $turns repetitions succeeded, $vain failed"
		[ "$vain" -eq 0 ] || sed 's/^/# /' "/tmp/why.$name"
		[ "$turns" -gt "$vain" ]
		result $? "$name in the background: more than half of the repetitions succeeded"
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

# Take CPU 1 offline and online.
toggle_cpu() {
	put 0 "$cpu1" && [ "$(cat "$cpu1")" = 0 ] && sleep 0.2 && put 1 "$cpu1" && sleep 0.3
}

# toggle_client loads and unloads the module with a marker, and toggle_marker the module with the
# marker's probe. Each function is repeated in a loop of its own, so that either module may be
# loaded or unloaded during a change of the marker's sites.
toggle_client() {
	insmod /modules/example_client.ko && rmmod example_client
}

toggle_marker() {
	insmod /modules/example_probe.ko && rmmod example_probe
}

# Load and unload a module without sites.
toggle_stranger() {
	insmod /modules/kmarkers_test_stranger.ko && rmmod kmarkers_test_stranger
}

# remove_late_livepatch: remove a live patch that the last repetition left loaded. While a storm
# keeps tasks busy, the kernel may take longer to disable a live patch than remove_owner waits.
# Writing to "force" would not help: the kernel never unloads a live patch that was forced.
remove_late_livepatch() {
	remove_owner livepatch && echo >>/tmp/late_livepatches
}

toggle_livepatch() {
	! loaded kmarkers_test_livepatch || remove_late_livepatch || return
	make_owner livepatch || return
	remove_owner livepatch || remove_late_livepatch
}

# Use a kprobe in the kernel and a uprobe in a program: both set breakpoints that kmarkers did not
# set.
toggle_probes() {
	add_probe noise "$getpid" "$call" &&
		echo "p:kmarkers/user /bin/busybox:$busybox_entry" >>"$tracing"/uprobe_events &&
		enable_probe noise && enable_probe user &&
		sh -c : && [ "$(probe_hits noise)" -gt 0 ] && user_probe_was_hit
	code=$?
	disable_probe noise
	disable_probe user
	remove_probe noise
	echo "-:kmarkers/user" >>"$tracing"/uprobe_events
	return "$code"
}

user_probe_was_hit() {
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

# prepare_togglers: find where toggle_probes sets its probes: the call in getpid, and the offset of
# busybox's entry point in its file. The mask removes the base address of busybox: 4 MiB or 0.
prepare_togglers() {
	busybox_entry=$(($(od -A n -t u8 -j 24 -N 8 /bin/busybox) & 0x3fffff))
	: >/tmp/late_livepatches
	read_symbols
	find_call "$getpid"
}

# find_togglers: set $togglers to the names of the activities that this kernel supports
find_togglers() {
	togglers=
	for each in tracer keys cpu client marker stranger livepatch probes; do
		if has_toggler $each; then
			togglers="$togglers $each"
		else
			skip "$each in the background: more than half of the repetitions succeeded" \
				"this kernel does not support this activity: $each"
		fi
	done
}
