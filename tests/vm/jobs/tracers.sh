# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The trace event as the tracers of distributions show it.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

load_core || exit 1
run_suite tracers
unload_core || exit 1
finish
