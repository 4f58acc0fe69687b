# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# shellcheck disable=SC2154 # variables of lib.sh
# The cases in a kernel with one CPU: whoever waits must leave it to the others.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. /tests/lib.sh
# shellcheck source-path=SCRIPTDIR source=cases.sh
. /tests/cases.sh

load_core || exit 1
suite alone
same "CPUs" "$(grep -c ^processor /proc/cpuinfo)" 1
try "test module loads" insmod /modules/kmarkers_test.ko batches="$batches"
run_cases
try "test module unloads" rmmod kmarkers_test
unload_core
result $? "all modules unload"
finish
