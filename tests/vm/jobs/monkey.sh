# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Uses tracefs at random, for a time that the host sets, in a kernel that poisons freed memory.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

load_core || exit 1
load_bench || exit 1
run_suite monkey
unload_core
result $? "the modules unload"
finish
