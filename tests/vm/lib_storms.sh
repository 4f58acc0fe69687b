# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Functions for storms of changes beside other activity in the kernel.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

noise=/sys/kernel/debug/kmarkers_test_noise

# noise_of KIND: print how often kmarkers_test_noise made noise of that kind
noise_of() {
	sed -n "s/^$1 //p" "$noise"/counts
}

# case_with CASE ACTIVITY: run a case; its result names the activity beside it
case_with() {
	run_case "$1"
	result $? "$1 with $2"
}

# storms ACTIVITY CASE...: run cases; their results name the activity beside them
storms() {
	what=$1
	shift
	for case in "$@"; do
		case_with "$case" "$what"
	done
}
