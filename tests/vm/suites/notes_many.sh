# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# A module with ten thousand notes, and twenty that cannot be armed.
# shellcheck source=tests/vm/lib_notes.sh
. /tests/lib_notes.sh

# in_seconds WHAT COMMAND...: run the command, and print how long it took
in_seconds() {
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
	in_seconds "ten thousand notes are read" cp "$notes" /tmp/definitions
	result $? "ten thousand notes are read"
	same "each of ten thousand has a definition" "$(grep -c "^p:nmany/p[0-9]*_[0-9]* " /tmp/definitions)" 10000
	same "each has another number" "$(sed -n 's/^p:[^ ]*_\([0-9]*\) .*/\1/p' /tmp/definitions | sort -u | wc -l)" "$(grep -c "^p:" /tmp/definitions)"
	same "each of twenty is unarmable" "$(grep -c "^# unarmable: " /tmp/definitions)" 20
}

test_notes_many_unarmable() {
	refused "twenty notes are not armed" "Invalid argument" put "nmany:::lost count" "$debugfs/sdt/control"
	same "the log names eight of twenty, and counts the others" \
		"$(grep -c "lost: a note is not armed: " "$log"), $(sed -n 's/.*kmarkers_sdt: \(.*\) notes are not armed: the file.*/\1/p' "$log")" \
		"8, 12 more"
}

test_notes_many() {
	try "a module with ten thousand notes" insmod /modules/kmarkers_test_notes_many.ko
	test_notes_many_read
	test_notes_many_unarmable
	try "a module with ten thousand notes leaves" rmmod kmarkers_test_notes_many
}
