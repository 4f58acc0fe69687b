# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The kernel warns during the second of three tests, and that one must fail.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

try "module that warns loads" insmod /modules/kmarkers_test_warn.ko
try "module that warns unloads" rmmod kmarkers_test_warn
finish
