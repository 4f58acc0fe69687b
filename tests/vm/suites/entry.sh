# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Recording of function entries and exits in modules: list, counts, patterns, loading and unloading.
# shellcheck source=tests/vm/lib_entry.sh
. /tests/lib_entry.sh

# list_ftrace_functions: print the functions of the test module that the kernel's ftrace can trace
list_ftrace_functions() {
	sed -n "s/ \[kmarkers_test_entry\]//p" "$tracing/available_filter_functions"
}

test_entry_list() {
	entry_lists "kmarkers_test_entry:te_leaf:entry off - 0 te_leaf@+0x"
	result $? "the list shows the entry of a function"
	entry_lists "kmarkers_test_entry:te_leaf:exit off - 0 te_leaf@+0x"
	result $? "the list shows the exit of a function"
	lacks ":te_init:\|:te_early:\|:init_module:\|:?:\|:te_plain:" "$entry/list"
	result $? "the list shows no function in init text or in the file left to ftrace"
	grep -q " te_behind[[:space:]]" /proc/kallsyms && lacks ":te_behind:" "$entry/list"
	result $? "the list shows no function whose record is behind the end of the table"
	grep -q " te_exit[[:space:]]" /proc/kallsyms
	result $? "the test module has an exit function"
	lacks ":te_exit:\|:cleanup_module:" "$entry/list"
	result $? "the list does not show the exit function, which ftrace does not trace either"
	same "a function with several exits has one entry" \
		"$(grep -c "^kmarkers_test_entry:te_many_returns:entry " "$entry/list")" 1
	try "the list shows several exits of te_many_returns" \
		[ "$(grep -c "^kmarkers_test_entry:te_many_returns:exit " "$entry/list")" -gt 1 ]
	same "stats shows 8 bytes for each record" "$(entry_stat table_bytes)" \
		$((8 * ($(entry_stat entries) + $(entry_stat exits))))
	if [ -r "$tracing/available_filter_functions" ]; then
		same "the kernel's ftrace can trace only functions of the file left to it" \
			"$(list_ftrace_functions)" te_plain
	else
		skip "the kernel's ftrace can trace only functions of the file left to it" "this kernel has no function tracer"
	fi
}

test_entry_hit_counts() {
	check_entry_command 3 "kmarkers_test_entry:te_* count"
	put 10 "$te/pass"
	for expected in "te_leaf 20" "te_tail 10" "te_many_returns 10" "te_recurse 40" "te_cold 10" "te_pass_once 10" "te_pass 1"; do
		# shellcheck disable=SC2086 # a function and a number
		set -- $expected
		same "$1 counts every entry" "$(entry_hits entry "$1")" "$2"
	done
	# te_pass is called once and makes all passes, so it has one exit.
	for expected in "te_leaf 20" "te_tail 10" "te_many_returns 10" "te_recurse 40" "te_cold 10" "te_pass_once 10" "te_pass 1"; do
		# shellcheck disable=SC2086 # a function and a number
		set -- $expected
		same "$1 counts every exit" "$(entry_hits exit "$1")" "$2"
	done
	check_entry_command 3 "kmarkers_test_entry:te_* -count"
	put 10 "$te/pass"
	same "te_leaf counts no hit while it is disabled" "$(entry_hits entry te_leaf)" 20
	same "no recorded function returned a wrong result" "$(cat "$te/wrong")" 0
}

# count_listed FIELD VALUE: print the number of lines of entry/list whose field number FIELD matches
# the pattern VALUE
count_listed() {
	awk -v field="$1" -v value="$2" 'NR > 1 && $field ~ value' "$entry/list" | wc -l
}

# check_entry_sums WHEN: tests that entry/stats has the sums of entry/list
check_entry_sums() {
	same "number of modules in stats: $1" "$(entry_stat modules)" \
		"$(sed 1d "$entry/list" | cut -d: -f1 | sort -u | wc -l)"
	same "number of entries in stats: $1" "$(entry_stat entries)" "$(count_listed 1 ':entry$')"
	same "number of exits in stats: $1" "$(entry_stat exits)" "$(count_listed 1 ':exit$')"
	same "number of enabled sites in stats: $1" "$(entry_stat on)" "$(count_listed 2 '^on$')"
	same "number of hits in stats: $1" "$(entry_stat counted)" \
		"$(awk 'NR > 1 { sum += $4 } END { print sum + 0 }' "$entry/list")"
}

