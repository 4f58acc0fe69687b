# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Loads and unloads a module that makes the kernel log a warning. The host expects that only the
# test of loading fails.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

try "module that warns loads" insmod /modules/kmarkers_test_warn.ko
try "module that warns unloads" rmmod kmarkers_test_warn
finish
