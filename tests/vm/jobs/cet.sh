# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The suites that run where indirect branch tracking is enforced: all that loads, patches, redirects,
# attaches and traces.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

grep -qw ibt /proc/cpuinfo
result $? "the processor tracks indirect branches"
try "the modules load" load_core
for suite in ${KMARKERS_SUITES:?}; do
	run_suite "$suite"
done
try "the modules unload" unload_core
finish
