# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The suites of recorded entries alone, for work on entry/.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

insmod /modules/kmarkers_patcher.ko && insmod /modules/kmarkers_entry.ko || exit 1
run_suite entry_many
run_suite entry
rmmod kmarkers_entry && rmmod kmarkers_patcher || exit 1
finish
