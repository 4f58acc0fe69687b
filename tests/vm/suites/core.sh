# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Core text: what is refused, with which error and in whose name, and that a redirected call
# leaves every byte as it was found.
# shellcheck source=tests/vm/lib_core.sh
. /tests/lib_core.sh

samples=${KMARKERS_SAMPLES:-12}
name_refused="refused: runs where a breakpoint is handled"
not_to_be_probed="refused: not to be probed"

# deny NAME ERROR FUNCTION OFFSET LEN: no site, and the bytes stay
deny() {
	around=$(add "$(address "$3")" "$4")
	bytes=$(ask bytes "$around" 16)
	fails_with "$2" command_core site "$3" "$4" "$5" && [ "$bytes" = "$(ask bytes "$around" 16)" ]
	result $? "$1"
}

# there_are NAME... : of these functions, those that this kernel has; fails if few are there
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
		try "there is a $symbol" in_kernel "$symbol"
	done
	try "there is an imv_set_many in a module" in_module imv_set_many kmarkers_immediate
	refused "unknown function" "No such file" command_core site no_such_function 0 5
	refused "data" "No such file" command_core site jiffies_64 0 5
	refused "module function" "No such file" command_core site imv_set_many 5 5
	refused "freed init function" "No such file" command_core site start_kernel 5 5
	refused "unknown callee" "No such file" command_core redirect "$getppid" no_such_function
	refused "no such call" "No such file" command_core redirect "$getppid" vfs_read
	refused "empty length" "Invalid" command_core site "$getppid" 0 0
	try "requests that lack something are refused" command_core nothing
	refused "length of no instruction" "Invalid" command_core site "$getppid" 0 12
	# The first kind is entry code, then noinstr, assembly, notrace.
	try "most of what must be denied is there" \
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

# Where a breakpoint is handled, what could be traced and probed is denied by its name.
test_handler_names() {
	try "most of what runs there is there" \
		there_are __rcu_read_lock hw_breakpoint_exceptions_notify get_kprobe
	for function in $there; do
		deny "on the handler's path: $function" "not permitted" "$function" 5 5
		logged "patcher: $function $name_refused"
		result $? "the log says that the name of $function is denied"
	done
}

test_instructions() {
	deny "inside an instruction" "Invalid" "$getppid" $((call + 1)) 4
	logged "refused: no instruction begins there"
	result $? "the log says that no instruction begins there"
	deny "a length too short for the instruction" "Invalid" "$getppid" "$call" 4
	logged "refused: a longer instruction"
	result $? "the log says that the instruction is longer"
	deny "a length of more than one instruction" "Invalid" "$getppid" "$call" 6
	logged "refused: more than one instruction"
	result $? "the log says that there is more than one instruction"
	size=$(extent "$getppid")
	deny "beyond the end" "Invalid" "$getppid" "$size" 5
	deny "over the end" "Invalid" "$getppid" $((size - 1)) 5
	refused "far away" "Invalid" command_core site "$getppid" 0x7fffffff 5
	refused "beyond the address space" "Invalid" command_core site "$getppid" 0xfffffffffffffff0 5
	fentry=0
	case $(ask bytes "$(address "$getppid")" 4) in
	"f3 0f 1e fa"*) fentry=4 ;;
	esac
	deny "entry that belongs to ftrace" "not permitted" "$getppid" "$fentry" 5
	logged "refused: ftrace"
	result $? "the log says that the entry belongs to ftrace"
	deny "the other instruction at the entry" "Invalid\|not permitted" "$getppid" $((4 - fentry)) 4
	try "the call itself" command_core site "$getppid" "$call" 5
}

