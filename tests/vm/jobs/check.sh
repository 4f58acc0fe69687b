# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The suites of make check, in this order.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

run_suite orders
load_core || exit 1
for suite in cases modules examples tables typed sdt sdt_events notes notes_many entry entry_many entry_events history settable events fields many functions \
	hundred nomem core handler_path kprobes landing bench bench_groups packets; do
	run_suite $suite
done
unload_core || exit 1
run_suite cycles
run_suite lockdown
finish
