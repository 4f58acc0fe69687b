# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Runs the suites of `make check`, in the order below, or the suites that KMARKERS_SUITES names.
# `make check` runs two guests in parallel. Each guest runs one of the two lists of suites, which
# take about the same time.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

first_suites="orders cases modules examples tables typed sdt sdt_events notes notes_many entry entry_many entry_events"
second_suites="history settable events fields going references many functions hundred nomem core handler_path kprobes landing bench bench_groups packets sources cycles lockdown"
chosen=" ${KMARKERS_SUITES:-$first_suites $second_suites} "

# The suites orders, sources, cycles and lockdown run while the modules of kmarkers are not loaded.
# lockdown is the last one, since the kernel may be locked down after that suite.
case $chosen in *" orders "*) run_suite orders ;; esac
# During the other suites, the log reports a mutex that is unlocked by a task that does not hold it.
[ ! -e /modules/kmarkers_test_mutexes.ko ] || insmod /modules/kmarkers_test_mutexes.ko || exit 1
load_core || exit 1
for suite in $chosen; do
	case $suite in
	orders | sources | cycles | lockdown) ;;
	*) run_suite "$suite" ;;
	esac
done
unload_core || exit 1
for suite in sources cycles lockdown; do
	case $chosen in *" $suite "*) run_suite $suite ;; esac
done
finish
