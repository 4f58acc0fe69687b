# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Runs the tests for a machine with one CPU.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

load_core || exit 1
run_suite alone
finish
