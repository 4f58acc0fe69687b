# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Functions for storms: cases that change sites while other activity runs in the kernel.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

noise=/sys/kernel/debug/kmarkers_test_noise

# count_noise KIND: print the number of activities of that kind that kmarkers_test_noise has run
count_noise() {
	sed -n "s/^$1 //p" "$noise"/counts
}

# run_case_with CASE ACTIVITY: run a case as a test named "CASE with ACTIVITY"
run_case_with() {
	run_case "$1"
	result $? "$1 with $2"
}

# run_storms ACTIVITY CASE...: run cases as tests named "CASE with ACTIVITY"
run_storms() {
	what=$1
	shift
	for case in "$@"; do
		run_case_with "$case" "$what"
	done
}
