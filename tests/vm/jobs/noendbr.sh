# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Makes an indirect call to an ENDBR, and one to the instruction after it. The host expects that the
# kernel dies of the second call, and reports nothing else.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

try "an entry with ENDBR is called" insmod /modules/kmarkers_test_noendbr.ko
try "the module unloads" rmmod kmarkers_test_noendbr
insmod /modules/kmarkers_test_noendbr.ko behind=1
result 1 "a kernel that tracks indirect branches goes on after a call behind an ENDBR"
finish
