# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Requests to change core text: refused ones, their errors and the reasons in the log; and a
# redirected call, which has its former bytes once it is restored.
# shellcheck source=tests/vm/lib_core.sh
. /tests/lib_core.sh

samples=${KMARKERS_SAMPLES:-12}
name_refused="refused: the breakpoint handler uses it"
not_to_be_probed="refused: not to be probed"

# deny NAME ERROR FUNCTION OFFSET LEN: passes if the site is refused and the bytes stay
deny() {
	around=$(add "$(address "$3")" "$4")
	bytes=$(ask bytes "$around" 16)
	fails_with "$2" command_core site "$3" "$4" "$5" && [ "$bytes" = "$(ask bytes "$around" 16)" ]
	result $? "$1"
}

# there_are NAME...: set $there to those of the functions that this kernel has; fails if it has less
# than two thirds of them
there_are() {
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
	try "requests that lack something are refused" command_core nothing
	refused "a site longer than any instruction is refused" "Invalid" command_core site "$getppid" 0 12
	# One line each: entry code, noinstr, assembly with notrace, and functions that run before
	# the handler.
	try "most functions that must be denied are in this kernel" \
		there_are asm_exc_int3 asm_exc_page_fault entry_SYSCALL_64 error_entry \
		exc_int3 exc_page_fault do_int3 irqentry_nmi_enter \
		memset clear_page_erms trace_clock_local \
		notify_die atomic_notifier_call_chain kprobe_int3_handler
	for function in $there; do
		deny "denied: $function" "not permitted" "$function" 5 5
		logged "patcher: $function $name_refused\|$function.* $not_to_be_probed"
		result $? "the log says that $function is not to be probed or handles breakpoints"
	done
}

# Functions that run where a breakpoint is handled, and that could be traced and probed: the patcher
# denies them by name.
test_handler_names() {
	try "most functions on the handler's path are in this kernel" \
		there_are __rcu_read_lock hw_breakpoint_exceptions_notify get_kprobe
	for function in $there; do
		deny "on the handler's path: $function" "not permitted" "$function" 5 5
		logged "patcher: $function $name_refused"
		result $? "the log says that the name of $function is denied"
	done
}

test_instructions() {
	deny "a site inside an instruction is refused" "Invalid" "$getppid" $((call + 1)) 4
	logged "refused: no instruction begins there"
	result $? "the log says that no instruction begins there"
	deny "a site shorter than its instruction is refused" "Invalid" "$getppid" "$call" 4
	logged "refused: a longer instruction"
	result $? "the log says that the instruction is longer"
	deny "a site of more than one instruction is refused" "Invalid" "$getppid" "$call" 6
	logged "refused: more than one instruction"
	result $? "the log says that there is more than one instruction"
	size=$(extent "$getppid")
	deny "a site behind the end of its function is refused" "Invalid" "$getppid" "$size" 5
	deny "a site across the end of its function is refused" "Invalid" "$getppid" $((size - 1)) 5
	refused "a site far behind its function is refused" "Invalid" command_core site "$getppid" 0x7fffffff 5
	refused "a site beyond the address space is refused" "Invalid" command_core site "$getppid" 0xfffffffffffffff0 5
	fentry=0
	case $(ask bytes "$(address "$getppid")" 4) in
	"f3 0f 1e fa"*) fentry=4 ;;
	esac
	deny "a site on the entry that belongs to ftrace is refused" "not permitted" "$getppid" "$fentry" 5
	logged "refused: ftrace"
	result $? "the log says that the entry belongs to ftrace"
	deny "a site on the other instruction at the entry is refused" "Invalid\|not permitted" "$getppid" $((4 - fentry)) 4
	try "a site on the call is allowed" command_core site "$getppid" "$call" 5
}

# table_sites TABLE ENTRY_SIZE: print functions and offsets from a table of the kernel, without the
# functions that share their name
table_sites() {
	start=$(address "__start_$1")
	stop=$(address "__stop_$1")
	entries=$(((0x$stop - 0x$start) / $2))
	for i in $(seq 0 $((entries / samples)) $((entries - 1))); do
		ask relative "$(add "$start" $((i * $2)))"
	done | sed -n '/\[/d;s/^\([^ ]*\)+\(0x[0-9a-f]*\)\/.*/\1 \2/p' >/tmp/named
	awk 'NR == FNR { times[$3]++; next } times[$1] == 1' /tmp/symbols /tmp/named
}

