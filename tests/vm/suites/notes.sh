# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Notes, SDT probes of modules without an instruction: places of arguments, kprobes, definitions.
# shellcheck source=tests/vm/lib_notes.sh
. /tests/lib_notes.sh

# seen_as_wanted LEVEL: succeeds if the handler got the expected hits
seen_as_wanted() {
	put "$1" "$tnotes/pass"
	cat "$tnotes/seen" >/tmp/seen
	alike /tmp/seen /tmp/wanted
}

any_optimised() {
	grep -q "o2_.* kmarkers_test_notes .*OPTIMIZED" "$all_kprobes"
}

test_notes_of_levels() {
	for level in $levels; do
		try "$level: a handler gets the arguments of $1" seen_as_wanted "$level"
	done
}

test_notes_arguments() {
	put o2 "$tnotes/pass"
	same "nobody is told of notes that are off" "$(cat "$tnotes/seen")" ""
	put 0 /proc/sys/debug/kprobes-optimization
	try "a handler is attached to all notes" put 1 "$tnotes/listen"
	logged "behind: a note is not armed: it is at no instruction of its function"
	result $? "the log says which note is behind its function"
	note_is "o2_loop:loop probed note 1 0 o2_loop@+0x"
	result $? "a note is on"
	test_notes_of_levels "notes with breakpoints"
	put others "$tnotes/pass"
	same "the address of an object is an argument" "$(cat "$tnotes/seen")" "own $(cat "$tnotes/address")"
	put 1 /proc/sys/debug/kprobes-optimization
	if within 10 any_optimised; then
		test_notes_of_levels "notes with jumps of the kernel"
	else
		skip "notes with jumps of the kernel" "this kernel does not optimise kprobes"
	fi
	try "the handler is detached" put 0 "$tnotes/listen"
	put o2 "$tnotes/pass"
	same "nobody is told of notes that are off again" "$(cat "$tnotes/seen")" ""
	same "no kprobe is left" "$(note_kprobes)" 0
}

# note_counts PROBE: print how often each site of the probe in functions of level o2 was hit
note_counts() {
	sed -n "s/^tnotes:kmarkers_test_notes:o2_[a-z]*:$1 [a-z]* note [0-9]* \([0-9]*\) .*/\1/p" \
		"$debugfs/sdt/list" | tr '\n' ' '
}

on_each_cpu() {
	for cpu in $(seq 0 $(($(nproc) - 1))); do
		taskset $((1 << cpu)) sh -c "echo $1 >$tnotes/repeat" &
	done
	wait
}

test_notes_count() {
	one=$(sed -n 's/^tnotes:.*:o2_copies:nested .*\(@+0x[0-9a-f]*\) .*/\1/p' "$debugfs/sdt/list" |
		head -n 1)
	try "one note is counted" put "o2_copies:nested$one count" "$debugfs/sdt/control"
	same "no other note has a kprobe" "$(note_kprobes)" 1
	put 5 "$tnotes/repeat"
	same "no other note counts" "$(note_counts nested)$(note_counts loop)" "5 0 0 "
	put "o2_copies:nested$one -count" "$debugfs/sdt/control"
	try "all notes are counted" put "tnotes:::* count" "$debugfs/sdt/control"
	on_each_cpu 1000
	hits=$((1000 * $(nproc)))
	same "each is counted on every CPU" "$(note_counts nested)$(note_counts loop)" \
		"$((hits + 5)) $hits $((3 * hits)) "
	same "no hit was missed" "$(grep -c '^# .* missed [1-9]' "$notes")" 0
	try "none is counted any more" put "tnotes:::* -count" "$debugfs/sdt/control"
	same "no kprobe is left of counting" "$(note_kprobes)" 0
}

# pair_is TEXT: succeeds if a line about the paired sites in the list begins with the text
pair_is() {
	grep -q "^tpair:kmarkers_test_notes:pair:$1" "$debugfs/sdt/list"
}

# A jump may begin where a note has its kprobe: one pattern switches both.
test_notes_paired() {
	try "a note and a jump behind it are switched on" put "tpair:::* count" "$debugfs/sdt/control"
	put others "$tnotes/pass"
	pair_is "first probed note 1 1 " && pair_is "second on jump 1 1 "
	result $? "both count"
	try "a note and a jump behind it are switched off" put "tpair:::* -count" "$debugfs/sdt/control"
	pair_is "first off note 0 1 " && pair_is "second off jump 0 1 "
	result $? "both are off"
}

