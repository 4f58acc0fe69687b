# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Recorded entries and exits of the functions of modules.
# shellcheck source=tests/vm/lib_entry.sh
. /tests/lib_entry.sh

# ftrace_sees: print which functions of the test module the kernel's own ftrace knows
ftrace_sees() {
	sed -n "s/ \[kmarkers_test_entry\]//p" "$tracing/available_filter_functions"
}

test_entry_list() {
	entry_lists "kmarkers_test_entry:te_leaf:entry off - 0 te_leaf@+0x"
	result $? "a function's entry is listed"
	entry_lists "kmarkers_test_entry:te_leaf:exit off - 0 te_leaf@+0x"
	result $? "a function's exit is listed"
	lacks ":te_init:\|:init_module:\|:?:\|:te_plain:" "$entry/list"
	result $? "functions in init text and of the file left to ftrace are not listed"
	grep -q " te_exit[[:space:]]" /proc/kallsyms
	result $? "the module has an exit function"
	lacks ":te_exit:\|:cleanup_module:" "$entry/list"
	result $? "an exit function, which the kernel does not trace either, is not listed"
	same "one entry for a function with several exits" \
		"$(grep -c "^kmarkers_test_entry:te_many:entry " "$entry/list")" 1
	try "a function has several exits" \
		[ "$(grep -c "^kmarkers_test_entry:te_many:exit " "$entry/list")" -gt 1 ]
	same "a record has 8 bytes" "$(entry_stat table_bytes)" \
		$((8 * ($(entry_stat entries) + $(entry_stat exits))))
	if [ -r "$tracing/available_filter_functions" ]; then
		same "the kernel's ftrace knows only functions of a file that is left to it" \
			"$(ftrace_sees)" te_plain
	else
		skip "the kernel's ftrace knows only functions of a file that is left to it" "this kernel has no function tracer"
	fi
}

test_entry_counts() {
	entry_takes 3 "kmarkers_test_entry:te_* count"
	put 10 "$te/pass"
	for expected in "te_leaf 20" "te_tail 10" "te_many 10" "te_recurse 40" "te_cold 10" "te_pass_once 10" "te_pass 1"; do
		# shellcheck disable=SC2086 # a function and a number
		set -- $expected
		same "$1 counts every entry" "$(entry_hits entry "$1")" "$2"
	done
	# te_pass is called once and makes all passes, so it has one exit.
	for expected in "te_leaf 20" "te_tail 10" "te_many 10" "te_recurse 40" "te_cold 10" "te_pass_once 10" "te_pass 1"; do
		# shellcheck disable=SC2086 # a function and a number
		set -- $expected
		same "$1 counts every exit" "$(entry_hits exit "$1")" "$2"
	done
	entry_takes 3 "kmarkers_test_entry:te_* -count"
	put 10 "$te/pass"
	same "te_leaf counts nothing when it is off" "$(entry_hits entry te_leaf)" 20
	same "no function gave a wrong result" "$(cat "$te/wrong")" 0
}

# listed_entry FIELD VALUE: print how many lines of the list match the value in that field
listed_entry() {
	awk -v field="$1" -v value="$2" 'NR > 1 && $field ~ value' "$entry/list" | wc -l
}

# entry_adds_up WHAT: passes if stats has the sums of the list
entry_adds_up() {
	same "modules in stats of $1" "$(entry_stat modules)" \
		"$(sed 1d "$entry/list" | cut -d: -f1 | sort -u | wc -l)"
	same "entries in stats of $1" "$(entry_stat entries)" "$(listed_entry 1 ':entry$')"
	same "exits in stats of $1" "$(entry_stat exits)" "$(listed_entry 1 ':exit$')"
	same "on in stats of $1" "$(entry_stat on)" "$(listed_entry 2 '^on$')"
	same "counted in stats of $1" "$(entry_stat counted)" \
		"$(awk 'NR > 1 { sum += $4 } END { print sum + 0 }' "$entry/list")"
}

