# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Notes, which are SDT probes without an instruction of their own: the locations of their arguments,
# their kprobes, and their definitions for other tracers.
# shellcheck source=tests/vm/lib_notes.sh
. /tests/lib_notes.sh

# handler_gets_all_hits LEVEL: execute the SDT notes in functions compiled at that optimisation
# level; succeeds if the handler got the expected hits and arguments
handler_gets_all_hits() {
	put "$1" "$tnotes/pass"
	cat "$tnotes/seen" >/tmp/seen
	same_lines /tmp/seen /tmp/wanted
}

kprobe_of_note_is_optimised() {
	grep -q "o2_.* kmarkers_test_notes .*OPTIMIZED" "$all_kprobes"
}

# test_notes_of_levels HOW: check the hits and arguments that the handler gets at each optimisation
# level
test_notes_of_levels() {
	for level in $levels; do
		try "$level: a handler gets all hits and arguments of $1" handler_gets_all_hits "$level"
	done
}

test_notes_arguments() {
	put o2 "$tnotes/pass"
	same "no handler is called for notes before one is attached" "$(cat "$tnotes/seen")" ""
	put 0 /proc/sys/debug/kprobes-optimization
	try "a handler is attached to all notes of the module" put 1 "$tnotes/listen"
	logged "behind: a site of the flavour 'note' cannot be armed: no instruction of its function follows the note"
	result $? "the log names the note behind the end of its function"
	note_is "o2_loop:loop probed note 1 0 o2_loop@+0x"
	result $? "the list shows a note as probed"
	test_notes_of_levels "notes whose kprobes are breakpoints"
	put others "$tnotes/pass"
	same "the address of a variable is passed as an argument" "$(cat "$tnotes/seen")" "own $(cat "$tnotes/address")"
	put 1 /proc/sys/debug/kprobes-optimization
	if within 10 kprobe_of_note_is_optimised; then
		test_notes_of_levels "notes whose kprobes are optimised to jumps"
	else
		skip "notes whose kprobes are optimised to jumps" "this kernel does not optimise kprobes"
	fi
	try "the handler is detached" put 0 "$tnotes/listen"
	put o2 "$tnotes/pass"
	same "no handler is called for notes after it is detached" "$(cat "$tnotes/seen")" ""
	same "no kprobe of a note is left after the handler is detached" "$(count_note_kprobes)" 0
}

# note_counts PROBE: print the number of hits of each site of the probe in functions of level o2
note_counts() {
	sed -n "s/^tnotes:kmarkers_test_notes:o2_[a-z]*:$1 [a-z]* note [0-9]* \([0-9]*\) .*/\1/p" \
		"$debugfs/sdt/list" | tr '\n' ' '
}

hit_notes_on_each_cpu() {
	for cpu in $(seq 0 $(($(nproc) - 1))); do
		taskset $((1 << cpu)) sh -c "echo $1 >$tnotes/repeat" &
	done
	wait
}

test_notes_count() {
	one=$(sed -n 's/^tnotes:.*:o2_copies:nested .*\(@+0x[0-9a-f]*\) .*/\1/p' "$debugfs/sdt/list" |
		head -n 1)
	try "a single note is counted" put "o2_copies:nested$one count" "$debugfs/sdt/control"
	same "only the counted note has a kprobe" "$(count_note_kprobes)" 1
	put 5 "$tnotes/repeat"
	same "only the counted note counts its hits" "$(note_counts nested)$(note_counts loop)" "5 0 0 "
	put "o2_copies:nested$one -count" "$debugfs/sdt/control"
	try "all notes are counted" put "tnotes:::* count" "$debugfs/sdt/control"
	hit_notes_on_each_cpu 1000
	hits=$((1000 * $(nproc)))
	same "each note counts its hits on every CPU" "$(note_counts nested)$(note_counts loop)" \
		"$((hits + 5)) $hits $((3 * hits)) "
	same "no note missed a hit" "$(grep -c '^# .* missed [1-9]' "$notes")" 0
	try "counting of all notes is ended" put "tnotes:::* -count" "$debugfs/sdt/control"
	same "no kprobe of a note is left after counting" "$(count_note_kprobes)" 0
}

# pair_is TEXT: succeeds if a line of sdt/list about the paired sites begins with the text
pair_is() {
	grep -q "^tpair:kmarkers_test_notes:hit_pair:$1" "$debugfs/sdt/list"
}

# Two SDT probes at the same instruction, one armed by a kprobe (a note) and one by a jump: one
# pattern switches both.
test_notes_paired() {
	try "a note and a jump at the same instruction are enabled" put "tpair:::* count" "$debugfs/sdt/control"
	put others "$tnotes/pass"
	pair_is "first probed note 1 1 " && pair_is "second on jump 1 1 "
	result $? "both the note and the jump count their hits"
	try "a note and a jump at the same instruction are disabled" put "tpair:::* -count" "$debugfs/sdt/control"
	pair_is "first off note 0 1 " && pair_is "second off jump 0 1 "
	result $? "both the note and the jump are off"
}