test_entry_stats() {
	check_entry_sums "one module with all functions disabled"
	put "te_leaf count" "$entry/control"
	before=$(entry_stat counted)
	put 10 "$te/pass"
	same "stats adds up the hits of entries and exits" $(($(entry_stat counted) - before)) 40
	if insmod /modules/kmarkers_test_entry_idle.ko 2>/dev/null; then
		check_entry_sums "two modules with recorded functions"
		rmmod kmarkers_test_entry_idle
	else
		skip "the sums in stats: two modules with recorded functions" "this kernel lets no module drive idle CPUs"
	fi
	check_entry_sums "one module with an enabled function"
	put "te_leaf -count" "$entry/control"
}

test_entry_never() {
	check_entry_command 3 "te_*never_returns count"
	put 1 "$te/never"
	same "a function that does not return counts its entry" "$(entry_hits entry te_never_returns)" 1
	same "a function that does not return counts no exit" "$(entry_hits exit te_never_returns)" 0
	same "the caller of a function that does not return counts its entry" "$(entry_hits entry te_calls_never_returns)" 1
	same "the caller of a function that does not return counts no exit" "$(entry_hits exit te_calls_never_returns)" 0
	check_entry_command 3 "te_*never_returns -count"
}

test_entry_patterns() {
	check_entry_command 3 "kmarkers_test_entry:te_leaf:exit count"
	before=$(entry_hits exit te_leaf)
	entered=$(entry_hits entry te_leaf)
	put 5 "$te/pass"
	same "a pattern of exits counts exits" $(($(entry_hits exit te_leaf) - before)) 10
	same "a pattern of exits counts no entries" $(($(entry_hits entry te_leaf) - entered)) 0
	check_entry_command 3 "te_[lt]* count"
	check_entry_command 0 "te_leaf count"
	refused "a second command with the same pattern is refused" "Device or resource busy" put "te_leaf count" "$entry/control"
	check_entry_command 3 "te_[lt]* -count"
	entry_lists "kmarkers_test_entry:te_leaf:entry on count "
	result $? "a function stays enabled as long as a pattern matches it"
	entry_lists "kmarkers_test_entry:te_tail:entry off - "
	result $? "a function is disabled when no pattern matches it"
	check_entry_command 3 "te_leaf -count"
	check_entry_command 3 "kmarkers_test_entry:te_leaf:exit -count"
	refused "removal of an unknown pattern is refused" "No such file" put "te_leaf -count" "$entry/control"
	for wrong in "te_leaf" "a:b:c:d count" "te_leaf:te_leaf:enter count" " count" "te_leaf -none" "te_leaf counts"; do
		refused "entry control refuses '$wrong'" "Invalid argument" put "$wrong" "$entry/control"
	done
	logged "module kmarkers_entry: command \"te_leaf counts\" refused; accepted commands: PATTERN count |"
	result $? "the log names the commands that control accepts"
	try "entry control accepts a pattern that matches" put "te_leaf count" "$entry/control"
	! logged "te_leaf: matches no function"
	result $? "the log has no warning of a pattern that matches"
	try "entry control accepts a pattern that matches nothing" put "te_nowhere count" "$entry/control"
	logged "entry: pattern te_nowhere: matches no function yet; applies"
	result $? "the log says that a pattern matches no function yet"
	same "control lists each pattern with its number of matching sites" "$(grep -v "^#" "$entry/control")" \
		"te_leaf count $(grep -c "^kmarkers_test_entry:te_leaf:" "$entry/list")
te_nowhere count 0"
	check_entry_command 3 "te_leaf none"
	refused "none is refused if the pattern has no command" "No such file" put "te_leaf none" "$entry/control"
	check_entry_command 0 "te_nowhere -count"
	same "all functions are disabled after the removal of all patterns" "$(entry_stat on)" 0
}

