# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# A suite that runs beside other changes of text, beside NMIs, or beside an isolated CPU.
# KMARKERS_PART names the suite: owners, storms, nmis or isolated.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

load_core || exit 1
run_suite "${KMARKERS_PART?}"
# The part "owners" runs on an emulator with one thread.
if [ "$KMARKERS_PART" = owners ]; then
	run_suite note_storms
	run_suite entry_owners
fi
unload_core || exit 1
finish
