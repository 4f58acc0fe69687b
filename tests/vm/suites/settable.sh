# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Immediate values that root sets through files in debugfs.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

test_settable() {
	values=$debugfs/immediate/values
	try "example_profile loads" insmod /modules/example_profile.ko
	grep -q "^prof_on 1 0x0 0 example_profile 1$" "$debugfs"/immediate/list
	result $? "the list shows name, size, value, updates, module and sites of prof_on"
	same "the file of prof_step shows the initial value" "$(cat "$values"/example_profile.prof_step)" 1
	for bad in 0 1001 -1 x 1x 99999999999999999999 ""; do
		refused "prof_step refuses '$bad'" "Invalid argument" \
			put "$bad" "$values"/example_profile.prof_step
	done
	logged "immediate: immediate value prof_step must be a number from 1 to 1000"
	result $? "the log names the bounds of prof_step"
	for bad in '7\0junk\n' '7\0' '7\n\n' '%066d9zzzz garbage' '%0100000d' '%031d7'; do
		refused "prof_step refuses '$bad'" "Invalid argument" \
			put_raw "$bad" "$values"/example_profile.prof_step
	done
	try "prof_step takes a number that is written by the same tool" put_raw '1\n' "$values"/example_profile.prof_step
	for bad in '0\0' '%066d9zzzz garbage' '%0100000d'; do
		refused "prof_on refuses '$bad'" "Invalid argument" \
			put_raw "$bad" "$values"/example_profile.prof_on
	done
	refused "prof_on refuses 2" "Invalid argument" put 2 "$values"/example_profile.prof_on
	same "refused values leave prof_step unchanged" "$(cat "$values"/example_profile.prof_step)" 1
	sleep 1
	same "no hit is counted while profiling is off" "$(cat /sys/module/example_profile/parameters/hits)" 0
	try "prof_step takes 1000" put 1000 "$values"/example_profile.prof_step
	try "prof_on takes 1" put 1 "$values"/example_profile.prof_on
	sleep 1
	hits=$(cat /sys/module/example_profile/parameters/hits)
	[ "$hits" -ge 5000 ] && [ $((hits % 1000)) -eq 0 ]
	result $? "hits are counted in steps of 1000 while profiling is on"
	try "prof_on takes 0" put 0 "$values"/example_profile.prof_on
	try "example_profile unloads" rmmod example_profile
	same "settable values have no files after their module unloaded" "$(ls "$values")" ""
}