# count_matching_names PATTERN: print how many lines of entry/list have a function that matches the
# pattern in the shell
count_matching_names() {
	sed 1d "$entry/list" | cut -d: -f2 | {
		matching=0
		while read -r name; do
			# shellcheck disable=SC2254 # a pattern
			case $name in
			$1) matching=$((matching + 1)) ;;
			esac
		done
		echo $matching
	}
}

# Names are sorted, and only those with the literal beginning of a pattern are compared with it.
test_entry_names() {
	for pattern in te_leaf "te_leaf*" "te_l*" "te_*f" "te_*" "t*" "te_cold" "te_cold*" "te_cold.*" "te_col?" \
		"te_s*" "te_split.*" "te_split.c*" "te_[!l]*" "te_[lt]e*" "?e_leaf" "*_leaf" "*leaf*" "**" "te_pass" "te_pass*" "te_pass_o*" "te\_leaf" \
		te_lea te_leaff "a*" "zz*" "~*" "?"; do
		put "$pattern count" "$entry/control"
		same "$pattern matches the functions that it matches in the shell" \
			"$(sed -n '/^#/d; s/.* count //p' "$entry/control")" "$(count_matching_names "$pattern")"
		put "$pattern -count" "$entry/control"
	done
	same "all functions are disabled after patterns of names" "$(entry_stat on)" 0
}

test_entry_parameter() {
	parameter=/sys/module/kmarkers_entry/parameters/control
	try "the parameter control accepts count" put "te_leaf count" "$parameter"
	entry_lists "kmarkers_test_entry:te_leaf:entry on count "
	result $? "the functions are enabled by the parameter control"
	try "the parameter control accepts -count" put "te_leaf -count" "$parameter"
	refused "the parameter control refuses 'te_leaf'" "Invalid argument" put "te_leaf" "$parameter"
}

# While a kprobe is on an enabled function, this function cannot be disabled; other functions can.
test_entry_stuck() {
	put "kmarkers_test_entry:te_[lt]*:entry count" "$entry/control"
	try "a kprobe is registered on an enabled function" put 1 "$te/kprobes"
	hits=$(entry_hits entry te_leaf)
	put 5 "$te/pass"
	same "a function with a kprobe counts every entry" $(($(entry_hits entry te_leaf) - hits)) 10
	refused "disabling functions, one of which has a kprobe, returns an error" "Device or resource busy" \
		put "kmarkers_test_entry:te_[lt]*:entry -count" "$entry/control"
	entry_lists "kmarkers_test_entry:te_tail:entry off - "
	result $? "the function without a kprobe is disabled"
	entry_lists "kmarkers_test_entry:te_leaf:entry on - "
	result $? "the function with the kprobe stays enabled without being counted"
	same "stats shows one stuck function" "$(entry_stat stuck)" 1
	put "te_tail count" "$entry/control"
	try "another function is disabled while one is stuck" put "te_tail -count" "$entry/control"
	put 2 "$te/kprobes"
	refused "enabling functions, one of which has a kprobe, is refused" "Device or resource busy" \
		put "kmarkers_test_entry:te_[lt]*:entry count" "$entry/control"
	same "stats shows one stuck function after the refusal" "$(entry_stat stuck)" 1
	put 1 "$te/kprobes"
	put "kmarkers_test_entry:te_leaf:entry count" "$entry/control"
	same "stats shows no stuck function when the stuck one is counted again" "$(entry_stat stuck)" 0
	refused "disabling the function with the kprobe returns an error again" "Device or resource busy" \
		put "kmarkers_test_entry:te_leaf:entry -count" "$entry/control"
	rmmod kmarkers_entry &
	try "rmmod of kmarkers_entry waits for the kprobe" within 10 sh -c "dmesg | grep -q 'waiting for a kprobe'"
	sleep 3
	try "at most 15 lines are logged while rmmod waits" [ "$(dmesg | grep -c "change refused")" -le 15 ]
	put 5 "$te/pass"
	put 0 "$te/kprobes"
	wait
	lacks "^kmarkers_entry " /proc/modules
	result $? "kmarkers_entry is unloaded when the kprobe is removed"
	put 5 "$te/pass"
	try "kmarkers_entry loads again after the kprobe is removed" insmod /modules/kmarkers_entry.ko
	same "no recorded function returned a wrong result with a kprobe" "$(cat "$te/wrong")" 0
}

