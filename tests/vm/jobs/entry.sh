# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Runs only the suites of function entry recording, for work on entry/.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

load_core || exit 1
run_suite entry_many
run_suite entry
run_suite entry_events
unload_core || exit 1
finish
