# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Checks that an interrupted measurement leaves no files or modules on a machine of a fleet.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

run_suite target
finish