# deny_table TABLE ENTRY_SIZE NAME: passes if all its sites are refused. Of the samples, a third or
# more must be refused because of the address, and not because of the function.
deny_table() {
	[ "$(address "__start_$1")" ] || {
		skip "$3" "this kernel has no such table"
		return
	}
	table_sites "$1" "$2" >/tmp/sites
	allowed=0
	while read -r function offset; do
		fails_with "not permitted\|No such file" command_core site "$function" "$offset" 5 ||
			allowed=$((allowed + 1))
	done </tmp/sites
	[ $allowed -eq 0 ]
	result $? "$3"
	by_address=$(times_logged "$not_to_be_probed")
	echo "# $by_address of $(wc -l </tmp/sites) were refused because of the address"
	[ "$by_address" -ge $((samples / 3)) ]
	result $? "$3: the log says of a third of them that they are not to be probed"
}

# deny_kprobe NAME FUNCTION OFFSET LEN: passes if the site is refused because of a kprobe
deny_kprobe() {
	deny "$1" "busy" "$2" "$3" "$4"
	logged "refused: a kprobe"
	result $? "$1: the log names a kprobe as the reason"
}

# jumps FUNCTION OFFSET: succeeds if a jump is there, which is what an optimised kprobe writes
jumps() {
	case $(ask bytes "$(add "$(address "$1")" "$2")" 1) in
	e9*) ;;
	*) return 1 ;;
	esac
}

# find_reach: register a kprobe on an instruction, so that the jump of the optimised kprobe covers
# the next one, which loads a constant. Sets $function, $offset of the latter, and $distance between
# them. Where functions return by a thunk, a few that are not optimised are enough.
find_reach() {
	tries=1000
	! has_return_thunks || tries=4
	# These run rarely: some emulators fail when breakpoints in a busy function change.
	for function in vfs_rename vfs_link vfs_rmdir vfs_mkdir vfs_mknod do_symlinkat vfs_symlink \
		vfs_fsync_range do_fcntl vfs_write vfs_read; do
		[ "$(address "$function")" ] || continue
		size=$(extent "$function")
		for offset in $(ask scan "$(address "$function")" "$size" b8 f8); do
			[ "$offset" -gt 9 ] || continue
			command_core site "$function" "$offset" 5 2>/dev/null || continue
			for distance in 4 3 2 1; do
				add_probe reach "$function" $((offset - distance)) 2>/dev/null || continue
				enable_probe reach
				within 1 jumps "$function" $((offset - distance)) && return
				disable_probe reach
				remove_probe reach
				tries=$((tries - 1))
				[ "$tries" -gt 0 ] || return
			done
		done
	done
	return 1
}

