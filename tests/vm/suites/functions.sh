# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Markers that are attached to functions without a marker in their code.
# shellcheck source=tests/vm/lib_events.sh
. /tests/lib_events.sh

# write_control LINE: write a command to markers/control
write_control() {
	put "$1" "$markers/control"
}

# traced_function FUNCTION: succeeds if a client of ftrace is enabled for the function
traced_function() {
	grep -q "^$1 " "$tracing"/enabled_functions
}

test_attach() {
	try "attach makes a marker on a function" write_control "attach do_sys_openat2 opened"
	grep -q '^opened off ftrace 0 kernel do_sys_openat2 - "caller %pS args' "$markers"/list
	result $? "the list shows the attached marker"
	! traced_function do_sys_openat2
	result $? "ftrace does not trace the function while its marker is off"
	clear_trace
	try "trace is connected to the attached marker" trace_on opened
	traced_function do_sys_openat2
	result $? "ftrace traces the function while its marker is on"
	cat /etc/dirt >/dev/null
	print_trace_texts | grep -q "^opened: caller .*sys_openat.* args "
	result $? "calls of the function are traced, with caller and arguments"
	try "count is connected to the attached marker" put count "$markers"/opened/probe
	grep -q "^opened on ftrace 2 " "$markers"/list
	result $? "the list shows the attached marker on"
	try "trace is disconnected from the attached marker" put -trace "$markers"/opened/probe
	before=$(print_hits opened)
	for _ in 1 2 3 4 5; do
		cat /etc/dirt >/dev/null
	done
	[ "$(print_hits opened)" -ge $((before + 5)) ]
	result $? "calls of the function are counted"
	try "count is disconnected from the attached marker" put none "$markers"/opened/probe
	! traced_function do_sys_openat2
	result $? "ftrace does not trace the function once its marker is off"
	try "the attached marker is switched on again" write_control "open* count"
	try "detach works on a marker that is on" write_control "detach opened"
	try "the pattern for the detached marker is removed" write_control "open* -count"
	! traced_function do_sys_openat2
	result $? "ftrace does not trace the function once its marker is detached"
	[ ! -e "$markers"/opened ] && ! grep -q "^opened " "$markers"/list
	result $? "the detached marker has no files and no line in the list"
	try "attach without a name uses the name of the function" write_control "attach vfs_read"
	[ -e "$markers"/vfs_read/probe ]
	result $? "a marker with the name of its function has files"
	try "attach works a second time on a function" write_control "attach vfs_read read_again"
	try "two markers on one function are switched on" write_control "*read* count"
	cat /etc/dirt >/dev/null
	[ "$(print_hits vfs_read)" -gt 0 ] && [ "$(print_hits read_again)" -gt 0 ]
	result $? "two markers on one function are both called"
	traced_function vfs_read
	result $? "ftrace traces vfs_read while markers on it are on"
	refused "attach refuses a name that another marker has" "File exists" write_control "attach vfs_write vfs_read"
	logged "markers: marker vfs_read: a marker with this name already exists"
	result $? "the log names the marker that has the name"
	write_control "*read* none"
	write_control "detach vfs_read"
	write_control "detach read_again"
	check_filters_are_freed "a marker that is detached leaves no filter of ftrace" attach_and_detach
}

attach_and_detach() {
	write_control "attach vfs_read" && write_control "detach vfs_read"
}

# print_hits NAME: print the number of hits that the probe count has counted
print_hits() {
	sed -n 's/^hits //p' "$markers/$1/stats"
}

# was_hit NAME: succeeds if at least one hit was counted
was_hit() {
	[ "$(print_hits "$1")" -gt 0 ]
}

test_attach_refusals() {
	before=$(cat "$markers"/list)
	refused "attach refuses an unknown function" "No such file" write_control "attach no_such_function"
	logged "markers: function no_such_function: cannot attach a marker: no such function"
	result $? "the log names the unknown function"
	refused "attach refuses data" "Operation not permitted" write_control "attach jiffies_64"
	logged "markers: function .*: cannot attach a marker: ftrace cannot trace it"
	result $? "the log says that data cannot be traced"
	# memcpy is an alias: the kernel's memory functions have more than one name.
	refused "attach refuses an alias that cannot be traced" "Operation not permitted" write_control "attach memcpy"
	logged "markers: function memcpy: cannot attach a marker: ftrace cannot trace it"
	result $? "the log names the alias that was given"
	refused "attach refuses a function that ftrace cannot trace" "Operation not permitted" write_control "attach asm_exc_int3"
	refused "attach refuses a name with a slash" "Invalid argument" write_control "attach vfs_read a/b"
	refused "attach refuses the name .." "Invalid argument" write_control "attach vfs_read .."
	refused "attach refuses a pattern" "Invalid argument" write_control "attach vfs_*"
	refused "attach refuses a name of 400 characters" "Invalid argument" write_control "attach vfs_read $(head -c 400 /dev/zero | tr '\0' n)"
	refused "attach refuses no words" "Invalid argument" write_control "attach"
	refused "attach refuses a third word" "Invalid argument" write_control "attach vfs_read name more"
	refused "detach refuses an unknown marker" "No such file" write_control "detach no_such_marker"
	refused "detach refuses a marker in the code" "No such file" write_control "detach example_tick"
	refused "detach refuses no words" "Invalid argument" write_control "detach"
	refused "detach refuses a second word" "Invalid argument" write_control "detach a b"
	refused "attach refuses the name of a marker in the code" "File exists" write_control "attach vfs_read example_tick"
	same "refused commands leave the list unchanged" "$(cat "$markers"/list)" "$before"
}

