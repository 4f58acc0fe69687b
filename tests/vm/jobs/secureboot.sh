# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Runs the suites that work under Secure Boot. The kernel is then locked down, so these suites do
# not write to debugfs.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

run_suite secureboot
load_core || exit 1
for suite in cases modules examples tables typed history fields hundred tracing; do
	run_suite $suite
done
unload_core || exit 1
run_suite cycles
run_suite lockdown
finish
