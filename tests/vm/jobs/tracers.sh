# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The suite that reads the trace event with the tracers of a distribution.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

load_core || exit 1
run_suite tracing
run_suite tracers
unload_core || exit 1
finish
