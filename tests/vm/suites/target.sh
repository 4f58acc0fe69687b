# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The script that measures on a machine of a fleet is interrupted at several points, in every way.
# The script must leave nothing: no process, no module, no change of getppid(2).
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

folder=/tmp/target

# kernel_bytes ADDRESS: print 64 bytes of the kernel's text, as /proc/kcore has them
kernel_bytes() {
	headers=$(od -An -v -tu2 -j 56 -N 2 /proc/kcore)
	# The fields of each program header: type and flags, offset in the file, address, physical
	# address, sizes in the file and in memory, alignment.
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
	kernel_bytes "$(sed -n 's/ T __x64_sys_getppid$//p' /proc/kallsyms)"
}

nothing_loaded() {
	! grep ^kmarkers_ /proc/modules
}

# The points at which the script is interrupted.
at_loading() {
	loaded kmarkers_patcher
}

at_running() {
	grep -q ^running "$debugfs"/bench/status 2>/dev/null
}

at_unloading() {
	loaded kmarkers_patcher && ! loaded kmarkers_bench && [ -e "$folder"/raw/env ]
}

# process_in FILE: print the process ID in a file of the folder
process_in() {
	cut -d' ' -f1 "$folder/$1"
}

# interrupt WHOM SIGNAL POINT: send the signal at the point. At the point "running", getppid(2) is
# changed first.
interrupt() {
	# Some points last only a short time, so they are polled without a sleep.
	until "at_$3"; do
		[ -e "$folder"/front ] || sleep 0.1
		guard_is_done && [ -e "$folder"/raw.tar ] && echo "# point $3 was not reached" && return
	done
	if [ "$3" = running ]; then
		put "getppid-live immediate" /sys/module/kmarkers_bench/parameters/control
		[ "$(getppid_now)" != "$original" ] && : >/tmp/changed
	fi
	kill -s "$2" "$(process_in front)"
	if [ "$1" = all ]; then
		kill -s "$2" "$(process_in alive)"
		kill -s "$2" -- "-$(process_in job)" 2>/dev/null
	fi
}

# measure POINT: start the script with a long measurement, or a short one for the point "unloading"
measure() {
	rm -rf "$folder" /tmp/changed
	mkdir "$folder"
	cp /target/* "$folder"
	ln -s /modules "$folder/modules"
	blocks=20000
	[ "$1" != unloading ] || blocks=1
	# Unloading takes a while if grace periods are long.
	expedite "$([ "$1" = unloading ]; echo $?)"
	sh /target/measure.sh modules "$folder" $blocks 1 1 memcpy-4096 2>/tmp/said
}

# interrupted WHOM SIGNAL POINT: measure and interrupt the measurement; passes if the script fails
interrupted() {
	interrupt "$@" &
	! measure "$3"
	result $? "the script fails that is interrupted by $2 to $1 while $3"
	wait
	[ "$3" != running ] || [ -e /tmp/changed ]
	result $? "getppid(2) is changed before $2 to $1 while $3"
}

guard_is_done() {
	[ ! -e "$folder"/alive ]
}

# nothing_stays WHAT: passes if no module, no process and no change of getppid(2) is left
nothing_stays() {
	nothing_loaded
	result $? "no module is loaded after $1"
	same "getppid(2) is as before after $1" "$(getppid_now)" "$original"
	! grep -l "$folder" /proc/[0-9]*/cmdline
	result $? "no process is left after $1"
}

test_target() {
	original=$(getppid_now)
	[ "$original" ]
	result $? "the kernel's text can be read"
	expedite 1
	for point in ${KMARKERS_POINTS:-loading running unloading}; do
		for signal in ${KMARKERS_SIGNALS:-TERM INT HUP KILL}; do
			interrupted script "$signal" "$point"
			within 120 guard_is_done
			result $? "the guard ends after $signal while $point"
			nothing_stays "$signal while $point"
		done
		interrupted all KILL "$point"
		[ "$point" = loading ] || [ -e "$folder"/alive ]
		result $? "the guard is killed, too, while $point"
		try "cleaning succeeds after all were killed while $point" sh /target/measure.sh clean "$folder"
		nothing_stays "cleaning of $point"
	done
	measure unloading
	result $? "the script measures if nothing interrupts it"
	[ -s "$folder"/raw.tar ] && [ ! -e "$folder"/loading ]
	result $? "the script leaves samples"
	nothing_stays "measuring"
	insmod /modules/kmarkers_patcher.ko
	refused "modules of someone else" "loaded already, by someone else: kmarkers_patcher" \
		sh /target/measure.sh modules "$folder" 1 1 1
	try "cleaning succeeds where nothing is left" sh /target/measure.sh clean "$folder"
	loaded kmarkers_patcher
	result $? "cleaning leaves modules of someone else"
	rmmod kmarkers_patcher
	expedite 0
}
