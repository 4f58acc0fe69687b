# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# A function that runs all test cases of the loaded module kmarkers_test.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

run_cases() {
	# Shorten grace periods: a fault then becomes more likely if code fails to wait for a grace
	# period.
	expedite_grace_periods 1
	ran=0
	# shellcheck disable=SC2013 # a name is one word
	for case in $(sed -n 's/^ok [0-9]* \([^ ]*\) # SKIP.*/\1/p' "$cases/results"); do
		ran=$((ran + 1))
		run_case "$case"
		code=$?
		why=$(sed -n "s/^ok [0-9]* $case # SKIP //p" "$cases/results")
		if [ -n "$why" ]; then
			skip "$case" "$why"
			continue
		fi
		result "$code" "$case"
	done
	same "all cases of kmarkers_test were run" "$ran" "$(sed -n 's/^1\.\.//p' "$cases/results")"
	expedite_grace_periods 0
}
