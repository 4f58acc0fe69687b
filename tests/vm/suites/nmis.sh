# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# shellcheck source=tests/vm/lib_storms.sh
. /tests/lib_storms.sh
# shellcheck source=tests/vm/lib_entry.sh
. /tests/lib_entry.sh

# Changes of sites, and hits of recorded functions (built with entry.mk), while non-maskable
# interrupts arrive continuously.

# count_nmis CPU: print the number of NMIs that the CPU has taken
count_nmis() {
	awk -v field=$(($1 + 2)) '$1 == "NMI:" { print $field }' /proc/interrupts
}

nmis_have_called() {
	[ "$(cat "$te/nmis")" -ge 50 ]
}

# NMIs call two recorded functions: one is counted, while the other is enabled
# and disabled.
test_entry_in_nmis() {
	can_record "recorded functions in NMIs" || return
	must insmod /modules/kmarkers_test_entry.ko || return
	rm -f /tmp/stop
	put "te_in_nmi count" "$entry/control"
	batched=$(patcher_stat batches)
	toggle_functions "kmarkers_test_entry:te_on_nmi" &
	put 1 "$te/nmi"
	try "50 NMIs call recorded functions" within 60 nmis_have_called
	put 0 "$te/nmi"
	touch /tmp/stop
	wait
	batched=$(($(patcher_stat batches) - batched))
	echo "# $(cat "$te/nmis") NMIs called a recorded function, beside $batched batches"
	try "another function that NMIs call is switched at least 10 times meanwhile" [ "$batched" -ge 10 ]
	entry_lists "kmarkers_test_entry:te_on_nmi:entry off "
	result $? "the other function that NMIs call is in the list"
	same "each entry in an NMI is counted" "$(entry_hits entry te_in_nmi)" "$(cat "$te/nmis")"
	same "each exit in an NMI is counted" "$(entry_hits exit te_in_nmi)" "$(cat "$te/nmis")"
	same "no recorded function returned a wrong result in an NMI" "$(cat "$te/wrong")" 0
	put "te_in_nmi -count" "$entry/control"
	rmmod kmarkers_test_entry
}

# Storms of changes while the emulator sends non-maskable interrupts continuously.
test_nmis() {
	must insmod /modules/kmarkers_test.ko batches=$((5 * batches)) || return
	# A site in the NMI handler of this module is changed, too.
	try "kmarkers_test_noise loads" insmod /modules/kmarkers_test_noise.ko changes=1 probes=1
	for cpu in 0 1; do
		count_nmis $cpu >/tmp/nmis.$cpu
	done
	run_storms "NMIs" patcher_storm_of_jumps patcher_storm_of_kinds markers_storm
	for cpu in 0 1; do
		count=$(($(count_nmis $cpu) - $(cat /tmp/nmis.$cpu)))
		echo "# $count NMIs on CPU $cpu"
		[ $count -gt 10 ]
		result $? "CPU $cpu took more than 10 NMIs"
	done
	[ "$(count_noise nmis)" -gt 10 ]
	result $? "more than 10 NMIs executed a site"
	same "no site executed by an NMI had a wrong value or called a wrong number of handlers" "$(count_noise wrong)" 0
	try "kmarkers_test_noise unloads" within 5 rmmod kmarkers_test_noise
	rmmod kmarkers_test
	test_entry_in_nmis
}