test_notes_only() {
	try "a module with notes alone loads" insmod /modules/kmarkers_test_notes_only.ko
	put "tonly:::* count" "$debugfs/sdt/control"
	put 1 /sys/module/kmarkers_test_notes_only/parameters/pass
	grep -q "^tonly:kmarkers_test_notes_only:pass:passed probed note 1 1 " "$debugfs/sdt/list"
	result $? "the note of a module with notes alone counts"
	put "tonly:::* -count" "$debugfs/sdt/control"
	try "a module with notes alone unloads" rmmod kmarkers_test_notes_only
}

test_notes_unarmable() {
	same "notes that functions begin with are not unarmable" \
		"$(grep -c "^tnotes:.*:notes_first:first off note 0 0 notes_first@+0x0 " "$debugfs/sdt/list")" 2
	# The note's address is that of the code or padding after the function.
	note_is "__pfx_notes_first:behind unarmable note 0 0 "
	result $? "a note behind the end of its function is unarmable"
	note_is "notes_alone:alone unarmable note 0 0 "
	result $? "a note that is all of a branch is unarmable"
	note_is "notes_inside:inside off note 0 0 "
	result $? "a note is not unarmable for the end of a constant in front of it"
	note_is "notes_inside:elsewhere unarmable note 0 0 "
	result $? "a note with an argument in another segment is unarmable"
	for probe in behind alone elsewhere; do
		refused "the note $probe is not armed" "Invalid argument" put "$probe count" "$debugfs/sdt/control"
		logged "$probe: a note is not armed: it is "
		result $? "the log says why $probe is not"
		lacks "tnotes/${probe}_" "$notes"
		result $? "the note $probe has no definition"
	done
	refused "a note is not promoted" "Invalid argument" put "loop promote" "$debugfs/sdt/control"
	logged "kmarkers_sdt: loop: not promoted: it is a note, which has no instruction"
	result $? "the log says that a note is no instruction"
}

# refused_is STATE: succeeds if the note at which the kernel accepts no kprobe is in that state
refused_is() {
	grep -q "^trefused:kmarkers_test_notes:notes_refused:refused $1 note [01] 0 " "$debugfs/sdt/list"
}

# A note at an instruction at which the kernel accepts no kprobe. The module is loaded again.
test_notes_refused() {
	refused "a pattern with a note at a static key is refused" "Invalid argument" \
		put "trefused:::* count" "$debugfs/sdt/control"
	refused_is off
	result $? "a note at a static key is off"
	must rmmod kmarkers_test_notes || return
	try "a pattern waits for a note at a static key" put "trefused:::* count" "$debugfs/sdt/control"
	try "the pattern keeps no module from being loaded" insmod /modules/kmarkers_test_notes.ko
	logged "refused: a note is not armed: no kprobe at notes_refused"
	result $? "the log says where the kernel takes no kprobe"
	refused_is unarmable
	result $? "a note at a static key is unarmable when a pattern has waited for it"
	try "the pattern waits no more" put "trefused:::* -count" "$debugfs/sdt/control"
}

# The kernel accepts no new kprobe in a module whose exit function runs.
test_notes_going() {
	must insmod /modules/kmarkers_test_notes_only.ko leave_ms=3000 || return
	rmmod kmarkers_test_notes_only &
	try "a module with notes is leaving" within 5 grep -q "^kmarkers_test_notes_only .* Unloading" /proc/modules
	try "a pattern is switched on while its module leaves" put "*:::passed count" "$debugfs/sdt/control"
	grep -q "^kmarkers_test_notes_only .* Unloading" /proc/modules
	result $? "the module was leaving all the time"
	wait
	try "a pattern is switched off when its module has left" put "*:::passed -count" "$debugfs/sdt/control"
}

# define LEVEL: write the definitions in the file for that level to kprobe_events
define() {
	note_lines "$1" p: >/tmp/definitions
	while read -r definition; do
		printf '%s\n' "$definition" >>"$tracing"/kprobe_events || return
	done </tmp/definitions
}

