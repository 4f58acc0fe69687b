# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# All modules in and out, again and again: most of the times without the grace periods that
# unloading waits for, which is where the time goes.
test_cycles() {
	cycle=0
	while [ "$cycle" -lt "$cycles" ] && expedite $((cycle >= cycles / 10)) && load_core &&
		insmod /modules/example_client.ko && rmmod example_client && unload_core; do
		cycle=$((cycle + 1))
	done
	expedite 0
	same "all modules in and out" $cycle "$cycles"
	[ ! -e "$debugfs" ]
	result $? "no file is left in debugfs"
}