test_entry_stats() {
	entry_adds_up "one module that is off"
	put "te_leaf count" "$entry/control"
	before=$(entry_stat counted)
	put 10 "$te/pass"
	same "entries and exits are counted" $(($(entry_stat counted) - before)) 40
	if insmod /modules/kmarkers_test_entry_idle.ko 2>/dev/null; then
		entry_adds_up "two modules"
		rmmod kmarkers_test_entry_idle
	else
		skip "stats of two modules" "this kernel lets no module drive idle CPUs"
	fi
	entry_adds_up "one module that is on"
	put "te_leaf -count" "$entry/control"
}

test_entry_never() {
	entry_takes 3 "te_go* count"
	put 1 "$te/never"
	same "a function that does not return counts its entry" "$(entry_hits entry te_gone)" 1
	same "a function that does not return counts no exit" "$(entry_hits exit te_gone)" 0
	same "the caller of one that does not return counts its entry" "$(entry_hits entry te_goes)" 1
	same "the caller of one that does not return counts no exit" "$(entry_hits exit te_goes)" 0
	entry_takes 3 "te_go* -count"
}

test_entry_patterns() {
	entry_takes 3 "kmarkers_test_entry:te_leaf:exit count"
	before=$(entry_hits exit te_leaf)
	entered=$(entry_hits entry te_leaf)
	put 5 "$te/pass"
	same "a pattern of exits counts exits" $(($(entry_hits exit te_leaf) - before)) 10
	same "a pattern of exits counts no entries" $(($(entry_hits entry te_leaf) - entered)) 0
	entry_takes 3 "te_[lt]* count"
	entry_takes 0 "te_leaf count"
	refused "a pattern that is there" "Device or resource busy" put "te_leaf count" "$entry/control"
	entry_takes 3 "te_[lt]* -count"
	entry_lists "kmarkers_test_entry:te_leaf:entry on count "
	result $? "a function stays on as long as a pattern matches"
	entry_lists "kmarkers_test_entry:te_tail:entry off - "
	result $? "a function goes off when no pattern matches"
	entry_takes 3 "te_leaf -count"
	entry_takes 3 "kmarkers_test_entry:te_leaf:exit -count"
	refused "a pattern that is not there" "No such file" put "te_leaf -count" "$entry/control"
	for wrong in "te_leaf" "a:b:c:d count" "te_leaf:te_leaf:enter count" " count" "te_leaf counts"; do
		refused "entry control refuses '$wrong'" "Invalid argument" put "$wrong" "$entry/control"
	done
	logged "kmarkers_entry: control refuses \"te_leaf counts\"; it takes PATTERN count |"
	result $? "the log says what control takes"
	try "entry control takes a pattern that matches" put "te_leaf count" "$entry/control"
	! logged "te_leaf: no function matches"
	result $? "the log says nothing of a pattern that matches"
	try "entry control takes a pattern that matches nothing" put "te_nowhere count" "$entry/control"
	logged "entry: te_nowhere: matches no function yet; waits"
	result $? "the log says that a pattern waits"
	same "control lists patterns, with how much each matches" "$(grep -v "^#" "$entry/control")" \
		"te_leaf count $(grep -c "^kmarkers_test_entry:te_leaf:" "$entry/list")
te_nowhere count 0"
	entry_takes 3 "te_leaf -count"
	entry_takes 0 "te_nowhere -count"
	same "all functions are off" "$(entry_stat on)" 0
}

test_entry_outside() {
	outside=/sys/module/kmarkers_entry/parameters/control
	try "functions are switched by the parameter control" put "te_leaf count" "$outside"
	entry_lists "kmarkers_test_entry:te_leaf:entry on count "
	result $? "the parameter control switched them on"
	try "functions are switched off by the parameter control" put "te_leaf -count" "$outside"
	refused "the parameter control refuses 'te_leaf'" "Invalid argument" put "te_leaf" "$outside"
}