# has_return_thunks: succeeds if the kernel's functions return by a jump to a thunk. Some kernels take
# that for an indirect jump, and optimise no kprobe in such a function.
has_return_thunks() {
	cat /sys/devices/system/cpu/vulnerabilities/* | grep -qi "return thunk\|safe ret"
}

test_core_kprobes() {
	add_probe site "$getppid" "$call"
	deny_kprobe "a site on a disabled kprobe is refused" "$getppid" "$call" 5
	enable_probe site
	deny_kprobe "a site on an armed kprobe is refused" "$getppid" "$call" 5
	refused "a redirect of a call with a kprobe is refused" "busy" command_core redirect "$getppid" "$callee"
	disable_probe site
	remove_probe site
	try "a site is allowed once the kprobe is removed" command_core site "$getppid" "$call" 5
	put 1 /proc/sys/debug/kprobes-optimization
	find_reach
	found=$?
	[ $found = 0 ] || ! has_return_thunks || {
		skip "a site that an optimised kprobe covers is refused" \
			"this kernel optimises no kprobe where functions return by a thunk"
		return
	}
	result $found "a kprobe is optimised whose jump covers the next instruction"
	echo "# $function+$offset, $distance before"
	deny_kprobe "a site that an optimised kprobe covers is refused" "$function" "$offset" 5
	disable_probe reach
	deny_kprobe "a site that a disabled kprobe could cover is refused" "$function" "$offset" 5
	remove_probe reach
	put 0 /proc/sys/debug/kprobes-optimization
	add_probe reach "$function" "$offset"
	enable_probe reach
	deny_kprobe "a site on a kprobe that may not be optimised is refused" "$function" "$offset" 5
	put 1 /proc/sys/debug/kprobes-optimization
	try "the armed kprobe is optimised once optimisation is allowed" within 3 jumps "$function" "$offset"
	deny_kprobe "a site on an optimised kprobe is refused" "$function" "$offset" 5
	disable_probe reach
	remove_probe reach
	try "a site is allowed once the optimised kprobe is removed" command_core site "$function" "$offset" 5
}

test_redirect() {
	bytes=$(call_bytes)
	refused "a redirect to a replacement out of reach is refused" "Invalid" command_core far "$getppid" "$callee"
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

test_drain() {
	stays_until_drained restore redirect "$getpid" "$callee"
	stays_until_drained undetour detour "$getpid"
	command_core redirect "$getppid" "$callee"
	refused "a module whose replacement is in use cannot be unloaded" "temporarily unavailable" rmmod kmarkers_test_core
	try "the call of the module in use is restored" command_core restore
	same "the call of the module in use has its former bytes" "$(call_bytes)" "$bytes"
}

# While another thread holds text_mutex, no byte of the call may change.
test_text_mutex() {
	try "no byte changes while text_mutex is held" command_core race "$getppid" "$callee"
	same "the call has its former bytes after text_mutex was held" "$(call_bytes)" "$bytes"
}

# site_owners: print the owners in the list of sites, and how many sites each has
site_owners() {
	tail -n +2 "$debugfs"/patcher/sites | cut -d' ' -f1 | sort | uniq -c | tr -s ' \n' ' '
}

# While the patcher checks whether a site is allowed, it registers kprobes of its own for a moment.
# A change nearby must not take these for the kprobes of others.
test_claims() {
	before=$(site_owners)
	try "one site is added for a look at the list of sites" command_core redirect "$getppid" "$callee"
	[ "$(site_owners)" != "$before" ]
	result $? "the list of sites shows the site that was added"
	try "the site that was added is restored" command_core restore
	try "a call is redirected while a thread asks for a site nearby" command_core claims "$getppid" "$callee"
	same "the call has its former bytes after a thread asked" "$(call_bytes)" "$bytes"
	try "a changed site cannot be forgotten" command_core left "$getppid" "$callee"
	logged "patcher: cannot unregister site .*getppid.* of redirect: its bytes were not put back"
	result $? "the log says that the changed site stays"
	same "the changed site has its former bytes in the end" "$(call_bytes)" "$bytes"
	try "two threads forget a site at the same time" command_core forget-race "$getppid" "$call"
	same "the list of sites is as before all threads" "$(site_owners)" "$before"
}

test_detour() {
	bytes=$(ask bytes "$(address "$getppid")" 16)
	try "a function gets a detour" command_core detour "$getppid"
	same "the function with a detour returns the detour's value" "$(parent_pid)" 4343
	refused "ftrace cannot be switched off while there is a detour" "busy\|not supported" put 0 /proc/sys/kernel/ftrace_enabled
	refused "a second detour of the function is refused" "busy" command_core detour "$getppid"
	same "the first detour stays" "$(parent_pid)" 4343
	try "the detour is removed" command_core undetour
	[ "$(parent_pid)" != 4343 ]
	result $? "the function without a detour does not return the detour's value"
	same "the function without a detour has its former bytes" "$(ask bytes "$(address "$getppid")" 16)" "$bytes"
	refused "a second removal of the detour is refused" "Invalid" command_core undetour
	try "two threads use one detour at the same time" command_core detour-race "$getppid"
	same "the function has its former bytes after two threads" "$(ask bytes "$(address "$getppid")" 16)" "$bytes"
	try "the kernel has the symbol memset" in_kernel memset
	refused "a detour where breakpoints are handled is refused" "not permitted" command_core detour notify_die
	refused "a detour of a module's function is refused" "No such file" command_core detour imv_set_many
	refused "a detour of data is refused" "No such file" command_core detour jiffies_64
	refused "a detour of an unknown function is refused" "No such file" command_core detour no_such_function
	refused "a detour of assembly is refused" "No such file" command_core detour memset
}

test_mappings() {
	same "the page tables show no writable alias of core text" "$(ask mappings "$call_addr")" "writable 0 executable 0"
	no_area_of kmarkers_patcher
	result $? "no area of kmarkers_patcher is mapped"
}

test_core() {
	must insmod /modules/kmarkers_test_core.ko || return
	read_symbols
	try "the call in getppid is found" find_call "$getppid"
	test_names
	test_handler_names
	test_instructions
	deny_table __jump_table 16 "sites on jump labels are refused"
	deny_table static_call_sites 8 "sites on static calls are refused"
	test_core_kprobes
	test_redirect
	test_drain
	test_text_mutex
	test_claims
	test_detour
	test_mappings
	try "the module of core text tests unloads" rmmod kmarkers_test_core
}
