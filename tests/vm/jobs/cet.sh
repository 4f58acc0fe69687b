# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Runs the suites that KMARKERS_SUITES names in a kernel that enforces indirect branch tracking
# (IBT).
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

grep -qw ibt /proc/cpuinfo
result $? "the processor supports indirect branch tracking"
run_with_core "${KMARKERS_SUITES:?}"
load_core && load_bench
result $? "kmarkers_bench loads with IBT"
try "kmarkers_bench unloads with IBT" unload_core
finish
