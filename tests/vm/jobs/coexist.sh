# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# A suite of coexistence; KMARKERS_PART names it: owners, storms, nmis.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

load_core || exit 1
run_suite "${KMARKERS_PART?}"
unload_core || exit 1
finish
