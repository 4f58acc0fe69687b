# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Failing allocations: writes to control files are repeated so that each of their allocations fails
# once. A write that is refused for lack of memory must change nothing.
# shellcheck source=tests/vm/lib_core.sh
. /tests/lib_core.sh
# shellcheck source=tests/vm/lib_events.sh
. /tests/lib_events.sh

# One of every $step allocations is made to fail. The host sets more than 1 for slow kernels.
step=${KMARKERS_STEP:-1}
fail_at=$cases/fail_at

# stop_failing: end the injection of allocation failures. The write of 0 is repeated, because an
# injected failure may make the write fail.
stop_failing() {
	until put 0 "$fail_at" 2>/dev/null; do
		:
	done
}

# save_list NAME: copy the file $list and the names of the enabled trace events to /tmp/list.NAME,
# and the checksum of the copy to /tmp/sum.NAME. The list may have 10,000 lines, which cmp would
# take long to compare.
save_list() {
	cat "$list" /sys/kernel/tracing/set_event >"/tmp/list.$1"
	md5sum <"/tmp/list.$1" >"/tmp/sum.$1"
}

# refused_cleanly: succeeds if the write in which allocation $nth failed was refused for lack of
# memory, and the list is unchanged
refused_cleanly() {
	grep -q "annot allocate\|ut of memory" /tmp/said && cmp -s /tmp/sum.before /tmp/sum.after && return
	sed "s/^/# allocation $nth: /" /tmp/said
	diff /tmp/list.before /tmp/list.after | sed 's/^/# /'
	return 1
}

# undo_write LINES: write lines, separated by semicolons, to $undo
undo_write() {
	echo "$1" | tr ';' '\n' | while read -r line; do
		put "$line" "$undo"
	done
}

# put_without_memory N TEXT FILE: write TEXT to FILE while allocation N fails. Set $code to the exit
# code, and $left to the number of allocations that were not yet made. The commands must not fork or
# open other files, which would allocate.
put_without_memory() {
	{
		put "$1" "$fail_at"
		put "$2" "$3"
		code=$?
		read -r left <"$fail_at" || left=1
		stop_failing
	} 2>/tmp/said
}

# write_without_memory TEXT FILE UNDO: write TEXT to FILE repeatedly, while allocation n fails, for
# every $step-th n. A refused write must change neither the contents of $list nor which events are
# enabled. After a write that succeeds in spite of the failure, UNDO is written to $undo: lines,
# separated by semicolons.
write_without_memory() {
	nth=$((step / 2 + 1))
	refusals=0
	odd=0
	save_list before
	while [ $nth -lt 300 ]; do
		put_without_memory $nth "$1" "$2"
		[ "$left" -eq 0 ] || break
		if [ "$code" -eq 0 ]; then
			# The write succeeded although an allocation failed.
			undo_write "$3"
			save_list before
		else
			refusals=$((refusals + 1))
			save_list after
			refused_cleanly || odd=$((odd + 1))
		fi
		nth=$((nth + step))
	done
	[ "$code" -eq 0 ] && [ $odd -eq 0 ] && [ $refusals -gt 0 ] && [ $nth -lt 300 ]
	result $? "'$1' that fails for lack of memory changes nothing"
	echo "# '$1' was refused $refusals times"
	undo_write "$3"
}

# If an allocation fails, requests to change core text must fail with ENOMEM, and not with EPERM.
test_core_without_memory() {
	must insmod /modules/kmarkers_test_core.ko || return
	read_symbols
	find_call "$getppid"
	list=$debugfs/patcher/sites
	undo=$core_test/command
	write_without_memory "redirect $getppid $callee" "$undo" restore
	write_without_memory "detour $getppid" "$undo" undetour
	rmmod kmarkers_test_core
}

# A command that is refused because an allocation failed must leave the list of recorded functions
# (built with entry.mk) unchanged: if a pattern cannot be removed, its functions stay enabled.
test_entry_without_memory() {
	can_record "rules for recorded functions with failing allocations" || return
	must insmod /modules/kmarkers_test_entry.ko || return
	list=$debugfs/entry/list
	undo=$debugfs/entry/control
	write_without_memory "te_* count" "$undo" "te_* -count"
	put "te_* count" "$undo"
	write_without_memory "te_* -count" "$undo" "te_* count"
	put "te_* -count" "$undo"
	rmmod kmarkers_test_entry
}

# Kprobes of SDT notes are registered one by one, and unregistered in one batch, or one by one if
# there is no memory for the batch.
test_sdt_without_memory() {
	must insmod /modules/kmarkers_test_sdt.ko || return
	must insmod /modules/kmarkers_test_notes_only.ko || return
	list=$debugfs/sdt/list
	undo=$debugfs/sdt/control
	write_without_memory "tsdt:::* count" "$undo" "tsdt:::* -count"
	write_without_memory "tonly:::* count" "$undo" "tonly:::* -count"
	nth=1
	left=0
	right=0
	without=0
	while [ "$left" -eq 0 ] && [ $nth -lt 100 ]; do
		# After a refused write the note is still counted.
		put "tonly:::* count" "$undo" 2>/dev/null
		put_without_memory $nth "tonly:::* -count" "$undo"
		state="probed note 1"
		[ "$code" -ne 0 ] || state="off note 0"
		grep -q "^tonly:.*:passed $state " "$list" && right=$((right + 1))
		[ "$code" -ne 0 ] || [ "$left" -ne 0 ] || without=$((without + 1))
		nth=$((nth + 1))
	done
	same "a refused write changes no note, any other disables it" $right $((nth - 1))
	[ $without -gt 0 ] && [ $nth -lt 100 ]
	result $? "a note is disabled although memory runs out"
	rmmod kmarkers_test_notes_only kmarkers_test_sdt
}

test_nomem() {
	loaded kmarkers_test || must insmod /modules/kmarkers_test.ko || return
	must insmod /modules/kmarkers_test_events.ko || return
	if ! put 1 "$fail_at"; then
		stop_failing
		skip "writes that fail for lack of memory change nothing" "this kernel has no way to make allocations fail"
		return
	fi
	stop_failing
	expedite_grace_periods 1
	list=$markers/list
	undo=$markers/control
	all=$(cat "$list")
	# Enable another event first: the kernel warns if an allocation fails for the first event.
	put 1 /sys/kernel/tracing/events/kmarkers/ev_noargs/enable
	write_without_memory trace "$markers"/ev_plain/probe "ev_plain none"
	write_without_memory count "$markers"/ev_plain/probe "ev_plain none"
	put trace "$markers"/ev_plain/probe
	put count "$markers"/ev_plain/probe
	write_without_memory none "$markers"/ev_plain/probe "ev_plain trace;ev_plain count"
	put "ev_plain none" "$undo"
	write_without_memory "ev_* count" "$markers"/control "ev_* none"
	write_without_memory "attach do_sys_openat2 opened" "$markers"/control "detach opened"
	put "attach do_sys_openat2 opened" "$markers"/control
	write_without_memory "opened count" "$markers"/control "opened none"
	put "detach opened" "$markers"/control
	put 0 /sys/kernel/tracing/events/kmarkers/ev_noargs/enable
	same "the list of markers is the same as before all refusals" "$(cat "$list")" "$all"
	test_core_without_memory
	test_entry_without_memory
	test_sdt_without_memory
	expedite_grace_periods 0
	rmmod kmarkers_test_events
	rmmod kmarkers_test
}
