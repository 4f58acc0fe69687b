# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The suites of make check, in this order, or those that KMARKERS_SUITES names. In make check two
# guests run in parallel, each with one of these lists, which take about the same time.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

first_suites="orders cases modules examples tables typed sdt sdt_events notes notes_many entry entry_many entry_events"
second_suites="history settable events fields going references many functions hundred nomem core handler_path kprobes landing bench bench_groups packets cycles lockdown"
chosen=" ${KMARKERS_SUITES:-$first_suites $second_suites} "

# These suites run while our modules are not loaded, and the kernel may be locked down after the
# last one.
case $chosen in *" orders "*) run_suite orders ;; esac
load_core || exit 1
for suite in $chosen; do
	case $suite in
	orders | cycles | lockdown) ;;
	*) run_suite "$suite" ;;
	esac
done
unload_core || exit 1
for suite in cycles lockdown; do
	case $chosen in *" $suite "*) run_suite $suite ;; esac
done
finish
