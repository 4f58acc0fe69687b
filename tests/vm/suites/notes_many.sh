# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# A module with ten thousand SDT notes, and twenty notes that cannot be armed.
# shellcheck source=tests/vm/lib_notes.sh
. /tests/lib_notes.sh

# time_and_print WHAT COMMAND...: run the command, and print its duration in seconds
time_and_print() {
	what=$1
	shift
	read -r before _ </proc/uptime
	"$@"
	code=$?
	read -r after _ </proc/uptime
	echo "# $what: $(echo "$after $before" | awk '{ printf "%.2f", $1 - $2 }') s"
	return $code
}

test_notes_many_read() {
	time_and_print "ten thousand notes are read" cp "$notes" /tmp/definitions
	result $? "ten thousand notes are read"
	same "each of ten thousand notes has a definition" "$(grep -c "^p:nmany/p[0-9]*_[0-9]* " /tmp/definitions)" 10000
	same "each definition has a different number" "$(sed -n 's/^p:[^ ]*_\([0-9]*\) .*/\1/p' /tmp/definitions | sort -u | wc -l)" "$(grep -c "^p:" /tmp/definitions)"
	same "twenty notes are shown as unarmable" "$(grep -c "^# unarmable: " /tmp/definitions)" 20
}

test_notes_many_unarmable() {
	refused "a pattern that matches only twenty unarmable notes is refused" "Invalid argument" put "nmany:::lost count" "$debugfs/sdt/control"
	same "the log names eight of the twenty notes, and has the number of the others" \
		"$(grep -c "lost: a site of the flavour 'note' cannot be armed: " "$log"), $(sed -n 's/.*kmarkers_sdt: \(.*\) sites of the flavour .note. cannot be armed.*/\1/p' "$log")" \
		"8, 12 more"
}

test_notes_many() {
	try "a module with ten thousand notes loads" insmod /modules/kmarkers_test_notes_many.ko
	test_notes_many_read
	test_notes_many_unarmable
	try "a module with ten thousand notes unloads" rmmod kmarkers_test_notes_many
}