# Attaches markers to functions that are called while the record of a hit is written: each hit must
# still be recorded once.
test_attach_recursion() {
	functions="marker_call_probes kmarkers_event_probe kmarkers_layout_compute_size copy_from_kernel_nofault"
	for function in $functions; do
		try "attach makes a marker on $function" write_control "attach $function rec_$function"
	done
	try "the events of these functions are enabled" write_control "rec_* trace"
	try "the event of a marker in the code is enabled" trace_on ev_plain
	clear_trace
	hit "plain 10"
	same "each hit of a marker in the code is traced once" "$(print_trace_texts | grep -c '^ev_plain: ')" 10
	[ "$(print_trace_texts | grep -c '^rec_marker_call_probes: ')" -ge 10 ]
	result $? "a function that each hit calls is traced"
	try "the events of these functions are disabled" write_control "rec_* none"
	put none "$markers"/ev_plain/probe
	for function in $functions; do
		write_control "detach rec_$function"
	done
}

test_attach_modules() {
	try "attach makes a marker on a function of a module" write_control "attach hit_write module_function"
	grep -q "^module_function off ftrace 0 kmarkers_test_events hit_write - " "$markers"/list
	result $? "the list shows the module of the function"
	write_control "module_function count"
	hit "plain 1"
	same "a call of the module's function is counted" "$(print_hits module_function)" 1
	try "the module of the function unloads" rmmod kmarkers_test_events
	logged "markers: marker module_function: detached from its function, because module kmarkers_test_events is being unloaded"
	result $? "the log says that the marker was detached"
	lacks module_function "$markers"/list
	result $? "the list has no marker on the function after its module unloaded"
	write_control "* none"
	insmod /modules/kmarkers_test_events.ko
}

slow=/sys/module/kmarkers_test_slow/parameters

# Attach must refuse functions of a module that is running its init or exit function, and functions
# in the init text of a module.
test_attach_coming_and_leaving() {
	before=$(cat "$markers"/list)
	insmod /modules/kmarkers_test_slow.ko stay_in_init=1 &
	try "a module is in its init function" within 5 grep -q "^kmarkers_test_slow .* Loading" /proc/modules
	refused "attach refuses a function in init text" "Operation not permitted" write_control "attach slow_in_init_text"
	logged "markers: function slow_in_init_text: cannot attach a marker: the function is freed after init"
	result $? "the log says that init text is freed"
	refused "attach refuses a function of a module in its init function" "No such file" write_control "attach slow_in_text"
	logged "markers: function slow_in_text: cannot attach a marker: its module is being loaded or unloaded"
	result $? "the log says that the module is coming or leaving"
	put 0 "$slow"/stay_in_init
	wait
	refused "attach refuses a function in init text that was freed" "No such file" write_control "attach slow_in_init_text"
	same "refused functions of a module leave the list unchanged" "$(cat "$markers"/list)" "$before"
	try "attach makes a marker once the init function has ended" write_control "attach slow_in_text"
	put 1 "$slow"/stay_in_exit
	rmmod kmarkers_test_slow &
	try "a module is in its exit function" within 5 grep -q "^kmarkers_test_slow .* Unloading" /proc/modules
	refused "attach refuses a function of a module in its exit function" "No such file" write_control "attach slow_in_text too_late"
	write_control "slow_in_text count"
	try "a marker attached before is hit in the exit function" within 5 was_hit slow_in_text
	put 0 "$slow"/stay_in_exit
	wait
	same "the list is the same as before the module was loaded" "$(cat "$markers"/list)" "$before"
	write_control "* none"
}

attach_again_and_again() {
	while [ ! -e /tmp/stop ]; do
		write_control "attach hit_write late"
	done 2>/dev/null
}

attached_late() {
	grep -q "^late " "$markers"/list
}

