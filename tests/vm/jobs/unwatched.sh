# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Hits a marker while RCU watches the CPU, and then while RCU does not watch the CPU, in a kernel
# with PROVE_RCU. The kernel must report only the second hit, so the host expects that only the last
# test fails.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# hit_marker_once IDLE: load kmarkers_test_unwatched, which hits its marker once, and unload the
# module. With IDLE 1, RCU does not watch the CPU during the hit.
hit_marker_once() {
	insmod /modules/kmarkers_test_unwatched.ko "idle=$1" && rmmod kmarkers_test_unwatched &&
		dmesg | grep -q "kmarkers_test_unwatched: marker unwatched: 1 hits, with parameter idle=$1"
}

for module in patcher events immediate markers; do
	try "kmarkers_$module loads" insmod "/modules/kmarkers_$module.ko"
done
try "a marker is hit where RCU watches" hit_marker_once 0
try "a marker is hit where RCU does not watch" hit_marker_once 1
finish
