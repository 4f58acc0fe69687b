# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Runs the suite that KMARKERS_PART names. The suites owners and storms run while other code changes
# kernel text, the suite nmis while NMIs arrive, and the suite isolated in a kernel with an isolated
# CPU.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

load_core || exit 1
run_suite "${KMARKERS_PART?}"
# With "owners", run two more suites, which also need an emulator with one thread.
if [ "$KMARKERS_PART" = owners ]; then
	run_suite note_storms
	run_suite entry_owners
fi
unload_core || exit 1
finish
