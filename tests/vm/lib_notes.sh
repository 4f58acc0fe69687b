# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Functions for tests of the SDT notes of kmarkers_test_notes, and the hits that each tracer must
# show.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# shellcheck disable=SC2034 # for the scripts that source this
tnotes=/sys/module/kmarkers_test_notes/parameters
notes=$debugfs/sdt/notes
# shellcheck disable=SC2034 # for the scripts that source this
levels="o1 o2 o3 fp"

# SDT notes at the same address may be hit in any order, so the lines are sorted.
sort >/tmp/wanted <<'EOF'
none
registers -1 2 3 4 5 1099511627776 -2
sizes -1 255 -2 65535 -3 4000000000 1
constants -7 78187493530 5
stack -400000000000 -5000 251 -3000
indexed -400000000000 -4000
global -12345678
bits 5 -3 737894400291 1
many -4 -3 -2 -1 0 1 2
many 3 4 5 6 7 8 9
many 10 11 -4 -3 -2 -1 0
nested 1 2
nested 11 12
loop 0
loop 1
loop 2
EOF

# same_lines FILE WANTED: succeeds if the lines are the same, in any order
same_lines() {
	sort "$1" >/tmp/sorted
	cmp -s /tmp/sorted "$2" && return
	diff "$2" /tmp/sorted | sed 's/^/# /'
	return 1
}

# list_notes_of_level LEVEL BEGIN: print the lines of sdt/notes that begin with BEGIN, for functions
# compiled at that optimisation level
list_notes_of_level() {
	grep "^$2.*kmarkers_test_notes.*[:=]$1_" "$notes"
}

all_kprobes=/sys/kernel/debug/kprobes/list

# note_is TEXT: succeeds if a line of sdt/list about an SDT note of the module begins with the text
note_is() {
	grep -q "^tnotes:kmarkers_test_notes:$1" "$debugfs/sdt/list"
}

# count_note_kprobes: print the number of kprobes in kmarkers_test_notes
count_note_kprobes() {
	grep -c " kmarkers_test_notes " "$all_kprobes"
}

# Checks that kmarkers_test_notes has left no kprobe, and no line in sdt/list, when it was unloaded.
test_notes_left() {
	same "an unloaded module leaves no kprobe" "$(count_note_kprobes)" 0
	lacks "^tnotes:" "$debugfs/sdt/list"
	result $? "the list has no note of an unloaded module"
}