test_notes_only() {
	try "a module that has only notes loads" insmod /modules/kmarkers_test_notes_only.ko
	put "tonly:::* count" "$debugfs/sdt/control"
	put 1 /sys/module/kmarkers_test_notes_only/parameters/pass
	grep -q "^tonly:kmarkers_test_notes_only:hit_passed:passed probed note 1 1 " "$debugfs/sdt/list"
	result $? "the note of a module that has only notes counts its hits"
	put "tonly:::* -count" "$debugfs/sdt/control"
	try "a module that has only notes unloads" rmmod kmarkers_test_notes_only
}

test_notes_unarmable() {
	same "notes at the first byte of a function can be armed" \
		"$(grep -c "^tnotes:.*:notes_first:first off note 0 0 notes_first@+0x0 " "$debugfs/sdt/list")" 2
	# The SDT note has the address of the padding or code behind its function.
	note_is "__pfx_notes_first:behind unarmable note 0 0 "
	result $? "a note behind the end of its function is unarmable"
	note_is "notes_alone:alone unarmable note 0 0 "
	result $? "a note in a branch without instructions is unarmable"
	note_is "notes_inside:inside off note 0 0 "
	result $? "a note behind a constant that looks like a jump can be armed"
	note_is "notes_inside:elsewhere unarmable note 0 0 "
	result $? "a note with an argument in another segment is unarmable"
	for probe in behind alone elsewhere; do
		refused "a pattern that matches only the unarmable note $probe is refused" "Invalid argument" put "$probe count" "$debugfs/sdt/control"
		logged "$probe: a site of the flavour 'note' cannot be armed: [a-z]"
		result $? "the log says why the note $probe cannot be armed"
		lacks "tnotes/${probe}_" "$notes"
		result $? "the file sdt/notes has no definition of $probe"
	done
	refused "promotion of a note is refused" "Invalid argument" put "loop promote" "$debugfs/sdt/control"
	logged "kmarkers_sdt: SDT probe loop: not promoted to a jump: this site is an SDT note, which describes code"
	result $? "the log says that a note has no instruction to replace"
}

# refused_is STATE: succeeds if the SDT note at a static key, where the kernel accepts no kprobe,
# has that state
refused_is() {
	grep -q "^trefused:kmarkers_test_notes:notes_refused:refused $1 note [01] 0 " "$debugfs/sdt/list"
}

# An SDT note at an instruction at which the kernel accepts no kprobe, before and after the module
# is reloaded.
test_notes_refused() {
	refused "a pattern with a note at a static key is refused" "Invalid argument" \
		put "trefused:::* count" "$debugfs/sdt/control"
	refused_is off
	result $? "the note at a static key is off after the refusal"
	must rmmod kmarkers_test_notes || return
	try "a pattern is accepted before the module with a note at a static key is loaded" put "trefused:::* count" "$debugfs/sdt/control"
	try "the pattern does not keep the module from being loaded" insmod /modules/kmarkers_test_notes.ko
	logged "refused: a site of the flavour 'note' cannot be armed: no kprobe possible at notes_refused"
	result $? "the log names the address at which no kprobe is possible"
	refused_is unarmable
	result $? "the note at a static key is unarmable after the module is loaded with the pattern"
	try "the pattern for the note at a static key is removed" put "trefused:::* -count" "$debugfs/sdt/control"
}

# The kernel accepts no new kprobe in a module that is running its exit function.
test_notes_going() {
	must insmod /modules/kmarkers_test_notes_only.ko leave_ms=3000 || return
	rmmod kmarkers_test_notes_only &
	try "a module with notes is running its exit function" within 5 grep -q "^kmarkers_test_notes_only .* Unloading" /proc/modules
	try "a pattern is accepted while its module is being unloaded" put "*:::passed count" "$debugfs/sdt/control"
	grep -q "^kmarkers_test_notes_only .* Unloading" /proc/modules
	result $? "the module was still being unloaded when the pattern was accepted"
	wait
	try "the pattern is removed after its module is unloaded" put "*:::passed -count" "$debugfs/sdt/control"
}

# define_notes LEVEL: write the definitions in sdt/notes for that level to kprobe_events
define_notes() {
	list_notes_of_level "$1" p: >/tmp/definitions
	while read -r definition; do
		printf '%s\n' "$definition" >>"$tracing"/kprobe_events || return
	done </tmp/definitions
}