# notes_traced LEVEL: succeeds if the trace shows all hits of its notes that can be defined
notes_traced() {
	put "" "$tracing/trace"
	put 1 "$tracing/events/tnotes/enable"
	put "$1" "$tnotes/pass"
	put 0 "$tracing/events/tnotes/enable"
	sed -n 's/^.*: \([a-z]*\)_[0-9]*: ([^)]*)\(.*\)/\1\2/p' "$tracing/trace" |
		sed 's/ a[0-9]=/ /g' >/tmp/traced
	alike /tmp/traced /tmp/wanted_traced
}

test_notes_definitions() {
	for level in $levels; do
		note_lines "$level" "bpftrace -e 'kprobe" >/tmp/bpftrace
		sites=$(grep -c "^tnotes:kmarkers_test_notes:${level}_" "$debugfs/sdt/list")
		same "$level: each note has a definition" "$(wc -l </tmp/bpftrace)" "$sites"
		try "$level: kprobe_events takes its definitions" define "$level"
		# Which notes have an address of two registers is up to the compiler.
		cp /tmp/wanted /tmp/wanted_traced
		grep -q "/indexed_" /tmp/definitions || grep -v "^indexed" /tmp/wanted >/tmp/wanted_traced
		same "$level: kprobe_events can say all but what it has no words for" \
			"$(grep -c -v /indexed_ /tmp/definitions)" \
			$((sites - $(grep -c indexed_ /tmp/bpftrace)))
		try "$level: the trace shows what handlers see" notes_traced "$level"
		put 1 "$tnotes/listen"
		try "$level: the trace shows the same while notes are on" notes_traced "$level"
		cat "$tnotes/seen" >/tmp/seen
		alike /tmp/seen /tmp/wanted
		result $? "$level: notes are told beside other kprobes"
		put 0 "$tnotes/listen"
		put "" "$tracing/kprobe_events"
	done
}

# Kprobes at all instructions of a function, and at its notes.
test_notes_neighbours() {
	function=$(note_lines o2 p: | sed -n 's/^p:[^ ]* \(.*o2_many[^+]*\)+.*/\1/p' | head -n 1)
	offset=0
	while [ $offset -lt 200 ]; do
		echo "p:neighbours/n_$offset $function+$offset" >>"$tracing/kprobe_events"
		offset=$((offset + 1))
	done 2>/dev/null
	try "kprobes are at each instruction" [ "$(grep -c neighbours "$tracing/kprobe_events")" -gt 20 ]
	put 1 "$tracing/events/neighbours/enable"
	put 1 "$tnotes/listen"
	try "notes are told beside their neighbours" seen_as_wanted o2
	put 0 "$tracing/events/neighbours/enable"
	try "notes are told when their neighbours are gone" seen_as_wanted o2
	put 0 "$tnotes/listen"
	put "" "$tracing/kprobe_events"
	same "no kprobe is left beside neighbours" "$(note_kprobes)" 0
}

# definition_numbers: print the numbers in the names of all definitions, in the file's order
definition_numbers() {
	sed -n 's/^p:[^ ]*_\([0-9]*\) .*/\1/p' "$notes"
}

test_notes_numbers() {
	insmod /modules/kmarkers_test_notes_only.ko
	same "no two definitions have one number" "$(definition_numbers | sort | uniq -d)" ""
	grep "^p:tonly" "$notes" >/tmp/definition
	try "the other module with notes leaves" rmmod kmarkers_test_notes
	same "a definition stays as it is when another module leaves" \
		"$(grep "^p:tonly" "$notes")" "$(cat /tmp/definition)"
	insmod /modules/kmarkers_test_notes.ko
	same "no two definitions have one number when it returns" "$(definition_numbers | sort | uniq -d)" ""
	try "the definition is of a module with notes alone" grep -q "^p:tonly/passed_[0-9]* " /tmp/definition
	rmmod kmarkers_test_notes_only
}

test_notes() {
	must insmod /modules/kmarkers_test_notes.ko || return
	test_notes_unarmable
	test_notes_refused
	test_notes_going
	test_notes_arguments
	test_notes_count
	test_notes_paired
	test_notes_only
	test_notes_numbers
	test_notes_definitions
	test_notes_neighbours
	put "tnotes:::* count" "$debugfs/sdt/control"
	try "a module leaves while its notes are on" rmmod kmarkers_test_notes
	test_notes_left
	put "tnotes:::* -count" "$debugfs/sdt/control"
}
