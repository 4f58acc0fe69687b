# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Changes of text beside everyone else who changes text: kprobes, ftrace, live patches, static
# keys, CPUs and modules that come and go.
# shellcheck source=tests/vm/corelib.sh
. /tests/corelib.sh

noise=/sys/kernel/debug/kmarkers_test_noise
cpu1=/sys/devices/system/cpu/cpu1/online

redirect() {
	command_core redirect "$getppid" "$callee"
}

# pid_is WANTED: what getppid returns; WANTED may be real
pid_is() {
	pid=$(parent_pid)
	case $1 in
	real) [ "$pid" = $$ ] || [ "$pid" -lt 4000 ] ;;
	*) [ "$pid" = "$1" ] ;;
	esac || {
		echo "# getppid returned $pid, not $1"
		return 1
	}
}

# Hits of the probe "site" since the last call.
new_hits() {
	hits=$(probe_hits site)
	old_hits=${last_hits:-0}
	last_hits=$hits
	[ "${hits:-0}" -gt "$old_hits" ]
}

# make_owner KIND: put a kprobe on the call, which no kernel optimises, or another owner on the
# function
make_owner() {
	last_hits=0
	case $1 in
	disabled) add_probe site "$getppid" "$call" ;;
	armed) add_probe site "$getppid" "$call" && enable_probe site ;;
	ftrace)
		# One of the names that the function has.
		put "$(grep -m 1 getppid $tracing/available_filter_functions)" \
			$tracing/set_ftrace_filter && put function $tracing/current_tracer
		;;
	livepatch) insmod /modules/kmarkers_test_livepatch.ko ;;
	esac
}

remove_owner() {
	case $1 in
	disabled) remove_probe site ;;
	armed)
		disable_probe site
		remove_probe site
		;;
	ftrace)
		put nop $tracing/current_tracer
		put "" $tracing/set_ftrace_filter
		;;
	livepatch)
		put 0 /sys/kernel/livepatch/kmarkers_test_livepatch/enabled
		within 20 rmmod_livepatch
		;;
	esac
}

has_livepatch() {
	[ -e /modules/kmarkers_test_livepatch.ko ]
}

rmmod_livepatch() {
	rmmod kmarkers_test_livepatch 2>/dev/null
}

# owner_sees KIND: does it work while the call is as it is?
owner_sees() {
	case $1 in
	armed) pid_is "$2" && new_hits ;;
	ftrace)
		put "" "$tracing"/trace
		pid_is "$2" && grep -q getppid "$tracing"/trace
		;;
	livepatch) within 20 pid_is 4444 >/dev/null ;;
	*) pid_is "$2" ;;
	esac
}

# An owner of the call itself keeps us out as long as it is there.
test_owner_of_call() {
	make_owner "$1"
	result $? "$1 kprobe before"
	refused "$1 kprobe: redirect refused" "busy" redirect
	logged "refused: a kprobe"
	result $? "$1 kprobe: the log names a kprobe as the reason"
	try "$1 kprobe works" owner_sees "$1" real
	try "$1 kprobe goes" remove_owner "$1"
	same "$1 kprobe: bytes as before" "$(call_bytes)" "$bytes"

	try "redirect before $1 kprobe" redirect
	try "$1 kprobe after" make_owner "$1"
	try "$1 kprobe works on the redirected call" owner_sees "$1" 4242
	refused "$1 kprobe: restore refused" "busy" command_core restore
	logged "refused: a kprobe"
	result $? "$1 kprobe: the log names a kprobe as the reason"
	try "$1 kprobe: the call is still redirected" pid_is 4242
	try "$1 kprobe goes" remove_owner "$1"
	try "$1 kprobe gone: the call is still redirected" pid_is 4242
	try "restore after $1 kprobe" command_core restore
	try "the real call" pid_is real
	same "$1 kprobe: bytes as before" "$(call_bytes)" "$bytes"
}

# An owner of the function's entry and we do not meet.
test_owner_of_entry() {
	try "$1 before" make_owner "$1"
	try "$1 works" owner_sees "$1" real
	try "$1: redirect" redirect
	try "$1 works on" owner_sees "$1" 4242
	try "$1: restore" command_core restore
	same "$1: bytes as before" "$(call_bytes)" "$bytes"
	try "redirect again" redirect
	try "$1 goes during" remove_owner "$1"
	try "$1: redirected" pid_is 4242
	try "$1 after" make_owner "$1"
	try "$1 works" owner_sees "$1" 4242
	try "$1 goes" remove_owner "$1"
	try "$1: redirected" pid_is 4242
	try "restore" command_core restore
	try "the real call" pid_is real
	same "$1: bytes as before" "$(call_bytes)" "$bytes"
}

# come_and_go KIND FILE: until FILE is gone; there for a while, and not there for a while
come_and_go() {
	while [ -e "$2" ]; do
		make_owner "$1"
		pid_is real >/dev/null
		remove_owner "$1"
		sleep 0.05
	done 2>/dev/null
}

