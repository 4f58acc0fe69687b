# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The cases in a kernel with one CPU: a thread that waits must leave the CPU to others.
# shellcheck source=tests/vm/lib_cases.sh
. /tests/lib_cases.sh

test_alone() {
	same "the kernel has one CPU" "$(grep -c ^processor /proc/cpuinfo)" 1
	try "test module loads" insmod /modules/kmarkers_test.ko batches="$batches"
	run_cases
	try "test module unloads" rmmod kmarkers_test
	unload_core
	result $? "all modules unload"
}