# table_sites TABLE ENTRY_SIZE: functions and offsets from a table of the kernel; without those
# whose name others have as well
table_sites() {
	start=$(address "__start_$1")
	stop=$(address "__stop_$1")
	entries=$(((0x$stop - 0x$start) / $2))
	for i in $(seq 0 $((entries / samples)) $((entries - 1))); do
		ask relative "$(add "$start" $((i * $2)))"
	done | sed -n '/\[/d;s/^\([^ ]*\)+\(0x[0-9a-f]*\)\/.*/\1 \2/p' >/tmp/named
	awk 'NR == FNR { times[$3]++; next } times[$1] == 1' /tmp/symbols /tmp/named
}

# deny_table TABLE ENTRY_SIZE NAME: all refused, most for their address and not for their function
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
	echo "# $by_address of $(wc -l </tmp/sites) by address"
	[ "$by_address" -ge $((samples / 3)) ]
	result $? "$3: the log says of a third of them that they are not to be probed"
}

# deny_kprobe NAME FUNCTION OFFSET LEN
deny_kprobe() {
	deny "$1" "busy" "$2" "$3" "$4"
	logged "refused: a kprobe"
	result $? "$1: the log names a kprobe as the reason"
}

# jumps FUNCTION OFFSET: does the kprobe there, optimised, take the form of a jump?
jumps() {
	case $(ask bytes "$(add "$(address "$1")" "$2")" 1) in
	e9*) ;;
	*) return 1 ;;
	esac
}

# An instruction that loads a constant, with one before it where an optimised kprobe reaches it.
find_reach() {
	# Rarely executed, so that an emulator which confuses breakpoints has no occasion to.
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
			done
		done
	done
	return 1
}

test_core_kprobes() {
	add_probe site "$getppid" "$call"
	deny_kprobe "disabled kprobe" "$getppid" "$call" 5
	enable_probe site
	deny_kprobe "armed kprobe" "$getppid" "$call" 5
	refused "redirect over a kprobe" "busy" command_core redirect "$getppid" "$callee"
	disable_probe site
	remove_probe site
	try "allowed again" command_core site "$getppid" "$call" 5
	put 1 /proc/sys/debug/kprobes-optimization
	find_reach
	result $? "optimised kprobe that reaches an instruction"
	echo "# $function+$offset, $distance before"
	deny_kprobe "optimised kprobe before" "$function" "$offset" 5
	disable_probe reach
	deny_kprobe "disabled kprobe before" "$function" "$offset" 5
	remove_probe reach
	put 0 /proc/sys/debug/kprobes-optimization
	add_probe reach "$function" "$offset"
	enable_probe reach
	deny_kprobe "armed kprobe there" "$function" "$offset" 5
	put 1 /proc/sys/debug/kprobes-optimization
	try "armed, then optimised" within 3 jumps "$function" "$offset"
	deny_kprobe "optimised kprobe there" "$function" "$offset" 5
	disable_probe reach
	remove_probe reach
	try "allowed again" command_core site "$function" "$offset" 5
}

test_redirect() {
	bytes=$(call_bytes)
	refused "replacement out of reach" "Invalid" command_core far "$getppid" "$callee"
	same "every byte stays" "$(call_bytes)" "$bytes"
	lacks "^redirect" "$debugfs"/patcher/sites
	result $? "no site is left of it"
	try "redirect" command_core redirect "$getppid" "$callee"
	same "the redirected call returns the replacement's value" "$(parent_pid)" 4242
	[ "$bytes" != "$(call_bytes)" ]
	result $? "bytes differ"
	grep -q "^redirect .*getppid+$call/" "$debugfs/patcher/sites"
	result $? "the list of sites shows it"
	refused "no second redirect" "busy" command_core redirect "$getppid" "$callee"
	refused "nor one of another client" "busy" command_core redirect-too "$getppid" "$callee"
	same "the first one stays" "$(parent_pid)" 4242
	refused "no site over another" "busy" command_core site "$getppid" "$call" 5
	try "restore" command_core restore
	same "every byte as before" "$(call_bytes)" "$bytes"
	[ "$(parent_pid)" != 4242 ]
	result $? "the real call again"
	refused "no second restore" "Invalid" command_core restore
	lacks "^redirect" "$debugfs"/patcher/sites
	result $? "no site is left"
}