# A kprobe on a function that is on keeps that function on, and no other one.
test_entry_stuck() {
	put "kmarkers_test_entry:te_[lt]*:entry count" "$entry/control"
	try "a kprobe comes to a function that is on" put 1 "$te/kprobes"
	hits=$(entry_hits entry te_leaf)
	put 5 "$te/pass"
	same "a function with a kprobe counts every entry" $(($(entry_hits entry te_leaf) - hits)) 10
	refused "a function with a kprobe is not switched off" "Device or resource busy" \
		put "kmarkers_test_entry:te_[lt]*:entry -count" "$entry/control"
	entry_lists "kmarkers_test_entry:te_tail:entry off - "
	result $? "a function without one is switched off"
	entry_lists "kmarkers_test_entry:te_leaf:entry on - "
	result $? "the function with a kprobe stays on and its hits are not counted"
	same "one function is stuck" "$(entry_stat stuck)" 1
	put "te_tail count" "$entry/control"
	try "another function is switched off while one is stuck" put "te_tail -count" "$entry/control"
	put 2 "$te/kprobes"
	refused "functions, one of them with a kprobe, are not switched on" "Device or resource busy" \
		put "kmarkers_test_entry:te_[lt]*:entry count" "$entry/control"
	same "one function is stuck after that" "$(entry_stat stuck)" 1
	put 1 "$te/kprobes"
	put "kmarkers_test_entry:te_leaf:entry count" "$entry/control"
	same "none is stuck that is wanted again" "$(entry_stat stuck)" 0
	refused "the function is not switched off, which is told again" "Device or resource busy" \
		put "kmarkers_test_entry:te_leaf:entry -count" "$entry/control"
	rmmod kmarkers_entry &
	try "kmarkers_entry waits for the kprobe" within 10 sh -c "dmesg | grep -q 'waiting for a kprobe'"
	sleep 3
	try "few lines are logged while it waits" [ "$(dmesg | grep -c "change refused")" -le 15 ]
	put 5 "$te/pass"
	put 0 "$te/kprobes"
	wait
	lacks "^kmarkers_entry " /proc/modules
	result $? "kmarkers_entry leaves when the kprobe has gone"
	put 5 "$te/pass"
	try "kmarkers_entry comes back after the kprobe" insmod /modules/kmarkers_entry.ko
	same "no function gave a wrong result with a kprobe" "$(cat "$te/wrong")" 0
}

waits_again() {
	[ "$(dmesg | grep -c 'waiting for a kprobe')" -gt "$1" ]
}

# A module with a kprobe unloads while kmarkers_entry waits for the kprobe: kmarkers_entry then
# unloads, too.
test_entry_left_alone() {
	put "kmarkers_test_entry:te_leaf:entry count" "$entry/control"
	put 1 "$te/kprobes"
	waited=$(dmesg | grep -c 'waiting for a kprobe')
	rmmod kmarkers_entry &
	try "kmarkers_entry waits for a kprobe in a module that leaves" within 10 waits_again "$waited"
	try "a module leaves while kmarkers_entry waits" rmmod kmarkers_test_entry
	wait
	lacks "^kmarkers_entry " /proc/modules
	result $? "kmarkers_entry leaves when the module with the kprobe has gone"
	try "the module comes back after kmarkers_entry" insmod /modules/kmarkers_test_entry.ko
	try "kmarkers_entry comes back after the module" insmod /modules/kmarkers_entry.ko
}

# example_comes_and_goes: load and unload a module whose functions are switched on, until /tmp/stop
# exists; /tmp/came gets a line each time
example_comes_and_goes() {
	put "example_entry: count" "$entry/control"
	while [ ! -e /tmp/stop ]; do
		insmod /modules/example_entry.ko && rmmod example_entry && echo >>/tmp/came
	done
	put "example_entry: -count" "$entry/control"
}

# beside_storms: succeeds if there were enough batches and module loads during the storms
beside_storms() {
	[ $(($(stat_of batches) - batched)) -ge 50 ] && [ -s /tmp/came ]
}

# storm_hits: print a line for each function that storms are counted for, kind and hits
storm_hits() {
	for function in te_leaf te_tail te_cold te_recurse; do
		echo "$function entry $(entry_hits entry $function)"
		[ $function = te_recurse ] || echo "$function exit $(entry_hits exit $function)"
	done
}

