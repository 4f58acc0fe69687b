# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# A few cases, for modules that were broken on purpose. KMARKERS_CASES names them, and
# KMARKERS_SUITES parts of check.sh: core, kprobes, landing, history, tables.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. /tests/lib.sh
# shellcheck source-path=SCRIPTDIR source=core.sh
. /tests/core.sh
# shellcheck source-path=SCRIPTDIR source=kprobes.sh
. /tests/kprobes.sh
# shellcheck source-path=SCRIPTDIR source=landing.sh
. /tests/landing.sh
# shellcheck source-path=SCRIPTDIR source=history.sh
. /tests/history.sh
# shellcheck source-path=SCRIPTDIR source=tables.sh
. /tests/tables.sh

load_core || exit 1
insmod /modules/kmarkers_test.ko batches=50 || exit 1
for case in ${KMARKERS_CASES?}; do
	run_case "$case"
	result $? "$case"
done
for suite in ${KMARKERS_SUITES:-}; do
	case $suite in
	core) test_core ;;
	kprobes) test_kprobes ;;
	landing) test_landing ;;
	history) test_history ;;
	tables) test_tables ;;
	*) try "suite $suite" false ;;
	esac
done
! grep -q '\[kmarkers_patcher\]' /proc/vmallocinfo
result $? "no area of ours is mapped"
finish
