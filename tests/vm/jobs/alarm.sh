# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# A module warns while it is loaded. The host expects that of three tests only the second one fails.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

try "module that warns loads" insmod /modules/kmarkers_test_warn.ko
try "module that warns unloads" rmmod kmarkers_test_warn
finish
