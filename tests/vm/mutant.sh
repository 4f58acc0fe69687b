# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# A few cases, for modules that were broken on purpose. KMARKERS_CASES names them.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

load_core || exit 1
insmod /modules/kmarkers_test.ko batches=50 || exit 1
cases=/sys/kernel/debug/kmarkers_test
for case in ${KMARKERS_CASES?}; do
	put "$case" $cases/run
	grep -q "^ok [0-9]* $case\$" $cases/results
	result $? "$case"
done
! grep -q '\[patcher\]' /proc/vmallocinfo
result $? "no area of ours is mapped"
finish