# A function that could not be disabled because of a kprobe is disabled by the next removal of a
# rule, also if this rule is for another module, and if functions were enabled meanwhile.
test_entry_stuck_retried() {
	for meanwhile in "" "te_tail count"; do
		put "kmarkers_test_entry:te_leaf:entry count" "$entry/control"
		put 1 "$te/kprobes"
		put "kmarkers_test_entry:te_leaf:entry -count" "$entry/control" 2>/dev/null
		same "stats shows the function with a kprobe as stuck${meanwhile:+ before $meanwhile}" "$(entry_stat stuck)" 1
		[ ! "$meanwhile" ] || put "$meanwhile" "$entry/control"
		put 0 "$te/kprobes"
		put "example_entry: count" "$entry/control"
		put "example_entry: -count" "$entry/control"
		entry_lists "kmarkers_test_entry:te_leaf:entry off - "
		result $? "the removal of a rule for another module disables the function${meanwhile:+ after $meanwhile}"
	done
	put "te_tail -count" "$entry/control"
}

# waits_again COUNT: succeeds if more than COUNT log lines say that kmarkers_entry waits for a
# kprobe
waits_again() {
	[ "$(dmesg | grep -c 'waiting for a kprobe')" -gt "$1" ]
}

# rmmod of kmarkers_entry waits for a kprobe on a recorded function (built with entry.mk). It must
# end when the module with that function unloads.
test_entry_left_alone() {
	put "kmarkers_test_entry:te_leaf:entry count" "$entry/control"
	put 1 "$te/kprobes"
	waited=$(dmesg | grep -c 'waiting for a kprobe')
	rmmod kmarkers_entry &
	try "rmmod of kmarkers_entry waits for a kprobe in another module" within 10 waits_again "$waited"
	try "the module with the kprobe unloads while rmmod of kmarkers_entry waits" rmmod kmarkers_test_entry
	wait
	lacks "^kmarkers_entry " /proc/modules
	result $? "kmarkers_entry is unloaded when the module with the kprobe is unloaded"
	try "the module with recorded functions loads again" insmod /modules/kmarkers_test_entry.ko
	try "kmarkers_entry loads again after the module" insmod /modules/kmarkers_entry.ko
}

# reload_example_repeatedly: load and unload a module whose functions are counted until /tmp/stop
# exists; add a line to /tmp/came each time
reload_example_repeatedly() {
	put "example_entry: count" "$entry/control"
	while [ ! -e /tmp/stop ]; do
		insmod /modules/example_entry.ko && rmmod example_entry && echo >>/tmp/came
	done
	put "example_entry: -count" "$entry/control"
}

# enough_changed_during_storms: succeeds if, during the storms, the patcher made at least 50 batches
# of changes and a module was loaded
enough_changed_during_storms() {
	[ $(($(patcher_stat batches) - batched)) -ge 50 ] && [ -s /tmp/came ]
}

# storm_hits: print a line with function, kind and hits for each kind of hit that is checked after
# storms
storm_hits() {
	for function in te_leaf te_tail te_cold te_recurse; do
		echo "$function entry $(entry_hits entry $function)"
		[ $function = te_recurse ] || echo "$function exit $(entry_hits exit $function)"
	done
}

