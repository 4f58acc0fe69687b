# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Makes two indirect calls: one to an ENDBR, and one to the instruction behind an ENDBR. The host
# expects that the second call kills the kernel, and that the kernel reports no other fault.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

try "an entry with ENDBR is called" insmod /modules/kmarkers_test_noendbr.ko
try "the module unloads" rmmod kmarkers_test_noendbr
insmod /modules/kmarkers_test_noendbr.ko behind=1
result 1 "the kernel survives an indirect call behind an ENDBR: indirect branch tracking is off"
finish
