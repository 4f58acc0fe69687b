# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Runs tests for one row of the processor table: checks the number of CPUs and the preemption
# model of the guest, and runs the suites that KMARKERS_SUITES names.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

flaws=/sys/devices/system/cpu/vulnerabilities
preemption=/sys/kernel/debug/sched/preempt

for flaw in spectre_v2 retbleed spec_rstack_overflow indirect_target_selection; do
	[ ! -r $flaws/$flaw ] || echo "# $flaw: $(cat $flaws/$flaw)"
done
sed -n 's/^model name.*: /# processor: /p;T;q' /proc/cpuinfo
same "the machine has the number of CPUs of this row" "$(nproc)" "${KMARKERS_CPUS:?}"
if [ -r $preemption ]; then
	same "the kernel has the preemption model of this row" \
		"$(sed 's/.*(\(.*\)).*/\1/' $preemption)" "${KMARKERS_PREEMPTION:?}"
else
	same "this row requires the preemption model with which the kernel was built" \
		"${KMARKERS_PREEMPTION:?}" "as built"
fi
run_with_core "${KMARKERS_SUITES:?}"
finish
