# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# Loads and unloads all modules repeatedly. RCU grace periods are expedited in most cycles, because
# unloading mostly waits for them.
test_cycles() {
	cycle=0
	while [ "$cycle" -lt "$cycles" ] && expedite_grace_periods $((cycle >= cycles / 10)) && load_core && load_bench &&
		insmod /modules/example_client.ko && rmmod example_client && unload_core; do
		cycle=$((cycle + 1))
	done
	expedite_grace_periods 0
	same "all modules load and unload in each cycle" $cycle "$cycles"
	[ ! -e "$debugfs" ]
	result $? "debugfs has no directory of kmarkers after all cycles"
}
