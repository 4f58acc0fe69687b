# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Runs the suites that trace markers and SDT notes with the tracers of a distribution, such as perf.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

load_core || exit 1
run_suite tracing
run_suite tracers
run_suite readers
run_suite note_tracers
unload_core || exit 1
finish
