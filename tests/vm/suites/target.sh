# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# scripts/target/measure.sh, which measures on a remote machine of a fleet, is interrupted by
# several signals at several points. The script must leave no process, no module and no change of
# getppid(2).
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

folder=/tmp/target

# print_kernel_bytes ADDRESS: print 64 bytes of the kernel's text, read from /proc/kcore
print_kernel_bytes() {
	headers=$(od -An -v -tu2 -j 56 -N 2 /proc/kcore)
	# Each program header has 7 fields of 8 bytes: type and flags, offset in the file, address,
	# physical address, size in the file, size in memory, and alignment.
	od -An -v -tx8 -w56 -j 64 -N $((headers * 56)) /proc/kcore |
		while read -r _ offset address _ _ size _; do
			into=$((0x$1 - 0x$address))
			if [ $into -ge 0 ] && [ $into -lt $((0x$size)) ]; then
				dd if=/proc/kcore bs=1 skip=$((0x$offset + into)) count=64 2>/dev/null | od -An -v -tx1
				break
			fi
		done
}

getppid_now() {
	print_kernel_bytes "$(sed -n 's/ T __x64_sys_getppid$//p' /proc/kallsyms)"
}

no_module_is_loaded() {
	! grep ^kmarkers_ /proc/modules
}

# at_POINT: succeeds if the script has reached the point at which it is to be interrupted
at_loading() {
	loaded kmarkers_patcher
}

at_running() {
	grep -q ^running "$debugfs"/bench/status 2>/dev/null
}

at_unloading() {
	loaded kmarkers_patcher && ! loaded kmarkers_bench && [ -e "$folder"/raw/env ]
}

# print_process_id FILE: print the process ID in a file of the folder
print_process_id() {
	cut -d' ' -f1 "$folder/$1"
}

# interrupt script/all SIGNAL POINT: send the signal to the script, or to the script, its guard and
# its job, when the point is reached. At the point "running", getppid(2) is changed before.
interrupt() {
	# Some points last only a short time, so they are polled without sleeping in between.
	until "at_$3"; do
		[ -e "$folder"/front ] || sleep 0.1
		guard_is_done && [ -e "$folder"/raw.tar ] && echo "# point $3 was not reached" && return
	done
	if [ "$3" = running ]; then
		put "getppid-live immediate" /sys/module/kmarkers_bench/parameters/control
		[ "$(getppid_now)" != "$original" ] && : >/tmp/changed
	fi
	kill -s "$2" "$(print_process_id front)"
	if [ "$1" = all ]; then
		kill -s "$2" "$(print_process_id alive)"
		kill -s "$2" -- "-$(print_process_id job)" 2>/dev/null
	fi
}

# run_script POINT: run the script with a long measurement, or with a short one for the point
# "unloading"
run_script() {
	rm -rf "$folder" /tmp/changed
	mkdir "$folder"
	cp /target/* "$folder"
	ln -s /modules "$folder/modules"
	blocks=20000
	[ "$1" != unloading ] || blocks=1
	# For the point "unloading", RCU grace periods are not expedited, so that unloading takes
	# longer.
	expedite_grace_periods "$([ "$1" = unloading ]; echo $?)"
	sh /target/measure.sh modules "$folder" $blocks 1 1 memcpy-4096 2>/tmp/said
}

# interrupt_and_check script/all SIGNAL POINT: run and interrupt the script; a test that passes if
# the script fails
interrupt_and_check() {
	interrupt "$@" &
	! run_script "$3"
	result $? "the script fails after $2 to $1 while $3"
	wait
	[ "$3" != running ] || [ -e /tmp/changed ]
	result $? "getppid(2) is changed before $2 to $1 while $3"
}

# guard_is_done: succeeds if the guard, which cleans up after an interruption, has ended
guard_is_done() {
	[ ! -e "$folder"/alive ]
}

# check_nothing_left WHEN: tests that no module, no process and no change of getppid(2) is left
check_nothing_left() {
	no_module_is_loaded
	result $? "no module is loaded after $1"
	same "getppid(2) is as before after $1" "$(getppid_now)" "$original"
	! grep -l "$folder" /proc/[0-9]*/cmdline
	result $? "no process is left after $1"
}

test_target() {
	original=$(getppid_now)
	[ "$original" ]
	result $? "the kernel's text can be read"
	expedite_grace_periods 1
	for point in ${KMARKERS_POINTS:-loading running unloading}; do
		# The script handles TERM, INT and HUP alike, so INT and HUP are sent at one point only.
		signals="TERM KILL"
		[ "$point" != running ] || signals="TERM INT HUP KILL"
		for signal in ${KMARKERS_SIGNALS:-$signals}; do
			interrupt_and_check script "$signal" "$point"
			within 120 guard_is_done
			result $? "the guard ends after $signal while $point"
			check_nothing_left "$signal while $point"
		done
		interrupt_and_check all KILL "$point"
		[ "$point" = loading ] || [ -e "$folder"/alive ]
		result $? "the guard is killed, too, while $point"
		try "measure.sh clean succeeds after all processes were killed while $point" sh /target/measure.sh clean "$folder"
		check_nothing_left "measure.sh clean while $point"
	done
	run_script unloading
	result $? "the script succeeds if it is not interrupted"
	[ -s "$folder"/raw.tar ] && [ ! -e "$folder"/loading ]
	result $? "the script writes samples if it is not interrupted"
	check_nothing_left "an uninterrupted measurement"
	insmod /modules/kmarkers_patcher.ko
	refused "the script refuses to run if other users have loaded modules" "already loaded, not by this script: kmarkers_patcher" \
		sh /target/measure.sh modules "$folder" 1 1 1
	try "measure.sh clean succeeds if nothing is left" sh /target/measure.sh clean "$folder"
	loaded kmarkers_patcher
	result $? "measure.sh clean does not unload modules of other users"
	rmmod kmarkers_patcher
	expedite_grace_periods 0
}
