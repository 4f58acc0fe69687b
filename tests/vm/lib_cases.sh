# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Runs the cases of kmarkers_test, which is loaded.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

run_cases() {
	# A missing wait for a grace period causes a fault sooner if grace periods are short.
	expedite 1
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
	same "as many cases ran as the module has" "$ran" "$(sed -n 's/^1\.\.//p' "$cases/results")"
	expedite 0
}