# The marker "late" is attached repeatedly while the module of its function unloads. Another marker
# of the module is on, so that switching this marker off takes time after "late" was detached.
test_attach_race() {
	rm -f /tmp/stop
	attach_again_and_again &
	met=0
	stale=0
	for _ in $(seq 10); do
		trace_on ev_plain
		within 5 attached_late && met=$((met + 1))
		rmmod kmarkers_test_events
		attached_late && stale=$((stale + 1))
		write_control "detach late" 2>/dev/null
		insmod /modules/kmarkers_test_events.ko
	done
	touch /tmp/stop
	wait
	write_control "detach late" 2>/dev/null
	put none "$markers"/ev_plain/probe
	same "in each of 10 turns a marker was attached before the module unloaded" $met 10
	same "in none of 10 turns a marker stayed on the unloaded module" $stale 0
}

ftrace_enabled=/proc/sys/kernel/ftrace_enabled

# Disabled ftrace does not clean up when a client removes a function. Therefore ftrace must not be
# disabled while a marker on a function is on, and a marker on a function must not be switched on
# while ftrace is disabled.
test_attach_ftrace_off() {
	write_control "attach vfs_read"
	write_control "vfs_read count"
	refused "ftrace cannot be disabled while a marker on a function is on" "busy\|not supported" put 0 "$ftrace_enabled"
	same "ftrace is still enabled after the refusal" "$(cat "$ftrace_enabled")" 1
	try "detach works after the refusal" write_control "detach vfs_read"
	write_control "vfs_read none"
	write_control "attach vfs_read"
	if ! put 0 "$ftrace_enabled" 2>/tmp/said && grep -q "not supported" /tmp/said; then
		skip "ftrace is disabled while no marker is on" "this kernel does not allow to disable ftrace"
		write_control "detach vfs_read"
		return
	fi
	same "ftrace is disabled while no marker is on" "$(cat "$ftrace_enabled")" 0
	refused "a marker on a function cannot be switched on while ftrace is disabled" "busy" write_control "vfs_read count"
	grep -q "^vfs_read off ftrace 0 " "$markers"/list
	result $? "the refused marker is off and has no probe"
	try "detach works while ftrace is disabled" write_control "detach vfs_read"
	try "ftrace is enabled again" put 1 "$ftrace_enabled"
}

