# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Runs only the suites of SDT probes, for work on sdt/.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

load_core || exit 1
run_suite sdt
run_suite sdt_events
run_suite notes
run_suite notes_many
unload_core || exit 1
finish
