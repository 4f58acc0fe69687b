# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Requests to patch the text of the kernel itself: refused requests, with the error and the reason
# in the log; and redirected calls and detours, after whose removal the text has its former bytes.
# shellcheck source=tests/vm/lib_core.sh
. /tests/lib_core.sh

samples=${KMARKERS_SAMPLES:-12}
name_refused="refused: the breakpoint handler uses it"
not_to_be_probed="refused: kprobes are forbidden there"

# expect_refused_site NAME ERROR FUNCTION OFFSET LEN: a test that passes if the site is refused with
# that error and no byte changes
expect_refused_site() {
	around=$(add_hex "$(address "$3")" "$4")
	bytes=$(ask_core bytes "$around" 16)
	fails_with "$2" command_core site "$3" "$4" "$5" && [ "$bytes" = "$(ask_core bytes "$around" 16)" ]
	result $? "$1"
}

# find_existing_functions NAME...: set $there to the functions that exist in this kernel; fails if
# less than two thirds exist
find_existing_functions() {
	there=
	for function in "$@"; do
		! in_kernel "$function" || there="$there $function"
	done
	# shellcheck disable=SC2086 # they are words
	[ "$(echo $there | wc -w)" -ge $(($# * 2 / 3)) ]
}

test_names() {
	for symbol in jiffies_64 start_kernel vfs_read "$getppid" "$callee"; do
		try "the kernel has the symbol $symbol" in_kernel "$symbol"
	done
	try "kmarkers_immediate has the symbol imv_set_many" in_module imv_set_many kmarkers_immediate
	refused "a site in an unknown function is refused" "No such file" command_core site no_such_function 0 5
	refused "a site in data is refused" "No such file" command_core site jiffies_64 0 5
	refused "a site in a function of a module is refused" "No such file" command_core site imv_set_many 5 5
	refused "a site in a freed init function is refused" "No such file" command_core site start_kernel 5 5
	refused "a redirect of calls of an unknown function is refused" "No such file" command_core redirect "$getppid" no_such_function
	refused "a redirect of a call that the function does not make is refused" "No such file" command_core redirect "$getppid" vfs_read
	refused "a site of no length is refused" "Invalid" command_core site "$getppid" 0 0
	try "the module's checks of incomplete requests succeed" command_core nothing
	try "no records are found of a kind that no module has" command_core records
	refused "a site longer than any instruction is refused" "Invalid" command_core site "$getppid" 0 12
	# Line 1: entry code; line 2: noinstr functions; line 3: notrace functions and assembly;
	# line 4: functions that run before the breakpoint handler.
	try "this kernel has most of the functions that must be refused" \
		find_existing_functions asm_exc_int3 asm_exc_page_fault entry_SYSCALL_64 error_entry \
		exc_int3 exc_page_fault do_int3 irqentry_nmi_enter \
		memset clear_page_erms trace_clock_local \
		notify_die atomic_notifier_call_chain kprobe_int3_handler
	for function in $there; do
		expect_refused_site "a site in $function is refused" "not permitted" "$function" 5 5
		logged "patcher: change of function $function $name_refused\|$function.* $not_to_be_probed"
		result $? "the log says that kprobes are forbidden in $function or the breakpoint handler uses it"
	done
}

# Functions that run while a breakpoint is handled. The kernel allows kprobes in them, so the
# patcher must refuse them by name.
test_handler_names() {
	try "this kernel has most of the functions that the breakpoint handler uses" \
		find_existing_functions __rcu_read_lock hw_breakpoint_exceptions_notify get_kprobe
	for function in $there; do
		expect_refused_site "a site in $function of the breakpoint handler is refused" "not permitted" "$function" 5 5
		logged "patcher: change of function $function $name_refused"
		result $? "the log says that the breakpoint handler uses $function"
	done
}

test_instructions() {
	expect_refused_site "a site inside an instruction is refused" "Invalid" "$getppid" $((call + 1)) 4
	logged "refused: no instruction begins there"
	result $? "the log says that no instruction begins there"
	expect_refused_site "a site shorter than its instruction is refused" "Invalid" "$getppid" "$call" 4
	logged "refused: the instruction is longer than the given length"
	result $? "the log says that the instruction is longer"
	expect_refused_site "a site of more than one instruction is refused" "Invalid" "$getppid" "$call" 6
	logged "refused: the given length spans more than one instruction"
	result $? "the log says that there is more than one instruction"
	size=$(print_function_size "$getppid")
	expect_refused_site "a site behind the end of its function is refused" "Invalid" "$getppid" "$size" 5
	expect_refused_site "a site across the end of its function is refused" "Invalid" "$getppid" $((size - 1)) 5
	refused "a site far behind its function is refused" "Invalid" command_core site "$getppid" 0x7fffffff 5
	refused "a site beyond the address space is refused" "Invalid" command_core site "$getppid" 0xfffffffffffffff0 5
	fentry=0
	case $(ask_core bytes "$(address "$getppid")" 4) in
	"f3 0f 1e fa"*) fentry=4 ;;
	esac
	expect_refused_site "a site on the entry that belongs to ftrace is refused" "not permitted" "$getppid" "$fentry" 5
	logged "refused: ftrace"
	result $? "the log says that the entry belongs to ftrace"
	expect_refused_site "a site beside ftrace's instruction at the entry is refused" "Invalid\|not permitted" "$getppid" $((4 - fentry)) 4
	try "a site on the call is allowed" command_core site "$getppid" "$call" 5
}

# list_table_sites TABLE ENTRY_SIZE: print the function and offset of sampled entries of a table of
# the kernel, except those in functions whose name is not unique
list_table_sites() {
	start=$(address "__start_$1")
	stop=$(address "__stop_$1")
	entries=$(((0x$stop - 0x$start) / $2))
	for i in $(seq 0 $((entries / samples)) $((entries - 1))); do
		ask_core relative "$(add_hex "$start" $((i * $2)))"
	done | sed -n '/\[/d;s/^\([^ ]*\)+\(0x[0-9a-f]*\)\/.*/\1 \2/p' >/tmp/named
	awk 'NR == FNR { times[$3]++; next } times[$1] == 1' /tmp/symbols /tmp/named
}

# expect_refused_table_sites TABLE ENTRY_SIZE NAME: two tests. First, a site at the address in any
# sampled entry of the table must be refused. Second, at least a third of the sampled sites must be
# refused because kprobes are forbidden at the address, not in the whole function.
expect_refused_table_sites() {
	[ "$(address "__start_$1")" ] || {
		skip "$3" "this kernel has no such table"
		return
	}
	list_table_sites "$1" "$2" >/tmp/sites
	allowed=0
	while read -r function offset; do
		fails_with "not permitted\|No such file" command_core site "$function" "$offset" 5 ||
			allowed=$((allowed + 1))
	done </tmp/sites
	[ $allowed -eq 0 ]
	result $? "$3"
	by_address=$(times_logged "$not_to_be_probed")
	echo "# $by_address of $(wc -l </tmp/sites) sites were refused because of the address"
	[ "$by_address" -ge $((samples / 3)) ]
	result $? "$3: at least a third because kprobes are forbidden at the address"
}

# expect_kprobe_refusal NAME FUNCTION OFFSET LEN: tests that pass if the site is refused because of
# a kprobe
expect_kprobe_refusal() {
	expect_refused_site "$1" "busy" "$2" "$3" "$4"
	logged "refused: a kprobe"
	result $? "$1: the log names a kprobe as the reason"
}

# holds_jump FUNCTION OFFSET: succeeds if the text at the offset is a jump, such as that of an
# optimised kprobe
holds_jump() {
	case $(ask_core bytes "$(add_hex "$(address "$1")" "$2")" 1) in
	e9*) ;;
	*) return 1 ;;
	esac
}

