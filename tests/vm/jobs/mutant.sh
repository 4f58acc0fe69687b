# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Runs tests of modules into which a fault was inserted on purpose. KMARKERS_CASES names the test
# cases to run, and KMARKERS_SUITES the suites.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

if [ "${KMARKERS_SUITES:-}" = target ]; then
	# The suite "target" loads the modules itself. To save time, it interrupts the measurement in
	# one way only.
	export KMARKERS_POINTS=running KMARKERS_SIGNALS=KILL
	run_suite target
	finish
fi
load_core || exit 1
insmod /modules/kmarkers_test.ko batches=50 || exit 1
for case in ${KMARKERS_CASES?}; do
	run_case "$case"
	result $? "$case"
done
# Suites load what they need, and unload modules that kmarkers_test depends on.
rmmod kmarkers_test || exit 1
for suite in ${KMARKERS_SUITES:-}; do
	run_suite "$suite"
done
no_vmalloc_area_of kmarkers_patcher
result $? "no area of kmarkers_patcher is mapped"
finish
