# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The cases of kmarkers_test, also while other modules come and go. The module stays for the
# suite "modules".
# shellcheck source=tests/vm/lib_cases.sh
. /tests/lib_cases.sh

# Marked modules and probe modules come and go until the file is gone.
modules_come_and_go() {
	while [ -e /tmp/loading ]; do
		insmod /modules/example_probe.ko && insmod /modules/example_client.ko &&
			rmmod example_client && rmmod example_probe && echo >>/tmp/loads
	done
}

test_counts_during_loads() {
	: >/tmp/loads
	: >/tmp/loading
	modules_come_and_go &
	for case in markers_storm_exactly_once typed_storm_exactly_once; do
		before=$(wc -l </tmp/loads)
		# Short storms are repeated until a module has come and gone.
		for _ in $(seq 20); do
			run_case "$case"
			code=$?
			[ "$code" -eq 0 ] || break
			[ "$(wc -l </tmp/loads)" -eq "$before" ] || break
		done
		result "$code" "$case while modules come and go"
	done
	rm /tmp/loading
	wait
	[ "$(wc -l </tmp/loads)" -gt 1 ]
	result $? "modules came and went"
}

test_cases() {
	try "test module loads, values in place before init" \
		insmod /modules/kmarkers_test.ko batches="$batches"
	run_cases
	try "formats that differ" put markers_formats "$cases"/run
	logged 'test_format in hit_formats(): format "%ld %s" is not the registered "%d %s"'
	result $? "the log names both formats"
	refused "unknown case" "Invalid argument" put nothing "$cases"/run
	test_counts_during_loads
	sed 's/^/# patcher /' "$debugfs"/patcher/stats
	same "every batch is in the histogram" \
		"$(awk '/^batches_/ { n += $2 } END { print n }' "$debugfs"/patcher/stats)" \
		"$(stat_of batches)"
	[ "$(stat_of longest_round_us)" -gt 0 ]
	result $? "stats have the longest round"
	[ "$(stat_of longest_trap_us)" -gt 0 ] && [ "$(stat_of longest_wait_us)" -gt 0 ]
	result $? "stats have how long breakpoints stood and batches waited"
	# Kernels that can look for such mappings.
	wx=/sys/kernel/debug/page_tables/check_wx_pages
	if [ -r $wx ]; then
		same "no mapping is writable and executable" "$(cat $wx)" SUCCESS
	else
		skip "no mapping is writable and executable" "this kernel cannot look for such"
	fi
}
