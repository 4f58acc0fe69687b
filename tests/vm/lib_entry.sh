# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Functions for tests of recorded function entries and exits.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

entry=$debugfs/entry
# shellcheck disable=SC2034 # for the scripts that source this
te=/sys/module/kmarkers_test_entry/parameters

# entry_lists PATTERN: succeeds if the pattern matches the beginning of a line of entry/list
entry_lists() {
	grep -q "^$1" "$entry/list"
}

# entry_hits KIND FUNCTION: print the number of hits of the test module's function; KIND is entry or
# exit
entry_hits() {
	awk -v name="kmarkers_test_entry:$2:$1" '$1 == name { sum += $4 } END { print sum + 0 }' "$entry/list"
}

# check_entry_command ROUNDS COMMAND: two tests: that entry/control accepts the command, and that
# the command takes ROUNDS rounds of the patcher
check_entry_command() {
	before=$(patcher_stat rounds)
	put "$2" "$entry/control"
	result $? "entry control accepts '$2'"
	same "'$2' takes $1 rounds of the patcher" $(($(patcher_stat rounds) - before)) "$1"
}

# entry_stat NAME: print the number with that name in entry/stats
entry_stat() {
	sed -n "s/^$1 //p" "$entry/stats"
}

# toggle_functions PATTERN: enable and disable counting of the functions until /tmp/stop exists
toggle_functions() {
	while [ ! -e /tmp/stop ]; do
		put "$1 count" "$entry/control"
		put "$1 -count" "$entry/control"
	done
}