# These functions are counted all the time; switching other functions, and loading and unloading
# modules, must neither lose nor add a hit.
test_entry_storm() {
	passes=$((20 * cycles))
	cpus=$(grep -c "^processor" /proc/cpuinfo)
	[ "$cpus" -le 2 ] || cpus=2
	for counted in te_leaf te_tail te_cold te_recurse:entry; do
		entry_takes 3 "kmarkers_test_entry:$counted count"
	done
	storm_hits >/tmp/hits
	rm -f /tmp/stop
	: >/tmp/came
	batched=$(stat_of batches)
	toggling "kmarkers_test_entry" &
	toggling "kmarkers_test_entry:te_[mrt]*" &
	example_comes_and_goes &
	turns=0
	while [ $turns -lt 50 ] && ! beside_storms; do
		put "$passes" "$te/storm" || break
		turns=$((turns + 1))
	done
	touch /tmp/stop
	wait
	echo "# $(($(stat_of batches) - batched)) batches, $turns storms and $(grep -c "" /tmp/came) loads meanwhile"
	try "functions are switched while every CPU calls them" [ $(($(stat_of batches) - batched)) -ge 20 ]
	try "a module comes and goes meanwhile" [ -s /tmp/came ]
	passes=$((passes * turns * cpus))
	awk -v passes=$passes 'BEGIN { of["te_leaf"] = 2; of["te_tail"] = of["te_cold"] = 1; of["te_recurse"] = 4 }
		{ print $1, $2, $3 + passes * of[$1] }' /tmp/hits >/tmp/wanted
	storm_hits | diff /tmp/wanted - | sed 's/^/# /' >/tmp/differ
	cat /tmp/differ
	same "every entry was counted once" "$(grep -c "^# -te.* entry " /tmp/differ)" 0
	same "every exit was counted once" "$(grep -c "^# -te.* exit " /tmp/differ)" 0
	same "every recursion was counted once" "$(grep -c "^# -te_recurse " /tmp/differ)" 0
	same "no function gave a wrong result in the storm" "$(cat "$te/wrong")" 0
	for counted in te_leaf te_tail te_cold te_recurse:entry; do
		put "kmarkers_test_entry:$counted -count" "$entry/control"
	done
	same "all functions are off after the storm" "$(entry_stat on)" 0
}

# Rules wait for modules; modules unload while their functions are on and are called.
test_entry_modules() {
	put "te_* count" "$entry/control"
	left=0
	while [ $left -lt "$comings" ] && rmmod kmarkers_test_entry && insmod /modules/kmarkers_test_entry.ko; do
		put 3 "$te/pass"
		[ "$(entry_hits entry te_recurse)" = $((4 + 12)) ] || break
		left=$((left + 1))
	done
	same "a module that comes counts from its init on" $left "$comings"
	try "a module leaves while its functions are on" rmmod kmarkers_test_entry
	lacks "^kmarkers_test_entry:" "$entry/list"
	result $? "the list has no function of a module that left"
	put "te_* -count" "$entry/control"
}

recursion_is_counted() {
	[ "$(entry_hits entry te_recurse)" -gt 0 ]
}

calling() {
	while [ ! -e /tmp/stop ]; do
		put 10 "$te/pass"
	done 2>/dev/null
}

# kmarkers_entry is loaded and unloaded while the functions of its client are on and called.
test_entry_removal() {
	try "a client is loaded without kmarkers_entry" rmmod kmarkers_entry
	try "the client is loaded" insmod /modules/kmarkers_test_entry.ko
	refused "the client's table is no parameter to set" "No space left" \
		sh -c "rmmod kmarkers_test_entry; insmod /modules/kmarkers_test_entry.ko kmarkers_chunk_entry=x"
	insmod /modules/kmarkers_test_entry.ko
	rm -f /tmp/stop
	calling &
	gone=0
	while [ $gone -lt "$comings" ] && insmod /modules/kmarkers_entry.ko; do
		put "te_* count" "$entry/control"
		within 20 recursion_is_counted || break
		rmmod kmarkers_entry || break
		gone=$((gone + 1))
	done
	touch /tmp/stop
	wait
	same "kmarkers_entry leaves while functions are on and called" $gone "$comings"
	try "kmarkers_entry comes back" insmod /modules/kmarkers_entry.ko
	entry_lists "kmarkers_test_entry:te_leaf:entry off - 0 "
	result $? "functions of a module that was there before are listed"
	lacks ":te_init:\|:init_module:\|:?:" "$entry/list"
	result $? "functions in init text that was freed are not listed"
	same "no function gave a wrong result at last" "$(cat "$te/wrong")" 0
	try "the client leaves" rmmod kmarkers_test_entry
}