# attach_detach NAME: attach a marker, switch it on, list it and detach it, until /tmp/stop exists
attach_detach() {
	while [ ! -e /tmp/stop ]; do
		write_control "attach vfs_read $1"
		write_control "v* count"
		cat "$markers"/*/probe "$markers"/list >/dev/null
		write_control "detach $1"
	done 2>/dev/null
}

attached_to_vfs_read() {
	grep -q "^v[12] " "$markers"/list
}

test_attach_concurrent() {
	rm -f /tmp/stop
	met=0
	attach_detach v1 &
	attach_detach v2 &
	attach_detach v1 &
	for _ in $(seq 10); do
		write_control "v* none" 2>/dev/null
		! within 5 attached_to_vfs_read || met=$((met + 1))
		sleep 0.2
	done
	touch /tmp/stop
	wait
	write_control "detach v1" 2>/dev/null
	write_control "detach v2" 2>/dev/null
	write_control "v* none"
	echo "# a marker was attached in $met of 10 samples of the list"
	[ $met -gt 0 ]
	result $? "markers were attached while others were detached"
	! attached_to_vfs_read && ! traced_function vfs_read
	result $? "no marker is left after attach, connect, list and detach at the same time"
}

# A marker is attached to a function under a name for which a probe is registered already.
test_attach_waiting() {
	insmod /modules/example_probe.ko
	before=$(cat "$markers"/list)
	try "attach accepts a name whose probe is registered with another format" write_control "attach vfs_read example_tick"
	logged "markers: marker example_tick in vfs_read.*is not the registered"
	result $? "the log says that the formats differ"
	grep -q "^example_tick off ftrace 0 " "$markers"/list && ! traced_function vfs_read
	result $? "a marker whose format differs stays off"
	write_control "detach example_tick"
	same "the list is the same as before after the marker is detached" "$(cat "$markers"/list)" "$before"
	rmmod example_probe
}

# print_patterns: print the lines of markers/control that are not comments
print_patterns() {
	grep -v "^#" "$markers/control"
}

# Patterns also apply to the names of modules that are loaded later. At first kmarkers_test_events
# is not loaded.
test_patterns() {
	# Patterns that earlier suites wrote still apply.
	write_control "* none"
	try "a pattern that matches no marker is accepted" write_control "ev_pl* count"
	logged "markers: pattern ev_pl\*: matches no marker yet; applies"
	result $? "the log says that the pattern matches no marker yet"
	try "trace is accepted for a pattern that matches no marker" write_control "ev_plain trace"
	write_control "late_* count"
	write_control "late_* trace"
	same "control lists the patterns with 0 matching names" "$(print_patterns)" "ev_pl* count 0
ev_plain trace 0
late_* trace 0
late_* count 0"
	insmod /modules/kmarkers_test_events.ko
	same "control lists the number of names that a pattern matches" "$(print_patterns | head -2)" "ev_pl* count 1
ev_plain trace 1"
	same "the trace event of a name that came later is enabled" "$(cat "$tracing/events/kmarkers/ev_plain/enable")" 1
	same "the trace event of another name is disabled" "$(cat "$tracing/events/kmarkers/ev_noargs/enable")" 0
	clear_trace
	hit "plain 3"
	same "hits of a name that came later are counted" "$(print_hits ev_plain)" 3
	same "hits of a name that came later are traced" "$(print_trace_texts | grep -c '^ev_plain: ')" 3
	same "a name that no pattern matches is not counted" "$(print_hits ev_noargs)" -
	write_control "attach vfs_open late_open"
	cat /etc/dirt >/dev/null
	was_hit late_open
	result $? "calls of a function whose marker came later are counted"
	same "the trace event of a function whose marker came later is enabled" "$(cat "$markers/late_open/enable")" 1
	put none "$markers/ev_plain/probe"
	same "a name can be disabled although a pattern matches it" "$(cat "$markers/ev_plain/enable")" 0
	try "the module unloads while patterns match its names" rmmod kmarkers_test_events
	insmod /modules/kmarkers_test_events.ko
	hit "plain 2"
	same "patterns apply again when the module is loaded again" "$(print_hits ev_plain) $(cat "$markers/ev_plain/enable")" "2 1"
	try "-count of the same pattern removes it" write_control "ev_pl* -count"
	same "the name that the removed pattern matches is not counted" "$(hit "plain 1"; print_hits ev_plain)" 2
	try "count is accepted for a pattern that matches a marker" write_control "ev_lon* count"
	! logged "ev_lon\*: matches no marker"
	result $? "the log does not say that this pattern matches no marker"
	refused "a pattern that cannot be applied is refused" "Invalid argument" write_control "ev_* trace"
	write_control "late_* -trace"
	write_control "detach late_open"
	same "control lists the patterns that are left" "$(print_patterns)" "ev_plain trace 1
late_* count 0
ev_lon* count 1"
	try "'* none' removes all patterns" write_control "* none"
	same "control lists no pattern" "$(print_patterns)" ""
	same "'* none' disables all names" "$(cat "$markers/ev_plain/enable")" 0
	rmmod kmarkers_test_events
	refused "-count is refused if no pattern and no name matches" "No such file" write_control "late_* -count"
	refused "a pattern of 300 characters is refused" "Invalid argument" write_control "$(head -c 300 /dev/zero | tr '\0' n) count"
	write_control "late_* count"
}

# While a module runs its init function, it has names of markers, but no trace events yet. A pattern
# that matches them must not be applied to them when another module is loaded.
test_patterns_during_init() {
	write_control "fd_request trace"
	write_control "ev_plain trace"
	insmod /modules/kmarkers_test_fields.ko wait=1 &
	try "a module with a name that a pattern matches runs its init function" \
		within 10 [ -e /sys/module/kmarkers_test_fields/parameters/wait ]
	try "another module with a name that a pattern matches loads meanwhile" insmod /modules/kmarkers_test_events.ko
	! logged "trace event fd_request does not exist\|failed for this new marker"
	result $? "the log names no marker whose event cannot be enabled"
	same "the trace event of the other module is enabled" "$(cat "$tracing"/events/kmarkers/ev_plain/enable)" 1
	put 0 /sys/module/kmarkers_test_fields/parameters/wait
	wait
	same "the trace event of the first module is enabled after its init function" \
		"$(cat "$tracing"/events/kmarkers/fd_request/enable)" 1
	write_control "* none"
	rmmod kmarkers_test_fields kmarkers_test_events
}

test_functions() {
	# This write makes the kernel allocate its trace buffer at full size.
	put 0 "$tracing"/events/sched/sched_switch/enable
	test_patterns
	test_patterns_during_init
	insmod /modules/kmarkers_test_events.ko
	insmod /modules/example_client.ko
	test_attach
	test_attach_refusals
	test_attach_recursion
	test_attach_modules
	test_attach_coming_and_leaving
	test_attach_race
	test_attach_ftrace_off
	test_attach_concurrent
	rmmod example_client
	test_attach_waiting
	before=$(reference_count kmarkers_markers)
	write_control "attach vfs_read"
	same "a marker on a function holds a reference to kmarkers_markers" $(($(reference_count kmarkers_markers) - before)) 1
	write_control "detach vfs_read"
	same "a detached marker holds no reference to kmarkers_markers" "$(reference_count kmarkers_markers)" "$before"
	rmmod kmarkers_test_events
}