# Both at it all the time: any order is possible; only the refusals that are documented are.
test_during() {
	: >/tmp/during
	come_and_go "$1" /tmp/during >/dev/null &
	changed=0
	odd=0
	for _ in $(seq 40); do
		if said=$( (redirect) 2>&1); then
			changed=$((changed + 1))
			until said=$( (command_core restore) 2>&1); do
				case $said in
				*busy* | *"Illegal byte"* | *"Invalid or incomplete"*) ;;
				*)
					odd=$((odd + 1))
					echo "# restore: $said"
					;;
				esac
			done
		else
			case $said in
			*busy* | *"Illegal byte"* | *"Invalid or incomplete"*) ;;
			*)
				odd=$((odd + 1))
				echo "# redirect: $said"
				;;
			esac
		fi
	done
	rm /tmp/during
	wait
	echo "# $changed of 40 changes made"
	[ $odd -eq 0 ] && [ $changed -gt 0 ]
	result $? "$1 comes and goes during changes"
	try "the real call" pid_is real
	same "bytes as before" "$(call_bytes)" "$bytes"
}

test_owners() {
	must insmod /modules/kmarkers_test_core.ko || return
	read_symbols
	try "a call to redirect" find_call "$getppid"
	bytes=$(call_bytes)
	for owner in disabled armed; do
		test_owner_of_call $owner
		test_during $owner
	done
	owners=ftrace
	if has_livepatch; then
		owners="ftrace livepatch"
	else
		skip "live patch" "this kernel has none"
	fi
	for owner in $owners; do
		test_owner_of_entry "$owner"
		test_during "$owner"
	done
	test_detour_owners
	rmmod kmarkers_test_core
}

# A detour is one of ftrace's own clients, and like a live patch the only one of its kind.
test_detour_owners() {
	make_owner ftrace
	try "detour of a traced function" command_core detour "$getppid"
	try "the detour" pid_is 4343
	remove_owner ftrace
	try "the detour" pid_is 4343
	if has_livepatch; then
		refused "live patch of a detour" "busy" insmod /modules/kmarkers_test_livepatch.ko
		dmesg -c | grep -v "livepatch:" >/dev/null
		try "undetour" command_core undetour
		try "live patch" make_owner livepatch
		refused "detour of a live patch" "busy" command_core detour "$getppid"
		try "live patch goes" remove_owner livepatch
	else
		try "undetour" command_core undetour
	fi
	try "the real function" pid_is real
}

# How often each kind of noise was made.
noise_of() {
	sed -n "s/^$1 //p" $noise/counts
}

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

toggle_livepatch() {
	make_owner livepatch && remove_owner livepatch
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

# The clean-up of a case that failed would leave sites changed.
case_with() {
	run_case "$1"
	result $? "$1 with $2"
}

# storms WITH CASE...: while what is named goes on
storms() {
	what=$1
	shift
	for case in "$@"; do
		case_with "$case" "$what"
	done
}

test_storms() {
	# Long enough for everybody else to have turns.
	must insmod /modules/kmarkers_test.ko batches=$((5 * batches)) || return
	try "noise" insmod /modules/kmarkers_test_noise.ko changes=1
	insmod /modules/kmarkers_test_core.ko
	read_symbols
	try "a call to probe" find_call $getpid
	# Where a program begins in its file, whether it is linked to 4 MiB or to 0.
	entry=$(($(od -A n -t u8 -j 24 -N 8 /bin/busybox) & 0x3fffff))
	text=$(sed -n '/ pass_branches\t\[kmarkers_test\]/{s/ .*//p;q}' /proc/kallsyms)
	: >/tmp/mappings
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
	sed 's/^/# /' $noise/counts
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
}

nothing_unpurged() {
	put patcher_replaces_and_restores "$cases/run"
	! grep -q unpurged /proc/vmallocinfo
}

# What was seen while text was written, and what is left.
test_aliases() {
	! grep -v "executable 0" /tmp/mappings
	result $? "no mapping was writable and executable at any time"
	echo "# alias seen $(grep -c "writable 1" /tmp/mappings) of $(wc -l </tmp/mappings) times"
	grep -q "writable 1" /tmp/mappings
	result $? "an alias was seen while there was one"
	same "no alias is left" "$(ask mappings "$text")" "writable 0 executable 0"
	! grep -q '\[kmarkers_patcher\]' /proc/vmallocinfo
	result $? "no area is left"
	try "no area waits to be purged" within 5 nothing_unpurged
}

# Runs need a kernel that preempts itself, prefixes one with a single CPU.
test_special() {
	case_with patcher_storm_of_runs "runs"
	case_with patcher_prefixes "two CPUs"
	put 0 $cpu1
	case_with patcher_prefixes "one CPU"
	put 1 $cpu1
	rmmod kmarkers_test
}

# Non-maskable interrupts in the middle of everything; the emulator sends them all the time.
test_nmis() {
	must insmod /modules/kmarkers_test.ko batches=$((5 * batches)) || return
	# What is executed in them is changed as well.
	try "noise" insmod /modules/kmarkers_test_noise.ko changes=1
	for cpu in 0 1; do
		nmis_of $cpu >/tmp/nmis.$cpu
	done
	storms "NMIs" patcher_storm_of_jumps patcher_storm_of_kinds markers_storm
	for cpu in 0 1; do
		count=$(($(nmis_of $cpu) - $(cat /tmp/nmis.$cpu)))
		echo "# $count NMIs on CPU $cpu"
		[ $count -gt 10 ]
		result $? "NMIs on CPU $cpu"
	done
	[ "$(noise_of nmis)" -gt 10 ]
	result $? "sites were executed in them"
	same "no wrong value in them" "$(noise_of wrong)" 0
	try "noise ends" within 5 rmmod kmarkers_test_noise
	rmmod kmarkers_test
}

# nmis_of CPU
nmis_of() {
	awk -v field=$(($1 + 2)) '$1 == "NMI:" { print $field }' /proc/interrupts
}
