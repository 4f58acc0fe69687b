# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Storms of changes while something else goes on.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

noise=/sys/kernel/debug/kmarkers_test_noise

# How often each kind of noise was made.
noise_of() {
	sed -n "s/^$1 //p" "$noise"/counts
}

# The clean-up of a case that failed would leave sites changed.
case_with() {
	run_case "$1"
	result $? "$1 with $2"
}

# storms WITH CASE...: while what is named goes on
storms() {
	what=$1
	shift
	for case in "$@"; do
		case_with "$case" "$what"
	done
}