# notes_traced LEVEL: succeeds if the trace shows all hits of the level's SDT notes that
# kprobe_events can define
notes_traced() {
	put "" "$tracing/trace"
	put 1 "$tracing/events/tnotes/enable"
	put "$1" "$tnotes/pass"
	put 0 "$tracing/events/tnotes/enable"
	sed -n 's/^.*: \([a-z]*\)_[0-9]*: ([^)]*)\(.*\)/\1\2/p' "$tracing/trace" |
		sed 's/ a[0-9]=/ /g' >/tmp/traced
	same_lines /tmp/traced /tmp/wanted_traced
}

# print_wrong_commands: print each bpftrace command in /tmp/bpftrace whose format or arguments are
# not as many as the values in the hits of its note
print_wrong_commands() {
	awk 'NR == FNR { values[$1] = NF - 1; next }
		{
			name = format = arguments = $0
			sub(/.*printf\("/, "", name)
			sub(/_[0-9].*/, "", name)
			sub(/\\n".*/, "", format)
			sub(/.*\\n"/, "", arguments)
			if (gsub(/%ll[du]/, "", format) != values[name] || gsub(/, /, "", arguments) != values[name])
				print
		}' /tmp/wanted /tmp/bpftrace
}

test_notes_definitions() {
	for level in $levels; do
		list_notes_of_level "$level" "bpftrace -e 'kprobe" >/tmp/bpftrace
		sites=$(grep -c "^tnotes:kmarkers_test_notes:${level}_" "$debugfs/sdt/list")
		same "$level: each note has a definition for bpftrace" "$(wc -l </tmp/bpftrace)" "$sites"
		same "$level: each definition for bpftrace prints all arguments of the note" "$(print_wrong_commands)" ""
		try "$level: kprobe_events accepts the definitions" define_notes "$level"
		# An SDT note with an argument at the sum of two registers has no definition.
		# Whether the notes "indexed" have such arguments depends on the compiler.
		cp /tmp/wanted /tmp/wanted_traced
		grep -q "/indexed_" /tmp/definitions || grep -v "^indexed" /tmp/wanted >/tmp/wanted_traced
		same "$level: all notes except those with two registers in an address have a kprobe_events definition" \
			"$(grep -c -v /indexed_ /tmp/definitions)" \
			$((sites - $(grep -c indexed_ /tmp/bpftrace)))
		try "$level: the trace shows all hits and arguments" notes_traced "$level"
		put 1 "$tnotes/listen"
		try "$level: the trace shows the same while a handler is attached" notes_traced "$level"
		cat "$tnotes/seen" >/tmp/seen
		same_lines /tmp/seen /tmp/wanted
		result $? "$level: the handler gets all hits beside other kprobes"
		put 0 "$tnotes/listen"
		put "" "$tracing/kprobe_events"
	done
}

# Kprobes of kprobe_events at all instructions of a function, beside the kprobes of its notes.
test_notes_neighbours() {
	function=$(list_notes_of_level o2 p: | sed -n 's/^p:[^ ]* \(.*o2_many[^+]*\)+.*/\1/p' | head -n 1)
	offset=0
	while [ $offset -lt 200 ]; do
		echo "p:neighbours/n_$offset $function+$offset" >>"$tracing/kprobe_events"
		offset=$((offset + 1))
	done 2>/dev/null
	try "more than 20 kprobes are registered in the function" [ "$(grep -c neighbours "$tracing/kprobe_events")" -gt 20 ]
	put 1 "$tracing/events/neighbours/enable"
	put 1 "$tnotes/listen"
	try "the handler gets all hits of notes with kprobes beside them" handler_gets_all_hits o2
	put 0 "$tracing/events/neighbours/enable"
	try "the handler gets all hits of notes after these kprobes are disabled" handler_gets_all_hits o2
	put 0 "$tnotes/listen"
	put "" "$tracing/kprobe_events"
	same "no kprobe is left in the module after that" "$(count_note_kprobes)" 0
}

# print_definition_numbers: print the number at the end of the name of each definition
print_definition_numbers() {
	sed -n 's/^p:[^ ]*_\([0-9]*\) .*/\1/p' "$notes"
}

test_notes_numbers() {
	insmod /modules/kmarkers_test_notes_only.ko
	same "no two definitions have the same number" "$(print_definition_numbers | sort | uniq -d)" ""
	grep "^p:tonly" "$notes" >/tmp/definition
	try "the other module with notes unloads" rmmod kmarkers_test_notes
	same "a definition is unchanged after another module is unloaded" \
		"$(grep "^p:tonly" "$notes")" "$(cat /tmp/definition)"
	insmod /modules/kmarkers_test_notes.ko
	same "no two definitions have the same number after the other module is loaded again" "$(print_definition_numbers | sort | uniq -d)" ""
	try "the unchanged definition is that of the module that has only notes" grep -q "^p:tonly/passed_[0-9]* " /tmp/definition
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
	try "the module unloads while its notes are enabled" rmmod kmarkers_test_notes
	test_notes_left
	put "tnotes:::* -count" "$debugfs/sdt/control"
}