# holds_no_jump FUNCTION OFFSET: succeeds if the text at the offset is no jump. The kernel removes
# the jump of a disabled kprobe some time later.
holds_no_jump() {
	! holds_jump "$@"
}

# find_covering_kprobe: register a kprobe on an instruction directly before a load of a constant, so
# that the jump to which the kernel optimises the kprobe also covers the load. Set $function,
# $offset (of the load) and $distance (from the kprobe to the load). Where functions return by a
# thunk, give up after 4 kprobes that are not optimised.
find_covering_kprobe() {
	tries=1000
	! has_return_thunks || tries=4
	# These functions run rarely, because some emulators fail if breakpoints change in a busy
	# one.
	for function in vfs_rename vfs_link vfs_rmdir vfs_mkdir vfs_mknod do_symlinkat vfs_symlink \
		vfs_fsync_range do_fcntl vfs_write vfs_read; do
		[ "$(address "$function")" ] || continue
		size=$(print_function_size "$function")
		for offset in $(ask_core scan "$(address "$function")" "$size" b8 f8); do
			[ "$offset" -gt 9 ] || continue
			command_core site "$function" "$offset" 5 2>/dev/null || continue
			for distance in 4 3 2 1; do
				add_probe reach "$function" $((offset - distance)) 2>/dev/null || continue
				enable_probe reach
				within 1 holds_jump "$function" $((offset - distance)) && return
				disable_probe reach
				remove_probe reach
				tries=$((tries - 1))
				[ "$tries" -gt 0 ] || return
			done
		done
	done
	return 1
}

