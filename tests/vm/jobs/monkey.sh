# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Users of tracefs at random, for as long as the host says, with freed memory that is made visible.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

load_core || exit 1
run_suite monkey
unload_core
result $? "the modules unload"
finish
