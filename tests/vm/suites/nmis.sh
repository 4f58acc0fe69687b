# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# shellcheck source=tests/vm/lib_storms.sh
. /tests/lib_storms.sh

# nmis_of CPU
nmis_of() {
	awk -v field=$(($1 + 2)) '$1 == "NMI:" { print $field }' /proc/interrupts
}

# Non-maskable interrupts in the middle of everything; the emulator sends them all the time.
test_nmis() {
	must insmod /modules/kmarkers_test.ko batches=$((5 * batches)) || return
	# What is executed in them is changed as well.
	try "noise" insmod /modules/kmarkers_test_noise.ko changes=1
	for cpu in 0 1; do
		nmis_of $cpu >/tmp/nmis.$cpu
	done
	storms "NMIs" patcher_storm_of_jumps patcher_storm_of_kinds markers_storm
	for cpu in 0 1; do
		count=$(($(nmis_of $cpu) - $(cat /tmp/nmis.$cpu)))
		echo "# $count NMIs on CPU $cpu"
		[ $count -gt 10 ]
		result $? "NMIs on CPU $cpu"
	done
	[ "$(noise_of nmis)" -gt 10 ]
	result $? "sites were executed in them"
	same "no wrong value in them" "$(noise_of wrong)" 0
	try "noise ends" within 5 rmmod kmarkers_test_noise
	rmmod kmarkers_test
}
