# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Runs only the suites of trace events and of control files, for work on markers/.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

load_core || exit 1
for suite in events fields going references many functions hundred; do
	run_suite $suite
done
unload_core || exit 1
run_suite lockdown
finish