# A task may be preempted between two nops, so the patcher writes no call over them.
test_entry_two() {
	put "two_nops count" "$entry/control"
	insmod /modules/kmarkers_test_entry_two.ko
	result $? "a module whose nop is two instructions loads"
	logged "kmarkers_test_entry_two: its functions cannot be switched: error -22"
	result $? "the log says that its functions cannot be switched"
	lacks "^kmarkers_test_entry_two:" "$entry/list"
	result $? "a function whose nop is two instructions is not listed"
	rmmod kmarkers_test_entry_two
	put "two_nops -count" "$entry/control"
}

idle_calls() {
	[ "$(cat "$ti/calls")" -gt 1000 ]
}

# Idle tasks call a recorded function where RCU does not watch.
test_entry_idle() {
	ti=/sys/module/kmarkers_test_entry_idle/parameters
	driver=/sys/devices/system/cpu/cpuidle/current_driver
	if ! [ -e /modules/kmarkers_test_entry_idle.ko ] || ! grep -q none $driver; then
		skip "hits of idle tasks are counted for all functions together" "this kernel lets no module drive idle CPUs"
		return
	fi
	try "a module with a function for idle tasks loads" insmod /modules/kmarkers_test_entry_idle.ko
	put "kmarkers_test_entry_idle:te_idle:entry count" "$entry/control"
	before=$(entry_stat unwatched)
	put 1 "$ti/idle"
	try "idle tasks call the function" within 20 idle_calls
	put 0 "$ti/idle"
	same "hits of idle tasks are counted for all functions together" \
		$(($(entry_stat unwatched) - before)) "$(cat "$ti/calls")"
	entry_lists "kmarkers_test_entry_idle:te_idle:entry on count 0 "
	result $? "hits of idle tasks are not counted for their function"
	put 1 "$ti/idle"
	gone=0
	while [ $gone -lt "$comings" ] && rmmod kmarkers_entry && insmod /modules/kmarkers_entry.ko; do
		put "te_idle count" "$entry/control"
		gone=$((gone + 1))
	done
	put 0 "$ti/idle"
	same "kmarkers_entry leaves while idle tasks call functions that are on" $gone "$comings"
	same "no idle task got a wrong result" "$(cat "$ti/wrong")" 0
	put "te_idle -count" "$entry/control"
	rmmod kmarkers_test_entry_idle
}

# A module that is in its init function when kmarkers_entry is loaded is listed once it is live.
test_entry_in_init() {
	rmmod kmarkers_test_entry
	rmmod kmarkers_entry
	insmod /modules/kmarkers_test_entry.ko stay=1 &
	try "a module stays in its init function" within 10 grep -q "^kmarkers_test_entry .* Loading" /proc/modules
	try "kmarkers_entry comes meanwhile" insmod /modules/kmarkers_entry.ko
	lacks "^kmarkers_test_entry:" "$entry/list"
	result $? "a module whose init function may yet fail is not listed"
	put 0 "$te/stay"
	wait
	entry_lists "kmarkers_test_entry:te_leaf:entry off - 0 "
	result $? "a module is listed when its init function has returned"
}

test_entry() {
	can_record "recorded functions" || return
	must insmod /modules/kmarkers_test_entry.ko || return
	test_entry_list
	test_entry_counts
	test_entry_stats
	test_entry_never
	test_entry_two
	test_entry_patterns
	test_entry_outside
	test_entry_stuck
	test_entry_left_alone
	test_entry_in_init
	test_entry_idle
	test_entry_storm
	test_entry_modules
	test_entry_removal
}
