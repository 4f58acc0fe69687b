# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Runs all activities that change text in parallel, for a time that the host sets.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

load_core || exit 1
load_bench || exit 1
run_suite soak
sed 's/^/# patcher /' "$debugfs/patcher/stats"
unload_core || exit 1
finish