# has_return_thunks: succeeds if the kernel's functions return by a jump to a thunk. Some kernels
# treat this jump as an indirect one, and do not optimise kprobes in such functions.
has_return_thunks() {
	cat /sys/devices/system/cpu/vulnerabilities/* | grep -qi "return thunk\|safe ret"
}

test_core_kprobes() {
	add_probe site "$getppid" "$call"
	expect_kprobe_refusal "a site on a disabled kprobe is refused" "$getppid" "$call" 5
	enable_probe site
	expect_kprobe_refusal "a site on an armed kprobe is refused" "$getppid" "$call" 5
	refused "a redirect of a call with a kprobe is refused" "busy" command_core redirect "$getppid" "$callee"
	disable_probe site
	remove_probe site
	try "a site is allowed once the kprobe is removed" command_core site "$getppid" "$call" 5
	put 1 /proc/sys/debug/kprobes-optimization
	find_covering_kprobe
	found=$?
	[ $found = 0 ] || ! has_return_thunks || {
		skip "a site that an optimised kprobe covers is refused" \
			"this kernel optimises no kprobe where functions return by a thunk"
		return
	}
	result $found "a kprobe is registered whose optimised jump covers the next instruction"
	echo "# the kprobe is $distance bytes before $function+$offset"
	expect_kprobe_refusal "a site that an optimised kprobe covers is refused" "$function" "$offset" 5
	disable_probe reach
	try "the jump of a disabled kprobe is removed" within 3 holds_no_jump "$function" $((offset - distance))
	expect_kprobe_refusal "a site that a disabled kprobe would cover if it was optimised is refused" "$function" "$offset" 5
	remove_probe reach
	put 0 /proc/sys/debug/kprobes-optimization
	add_probe reach "$function" "$offset"
	enable_probe reach
	expect_kprobe_refusal "a site on an armed kprobe is refused while optimisation is disabled" "$function" "$offset" 5
	put 1 /proc/sys/debug/kprobes-optimization
	try "the armed kprobe is optimised once optimisation is allowed" within 3 holds_jump "$function" "$offset"
	expect_kprobe_refusal "a site on an optimised kprobe is refused" "$function" "$offset" 5
	disable_probe reach
	remove_probe reach
	try "a site is allowed once the optimised kprobe is removed" command_core site "$function" "$offset" 5
}

test_redirect() {
	bytes=$(call_bytes)
	refused "a redirect to a replacement beyond the reach of a call is refused" "Invalid" command_core far "$getppid" "$callee"
	same "the refused redirect leaves every byte as it was" "$(call_bytes)" "$bytes"
	lacks "^redirect" "$debugfs"/patcher/sites
	result $? "the refused redirect leaves no site"
	try "a call is redirected" command_core redirect "$getppid" "$callee"
	same "the redirected call returns the replacement's value" "$(parent_pid)" 4242
	[ "$bytes" != "$(call_bytes)" ]
	result $? "the redirected call has other bytes"
	grep -q "^redirect .*getppid+$call/" "$debugfs/patcher/sites"
	result $? "the list of sites shows the redirected call"
	refused "a second redirect of the call is refused" "busy" command_core redirect "$getppid" "$callee"
	refused "a redirect of the call by another client is refused" "busy" command_core redirect-too "$getppid" "$callee"
	same "the first redirect stays" "$(parent_pid)" 4242
	refused "a site on a redirected call is refused" "busy" command_core site "$getppid" "$call" 5
	try "the redirected call is restored" command_core restore
	same "the restored call has its former bytes" "$(call_bytes)" "$bytes"
	[ "$(parent_pid)" != 4242 ]
	result $? "the restored call does not return the replacement's value"
	refused "a second restore is refused" "Invalid" command_core restore
	lacks "^redirect" "$debugfs"/patcher/sites
	result $? "the restored call leaves no site"
}

test_undo_waits() {
	check_undo_waits restore redirect "$getpid" "$callee"
	check_undo_waits undetour detour "$getpid"
	command_core redirect "$getppid" "$callee"
	refused "a module whose replacement is in use cannot be unloaded" "temporarily unavailable" rmmod kmarkers_test_core
	try "the call is restored while its module cannot be unloaded" command_core restore
	same "the call has its former bytes after that" "$(call_bytes)" "$bytes"
}

# Checks that the patcher changes no byte of the call while another thread holds text_mutex.
test_text_mutex() {
	try "no byte changes while text_mutex is held" command_core race "$getppid" "$callee"
	same "the call has its former bytes after text_mutex was held" "$(call_bytes)" "$bytes"
}

# print_site_owners: print each owner in the list of sites, and the number of its sites
print_site_owners() {
	tail -n +2 "$debugfs"/patcher/sites | cut -d' ' -f1 | sort | uniq -c | tr -s ' \n' ' '
}

# To check whether a site is allowed, the patcher registers a kprobe on it for a moment. Because of
# that kprobe, the patcher must not refuse a change that another thread makes nearby.
test_claims() {
	before=$(print_site_owners)
	try "a redirect adds a site to the list of sites" command_core redirect "$getppid" "$callee"
	[ "$(print_site_owners)" != "$before" ]
	result $? "the list of sites shows the site that was added"
	try "the site that was added is restored" command_core restore
	try "a call is redirected while a thread tries to register a site in it" command_core claims "$getppid" "$callee"
	same "the call has its former bytes after the tries to register a site in it" "$(call_bytes)" "$bytes"
	try "a site that is changed cannot be unregistered" command_core left "$getppid" "$callee"
	logged "patcher: site .*getppid.* of owner redirect cannot be unregistered: its original bytes were not restored"
	result $? "the log says that the changed site is not unregistered"
	same "the changed site has its former bytes after it is restored" "$(call_bytes)" "$bytes"
	try "two threads unregister a site at the same time" command_core forget-race "$getppid" "$call"
	same "the list of sites has the same owners and numbers as at first" "$(print_site_owners)" "$before"
}

detour_and_undetour() {
	command_core detour "$getppid" && command_core undetour
}

test_detour() {
	bytes=$(ask_core bytes "$(address "$getppid")" 16)
	try "a function gets a detour" command_core detour "$getppid"
	same "the function with a detour returns the detour's value" "$(parent_pid)" 4343
	refused "ftrace cannot be disabled while a function has a detour" "busy\|not supported" put 0 /proc/sys/kernel/ftrace_enabled
	refused "a second detour of the function is refused" "busy" command_core detour "$getppid"
	same "the first detour stays" "$(parent_pid)" 4343
	try "the detour is removed" command_core undetour
	[ "$(parent_pid)" != 4343 ]
	result $? "the function without a detour does not return the detour's value"
	same "the function without a detour has its former bytes" "$(ask_core bytes "$(address "$getppid")" 16)" "$bytes"
	refused "a second removal of the detour is refused" "Invalid" command_core undetour
	check_filters_are_freed "a detour that is removed leaves no filter of ftrace" detour_and_undetour
	try "two threads install one detour at the same time" command_core detour-race "$getppid"
	same "the function has its former bytes after two threads" "$(ask_core bytes "$(address "$getppid")" 16)" "$bytes"
	try "the kernel has the symbol memset" in_kernel memset
	refused "a detour of a function that the breakpoint handler uses is refused" "not permitted" command_core detour notify_die
	refused "a detour of a module's function is refused" "No such file" command_core detour imv_set_many
	refused "a detour of data is refused" "No such file" command_core detour jiffies_64
	refused "a detour of an unknown function is refused" "No such file" command_core detour no_such_function
	refused "a detour of assembly is refused" "No such file" command_core detour memset
}

test_mappings() {
	same "the page tables show no writable alias of core text" "$(ask_core mappings "$call_addr")" "writable 0 executable 0"
	no_vmalloc_area_of kmarkers_patcher
	result $? "no area of kmarkers_patcher is mapped"
}

test_core() {
	must insmod /modules/kmarkers_test_core.ko || return
	read_symbols
	try "the call in getppid is found" find_call "$getppid"
	test_names
	test_handler_names
	test_instructions
	expect_refused_table_sites __jump_table 16 "sites on jump labels are refused"
	expect_refused_table_sites static_call_sites 8 "sites on static calls are refused"
	test_core_kprobes
	test_redirect
	test_undo_waits
	test_text_mutex
	test_claims
	test_detour
	test_mappings
	try "kmarkers_test_core unloads" rmmod kmarkers_test_core
}
