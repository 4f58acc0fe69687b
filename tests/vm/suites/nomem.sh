# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Writes to the files of markers, and commands of kmarkers_test_core, with every
# allocation failing once: what is refused changes nothing.
# shellcheck source=tests/vm/lib_core.sh
. /tests/lib_core.sh
# shellcheck source=tests/vm/lib_events.sh
. /tests/lib_events.sh

# Slow kernels try one in so many allocations, from the middle of the first that many on.
step=${KMARKERS_STEP:-1}
fail_at=$cases/fail_at

# The first try may be what fails.
stop_failing() {
	until put 0 "$fail_at" 2>/dev/null; do
		:
	done
}

# without_memory TEXT FILE UNDO: the n-th allocation fails, for every n (or some) that there is;
# $list shows what may not change, and $undo takes UNDO
without_memory() {
	nth=$((step / 2 + 1))
	refusals=0
	odd=0
	while [ $nth -lt 300 ]; do
		cat "$list" >/tmp/list.before
		# Nothing in here forks or opens other files: that allocates as well.
		{
			put $nth "$fail_at"
			put "$1" "$2"
			code=$?
			read -r left <"$fail_at" || left=1
			stop_failing
		} 2>/tmp/said
		[ "$left" -eq 0 ] || break
		cat "$list" >/tmp/list.after
		if [ $code -eq 0 ]; then
			# It could do without.
			put "$3" "$undo"
		elif ! grep -q "annot allocate\|ut of memory" /tmp/said || ! cmp -s /tmp/list.before /tmp/list.after; then
			odd=$((odd + 1))
			sed "s/^/# allocation $nth: /" /tmp/said
			diff /tmp/list.before /tmp/list.after | sed 's/^/# /'
		fi
		[ $code -eq 0 ] || refusals=$((refusals + 1))
		nth=$((nth + step))
	done
	[ "$code" -eq 0 ] && [ $odd -eq 0 ] && [ $refusals -gt 0 ] && [ $nth -lt 300 ]
	result $? "'$1' without memory"
	echo "# $refusals refusals"
	put "$3" "$undo"
}

# The door to core text says that it has no memory, and not that somebody may not.
test_core_without_memory() {
	must insmod /modules/kmarkers_test_core.ko || return
	read_symbols
	find_call "$getppid"
	list=$debugfs/patcher/sites
	undo=$core_test/command
	without_memory "redirect $getppid $callee" "$undo" restore
	without_memory "detour $getppid" "$undo" undetour
	rmmod kmarkers_test_core
}

test_nomem() {
	must insmod /modules/kmarkers_test.ko || return
	must insmod /modules/kmarkers_test_events.ko || return
	if ! put 1 "$fail_at"; then
		stop_failing
		skip "writes without memory" "no way to make allocations fail"
		return
	fi
	stop_failing
	expedite 1
	# The kernel's own part of enabling an event warns if it has no memory.
	put 1 /sys/kernel/tracing/events/kmarkers/marker/enable
	list=$markers/list
	undo=$markers/control
	all=$(cat "$list")
	without_memory trace "$markers"/ev_plain/probe "ev_plain none"
	without_memory count "$markers"/ev_plain/probe "ev_plain none"
	without_memory "ev_* count" "$markers"/control "ev_* none"
	without_memory "attach do_sys_openat2 opened" "$markers"/control "detach opened"
	put "attach do_sys_openat2 opened" "$markers"/control
	without_memory "opened count" "$markers"/control "opened none"
	put "detach opened" "$markers"/control
	put 0 /sys/kernel/tracing/events/kmarkers/marker/enable
	same "all is as it was" "$(cat "$list")" "$all"
	test_core_without_memory
	expedite 0
	rmmod kmarkers_test_events
	rmmod kmarkers_test
}