# Counts hits of some functions exactly, while other functions are enabled and disabled and a module
# is loaded and unloaded.
test_entry_storm() {
	passes=$((20 * cycles))
	cpus=$(grep -c "^processor" /proc/cpuinfo)
	[ "$cpus" -le 2 ] || cpus=2
	for counted in te_leaf te_tail te_cold te_recurse:entry; do
		check_entry_command 3 "kmarkers_test_entry:$counted count"
	done
	storm_hits >/tmp/hits
	rm -f /tmp/stop
	: >/tmp/came
	batched=$(patcher_stat batches)
	toggle_functions "kmarkers_test_entry" &
	toggle_functions "kmarkers_test_entry:te_[mrt]*" &
	reload_example_repeatedly &
	turns=0
	while [ $turns -lt 50 ] && ! enough_changed_during_storms; do
		put "$passes" "$te/storm" || break
		turns=$((turns + 1))
	done
	touch /tmp/stop
	wait
	echo "# during $turns storms: $(($(patcher_stat batches) - batched)) batches, $(grep -c "" /tmp/came) loads of a module"
	try "at least 20 batches switch functions while every CPU calls them" [ $(($(patcher_stat batches) - batched)) -ge 20 ]
	try "a module is loaded and unloaded while functions are called" [ -s /tmp/came ]
	passes=$((passes * turns * cpus))
	awk -v passes=$passes 'BEGIN { of["te_leaf"] = 2; of["te_tail"] = of["te_cold"] = 1; of["te_recurse"] = 4 }
		{ print $1, $2, $3 + passes * of[$1] }' /tmp/hits >/tmp/wanted
	storm_hits | diff /tmp/wanted - | sed 's/^/# /' >/tmp/differ
	cat /tmp/differ
	same "each entry in the storm is counted once" "$(grep -c "^# -te.* entry " /tmp/differ)" 0
	same "each exit in the storm is counted once" "$(grep -c "^# -te.* exit " /tmp/differ)" 0
	same "each recursive call in the storm is counted once" "$(grep -c "^# -te_recurse " /tmp/differ)" 0
	same "no recorded function returned a wrong result in the storm" "$(cat "$te/wrong")" 0
	for counted in te_leaf te_tail te_cold te_recurse:entry; do
		put "kmarkers_test_entry:$counted -count" "$entry/control"
	done
	same "all functions are disabled after the storm" "$(entry_stat on)" 0
}

# A command written to entry/control also applies to modules that are loaded later. Modules unload
# while their functions are enabled.
test_entry_modules() {
	put "te_* count" "$entry/control"
	left=0
	while [ $left -lt "$reloads" ] && rmmod kmarkers_test_entry && insmod /modules/kmarkers_test_entry.ko; do
		put 3 "$te/pass"
		[ "$(entry_hits entry te_recurse)" = $((4 + 12)) ] || break
		left=$((left + 1))
	done
	same "a rule counts the hits of a module that is loaded later from its init on" $left "$reloads"
	try "a module unloads while its functions are enabled" rmmod kmarkers_test_entry
	lacks "^kmarkers_test_entry:" "$entry/list"
	result $? "the list has no function of the unloaded module"
	put "te_* -count" "$entry/control"
}

recursion_is_counted() {
	[ "$(entry_hits entry te_recurse)" -gt 0 ]
}

# call_functions_repeatedly: call the recorded functions until /tmp/stop
# exists
call_functions_repeatedly() {
	while [ ! -e /tmp/stop ]; do
		put 10 "$te/pass"
	done 2>/dev/null
}

# Loads and unloads kmarkers_entry while functions of a module are enabled and called.
test_entry_removal() {
	try "kmarkers_entry unloads before its client is loaded" rmmod kmarkers_entry
	try "the client loads without kmarkers_entry" insmod /modules/kmarkers_test_entry.ko
	refused "the parameter that locates the client's table cannot be set" "No space left" \
		sh -c "rmmod kmarkers_test_entry; insmod /modules/kmarkers_test_entry.ko kmarkers_chunk_entry=x"
	insmod /modules/kmarkers_test_entry.ko
	rm -f /tmp/stop
	call_functions_repeatedly &
	gone=0
	while [ $gone -lt "$reloads" ] && insmod /modules/kmarkers_entry.ko; do
		put "te_* count" "$entry/control"
		within 20 recursion_is_counted || break
		rmmod kmarkers_entry || break
		gone=$((gone + 1))
	done
	touch /tmp/stop
	wait
	same "kmarkers_entry unloads while functions are enabled and called" $gone "$reloads"
	try "kmarkers_entry loads while its client is loaded" insmod /modules/kmarkers_entry.ko
	entry_lists "kmarkers_test_entry:te_leaf:entry off - 0 "
	result $? "the list shows functions of a module loaded before kmarkers_entry"
	lacks ":te_init:\|:te_early:\|:init_module:\|:?:" "$entry/list"
	result $? "the list shows no function in init text that was freed"
	same "no recorded function returned a wrong result while kmarkers_entry was unloaded" "$(cat "$te/wrong")" 0
	try "the client unloads" rmmod kmarkers_test_entry
}

