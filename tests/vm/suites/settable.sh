# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Values that are set through their files.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

test_settable() {
	values=$debugfs/immediate/values
	try "module with settable values" insmod /modules/example_profile.ko
	grep -q "^prof_on 1 0x0 0 example_profile 1$" "$debugfs"/immediate/list
	result $? "list shows variable, size, value, module and sites"
	same "value as compiled" "$(cat "$values"/example_profile.prof_step)" 1
	for bad in 0 1001 -1 x 1x "" 99999999999999999999; do
		refused "prof_step refuses '$bad'" "Invalid argument" \
			put "$bad" "$values"/example_profile.prof_step
	done
	for bad in '7\0junk\n' '7\0' '7\n\n' '%066d9zzzz garbage' '%0100000d' '%031d7'; do
		refused "prof_step refuses '$bad'" "Invalid argument" \
			put_raw "$bad" "$values"/example_profile.prof_step
	done
	try "prof_step takes the same way a number" put_raw '1\n' "$values"/example_profile.prof_step
	for bad in '0\0' '%066d9zzzz garbage' '%0100000d'; do
		refused "prof_on refuses '$bad'" "Invalid argument" \
			put_raw "$bad" "$values"/example_profile.prof_on
	done
	refused "prof_on refuses 2" "Invalid argument" put 2 "$values"/example_profile.prof_on
	same "value as before" "$(cat "$values"/example_profile.prof_step)" 1
	sleep 1
	same "no hit is counted while profiling is off" "$(cat /sys/module/example_profile/parameters/hits)" 0
	try "step of 1000" put 1000 "$values"/example_profile.prof_step
	try "profiling on" put 1 "$values"/example_profile.prof_on
	sleep 1
	hits=$(cat /sys/module/example_profile/parameters/hits)
	[ "$hits" -ge 5000 ] && [ $((hits % 1000)) -eq 0 ]
	result $? "hits are counted while profiling is on"
	try "profiling off" put 0 "$values"/example_profile.prof_on
	try "module with settable values unloads" rmmod example_profile
	same "files of settable values are gone" "$(ls "$values")" ""
}
