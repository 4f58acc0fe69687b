# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The cases of kmarkers_test in a kernel with one CPU, where a thread that waits must let others
# run.
# shellcheck source=tests/vm/lib_cases.sh
. /tests/lib_cases.sh

test_alone() {
	same "the kernel has one CPU" "$(grep -c ^processor /proc/cpuinfo)" 1
	try "kmarkers_test loads" insmod /modules/kmarkers_test.ko batches="$batches"
	run_cases
	try "kmarkers_test unloads" rmmod kmarkers_test
	unload_core
	result $? "all modules unload"
}
