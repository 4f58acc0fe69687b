# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The number of instructions that switching twenty thousand recorded functions (built with entry.mk)
# takes. The kernel runs under an emulator in which each instruction lasts a nanosecond, so all
# durations are counts.
# shellcheck source=tests/vm/lib_entry.sh
. /tests/lib_entry.sh
# shellcheck source=tests/vm/lib_turns.sh
. /tests/lib_turns.sh

counted=20000
counted_module=kmarkers_test_entry_many

# count_instructions: set $now to the number of instructions since boot
count_instructions() {
	{
		read -r _
		read -r _
		read -r _ _ now _
	} </proc/timer_list
}

# count_command NAME LINE: write a line to entry/control. Add as measurements: NAME, the number of
# instructions, without those that reading this number takes; and NAME-check and NAME-map, those in
# which the patcher checked the sites and mapped their text, rounded to thousands.
count_command() {
	check=$(patcher_stat check_us) map=$(patcher_stat map_us)
	count_instructions
	began=$now
	put "$2" "$entry/control"
	code=$?
	count_instructions
	ended=$now
	count_instructions
	add_measurement "$1" $((ended - began - (now - ended)))
	add_measurement "$1-check" $((($(patcher_stat check_us) - check) * 1000))
	add_measurement "$1-map" $((($(patcher_stat map_us) - map) * 1000))
	result $code "'$2' is accepted"
}

# expect_at_most LIMIT NAME WHAT: a test that the smallest measurement is within a limit. Ticks of
# the timer add some instructions to some measurements.
expect_at_most() {
	echo "# $3: $(print_minimum "$2") instructions"
	try "$3 takes at most $1 instructions" [ "$(print_minimum "$2")" -le "$1" ]
}

# The limits are promised in Documentation/function-entry.md.
test_entry_counts() {
	can_record "the module with 20000 recorded functions loads" || return
	try "the module with 20000 recorded functions loads" insmod "/modules/$counted_module.ko"
	for turn in 1 2 3; do
		for pattern in "$counted_module:" "$counted_module:*" "$counted_module:many_*"; do
			method=${pattern#*:}
			count_command "on$method" "$pattern count"
			on=$(entry_stat on)
			count_command "off$method" "$pattern -count"
			same "turn $turn: $pattern enables all functions, and disables them" "$on $(entry_stat on)" "$((on >= counted ? on : counted)) 0"
		done
		count_command other "kmarkers_test_other: count"
		count_command other "kmarkers_test_other: -count"
	done
	for method in on off "on*" "off*" "onmany_*" "offmany_*"; do
		expect_at_most 5000000 "$method" "switching 20000 functions ($method)"
		expect_at_most $((40 * counted)) "$method-check" "checking 20000 sites ($method)"
		expect_at_most $((15 * counted)) "$method-map" "mapping the text of 20000 sites ($method)"
	done
	expect_at_most 100000 other "a pattern that names another module"
	try "the module with 20000 recorded functions unloads" rmmod "$counted_module"
}
