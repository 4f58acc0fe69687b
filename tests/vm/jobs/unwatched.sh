# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# A kernel with PROVE_RCU reports a marker that is hit where RCU does not watch, and no other
# marker. The host expects that of these tests only the last one fails.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# hit_once IDLE: kmarkers_test_unwatched hits its marker once and is unloaded. With IDLE 1 the hit
# is where RCU does not watch.
hit_once() {
	insmod /modules/kmarkers_test_unwatched.ko "idle=$1" && rmmod kmarkers_test_unwatched &&
		dmesg | grep -q "kmarkers_test_unwatched: hits 1 idle $1"
}

for module in patcher immediate markers; do
	try "kmarkers_$module loads" insmod "/modules/kmarkers_$module.ko"
done
try "a marker is hit where RCU watches" hit_once 0
try "a marker is hit where RCU does not watch" hit_once 1
finish
