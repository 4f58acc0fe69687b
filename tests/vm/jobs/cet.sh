# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The suites that run where indirect branch tracking is enforced: all that loads, patches, redirects,
# attaches and traces.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

grep -qw ibt /proc/cpuinfo
result $? "the processor tracks indirect branches"
run_with_core "${KMARKERS_SUITES:?}"
finish
