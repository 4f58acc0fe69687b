# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Runs the suites that count instructions, in a kernel under an emulator that counts instructions.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

run_with_core entry_counts
finish