test_drain() {
	stays_until_drained restore redirect "$getpid" "$callee"
	stays_until_drained undetour detour "$getpid"
	command_core redirect "$getppid" "$callee"
	refused "no unloading of what is in use" "temporarily unavailable" rmmod kmarkers_test_core
	try "restore" command_core restore
	same "every byte as before" "$(call_bytes)" "$bytes"
}

# Whoever holds text_mutex finds that no byte changes, for as long as it is held.
test_text_mutex() {
	try "no byte changes while text_mutex is held" command_core race "$getppid" "$callee"
	same "every byte as before" "$(call_bytes)" "$bytes"
}

# site_owners: the owners in the list of sites, and how many sites each has
site_owners() {
	tail -n +2 "$debugfs"/patcher/sites | cut -d' ' -f1 | sort | uniq -c | tr -s ' \n' ' '
}

# Who asks whether a change is allowed leaves nothing that a change nearby could take for another's.
test_oracles() {
	before=$(site_owners)
	try "a site while it is there" command_core redirect "$getppid" "$callee"
	[ "$(site_owners)" != "$before" ]
	result $? "the list of sites has one owner more"
	try "restore" command_core restore
	try "a change beside what is being asked for" command_core oracles "$getppid" "$callee"
	same "every byte as before" "$(call_bytes)" "$bytes"
	try "a changed site cannot be forgotten" command_core left "$getppid" "$callee"
	logged "patcher: .*getppid.* stays a site of redirect: its bytes were not put back"
	result $? "the log says that the changed site stays"
	same "every byte as before" "$(call_bytes)" "$bytes"
	try "two at a time forget a site" command_core forget-race "$getppid" "$call"
	same "no site is left of any" "$(site_owners)" "$before"
}

test_detour() {
	bytes=$(ask bytes "$(address "$getppid")" 16)
	try "detour" command_core detour "$getppid"
	same "the function with a detour returns the detour's value" "$(parent_pid)" 4343
	refused "ftrace stays while there is a detour" "busy\|not supported" put 0 /proc/sys/kernel/ftrace_enabled
	refused "no second detour" "busy" command_core detour "$getppid"
	same "the first one stays" "$(parent_pid)" 4343
	try "undetour" command_core undetour
	[ "$(parent_pid)" != 4343 ]
	result $? "the real function again"
	same "every byte as before" "$(ask bytes "$(address "$getppid")" 16)" "$bytes"
	refused "no second undetour" "Invalid" command_core undetour
	try "two at a time with one detour" command_core detour-race "$getppid"
	same "every byte as before" "$(ask bytes "$(address "$getppid")" 16)" "$bytes"
	try "there is a memset" in_kernel memset
	refused "detour where breakpoints are handled" "not permitted" command_core detour notify_die
	refused "detour of a module's function" "No such file" command_core detour imv_set_many
	refused "detour of data" "No such file" command_core detour jiffies_64
	refused "detour of nothing" "No such file" command_core detour no_such_function
	refused "detour of assembly" "No such file" command_core detour memset
}

test_mappings() {
	same "no writable alias of core text" "$(ask mappings "$call_addr")" "writable 0 executable 0"
	no_area_of kmarkers_patcher
	result $? "no area of ours is mapped"
}

test_core() {
	must insmod /modules/kmarkers_test_core.ko || return
	read_symbols
	try "a call to redirect" find_call "$getppid"
	test_names
	test_handler_names
	test_instructions
	deny_table __jump_table 16 "jump labels"
	deny_table static_call_sites 8 "static calls"
	test_core_kprobes
	test_redirect
	test_drain
	test_text_mutex
	test_oracles
	test_detour
	test_mappings
	try "unload" rmmod kmarkers_test_core
}