# The patcher refuses to write a call over two nops, because a task may be preempted between them.
test_entry_two() {
	put "two_nops count" "$entry/control"
	insmod /modules/kmarkers_test_entry_two.ko
	result $? "a module whose nop is two instructions loads"
	logged "kmarkers_test_entry_two: table of function entries and exits not registered, so none of them can be enabled: error -22"
	result $? "the log says that its functions cannot be registered"
	lacks "^kmarkers_test_entry_two:" "$entry/list"
	result $? "the list does not show a function whose nop is two instructions"
	rmmod kmarkers_test_entry_two
	put "two_nops -count" "$entry/control"
}

idle_tasks_have_called() {
	[ "$(cat "$ti/calls")" -gt 1000 ]
}

# Idle tasks call a recorded function while RCU is not watching.
test_entry_idle() {
	ti=/sys/module/kmarkers_test_entry_idle/parameters
	driver=/sys/devices/system/cpu/cpuidle/current_driver
	if ! [ -e /modules/kmarkers_test_entry_idle.ko ] || ! grep -q none $driver; then
		skip "the hits of idle tasks are counted in stats as unwatched" "this kernel lets no module drive idle CPUs"
		return
	fi
	try "a module whose function is called by idle tasks loads" insmod /modules/kmarkers_test_entry_idle.ko
	put "kmarkers_test_entry_idle:te_idle:entry count" "$entry/control"
	before=$(entry_stat unwatched)
	put 1 "$ti/idle"
	try "idle tasks call the function" within 20 idle_tasks_have_called
	put 0 "$ti/idle"
	same "the hits of idle tasks are counted in stats as unwatched" \
		$(($(entry_stat unwatched) - before)) "$(cat "$ti/calls")"
	entry_lists "kmarkers_test_entry_idle:te_idle:entry on count 0 "
	result $? "the hits of idle tasks are not counted for the function"
	put 1 "$ti/idle"
	gone=0
	while [ $gone -lt "$reloads" ] && rmmod kmarkers_entry && insmod /modules/kmarkers_entry.ko; do
		put "te_idle count" "$entry/control"
		gone=$((gone + 1))
	done
	put 0 "$ti/idle"
	same "kmarkers_entry unloads while idle tasks call an enabled function" $gone "$reloads"
	same "no idle task got a wrong result from the function" "$(cat "$ti/wrong")" 0
	put "te_idle -count" "$entry/control"
	rmmod kmarkers_test_entry_idle
}

# If kmarkers_entry is loaded while the init function of a module runs, the functions of that module
# are listed once its init function has returned.
test_entry_in_init() {
	rmmod kmarkers_test_entry
	rmmod kmarkers_entry
	insmod /modules/kmarkers_test_entry.ko stay=1 &
	try "a module is kept in its init function" within 10 grep -q "^kmarkers_test_entry .* Loading" /proc/modules
	try "kmarkers_entry loads while a module is in its init function" insmod /modules/kmarkers_entry.ko
	lacks "^kmarkers_test_entry:" "$entry/list"
	result $? "the list does not show a module whose init function has not returned"
	put 0 "$te/stay"
	wait
	entry_lists "kmarkers_test_entry:te_leaf:entry off - 0 "
	result $? "the list shows the module when its init function has returned"
}

test_entry() {
	can_record "recorded functions of modules" || return
	must insmod /modules/kmarkers_test_entry.ko || return
	test_entry_list
	test_entry_hit_counts
	test_entry_stats
	test_entry_never
	test_entry_two
	test_entry_patterns
	test_entry_names
	test_entry_parameter
	test_entry_stuck_retried
	test_entry_stuck
	test_entry_left_alone
	test_entry_in_init
	test_entry_idle
	test_entry_storm
	test_entry_modules
	test_entry_removal
}
