# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The cases of kmarkers_test, some also while other modules are loaded and unloaded. kmarkers_test
# stays loaded for the suite "modules".
# shellcheck source=tests/vm/lib_cases.sh
. /tests/lib_cases.sh

# reload_modules_repeatedly: load and unload a module with a marker and one with a probe until
# /tmp/loading is removed; add a line to /tmp/loads each time
reload_modules_repeatedly() {
	while [ -e /tmp/loading ]; do
		insmod /modules/example_probe.ko && insmod /modules/example_client.ko &&
			rmmod example_client && rmmod example_probe && echo >>/tmp/loads
	done
}

test_counts_during_loads() {
	: >/tmp/loads
	: >/tmp/loading
	reload_modules_repeatedly &
	for case in markers_storm_exactly_once typed_storm_exactly_once; do
		before=$(wc -l </tmp/loads)
		# Repeat a short storm until the modules were loaded and unloaded at least once.
		for _ in $(seq 20); do
			run_case "$case"
			code=$?
			[ "$code" -eq 0 ] || break
			[ "$(wc -l </tmp/loads)" -eq "$before" ] || break
		done
		result "$code" "$case while modules are loaded and unloaded"
	done
	rm /tmp/loading
	wait
	[ "$(wc -l </tmp/loads)" -gt 1 ]
	result $? "modules were loaded and unloaded more than once during storms"
}

test_cases() {
	try "kmarkers_test loads, and its init function reads the initial values" \
		insmod /modules/kmarkers_test.ko batches="$batches"
	run_cases
	try "the case that registers probes with differing formats runs" put markers_formats "$case_to_run"
	logged 'test_format in hit_formats(): format "%ld %s" is not the registered format "%d %s"'
	result $? "the log names both formats"
	try "the case that registers probes with differing formats runs again" put markers_formats "$case_to_run"
	logged 'test_format: a probe with format "%d %s" is refused: the format of this marker name is "%ld %s"'
	result $? "the log names the format of the refused probe and that of the others"
	refused "an unknown case is refused" "Invalid argument" put nothing "$case_to_run"
	test_counts_during_loads
	sed 's/^/# patcher /' "$debugfs"/patcher/stats
	same "the histogram in stats counts every batch" \
		"$(awk '/^batches_/ { n += $2 } END { print n }' "$debugfs"/patcher/stats)" \
		"$(patcher_stat batches)"
	if [ "$(nproc)" -gt 1 ]; then
		[ "$(patcher_stat longest_round_us)" -gt 0 ]
		result $? "stats shows the longest round"
	else
		skip "stats shows the longest round" "a single CPU waits for no other"
	fi
	[ "$(patcher_stat longest_trap_us)" -gt 0 ] && [ "$(patcher_stat longest_wait_us)" -gt 0 ]
	result $? "stats shows the longest time of a breakpoint and the longest wait of a batch"
	# Only some kernels can search for writable and executable mappings.
	wx=/sys/kernel/debug/page_tables/check_wx_pages
	if [ -r $wx ]; then
		same "no mapping is writable and executable" "$(cat $wx)" SUCCESS
	else
		skip "no mapping is writable and executable" "this kernel cannot look for such mappings"
	fi
}
