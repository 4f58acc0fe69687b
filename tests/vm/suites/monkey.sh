# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Random use of tracefs while modules with markers, SDT probes and recorded functions (built with
# entry.mk) are loaded and unloaded. Most commands fail, because the names in them do not exist at
# that moment. KMARKERS_SECONDS is the duration. KMARKERS_SEED selects the commands: the sequence of
# each user process is reproducible, but not the interleaving of the processes. The kernel must not
# log any fault, and all modules must unload at the end.
#
# No file of an event that may be removed is opened: in some kernels, tracing_open_file_tr() reads
# freed memory if the event of any module is removed meanwhile.
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

monkey_seconds=${KMARKERS_SECONDS:-20}
seed=${KMARKERS_SEED:-$(date +%s)}
users=${KMARKERS_USERS:-6}
parameters=/sys/module
marker_lists="$debugfs/markers/list $debugfs/immediate/list $debugfs/patcher/sites $debugfs/sdt/list $debugfs/entry/list"

# pick_number N: set $picked to a number below N
pick_number() {
	state=$(((state * 1103515245 + 12345) % 2147483648))
	picked=$((state / 65536 % $1))
}

# pick_word WORD...: set $word to one of the words, at random
pick_word() {
	pick_number $#
	shift "$picked"
	word=$1
}

write_set_event() {
	echo "$1" >>"$tracing"/set_event
}

user_modules() {
	pick_word fields fields fields_again fields_again sdt sdt_more entry
	insmod "/modules/kmarkers_test_$word.ko"
	pick_number 3
	[ "$picked" = 0 ] || rmmod "kmarkers_test_$word"
}

user_failing_module() {
	insmod /modules/kmarkers_test_fields.ko fail=1
	rmmod kmarkers_test_fields
}

user_hits() {
	for user_module in fields fields_again; do
		pick_word request typed differs bad shared array counted
		put "$word 20" "$parameters/kmarkers_test_$user_module/parameters/hit"
	done
	put 5 "$parameters"/kmarkers_test_sdt/parameters/pass
	put 5 "$parameters"/kmarkers_test_entry/parameters/pass
}

user_set_event() {
	pick_word kmarkers:* kmarkers:fd_request kmarkers:fd_typed kmarkers:fd_shared kmarkers:mk_1 \
		sdt_tsdt:* kmarkers_function:* eprobes:*
	write_set_event "$word"
	pick_number 2
	[ "$picked" = 0 ] || write_set_event "!$word"
}

user_instance() {
	mkdir "$tracing/instances/mk_$1"
	pick_word kmarkers:* sdt_tsdt:* kmarkers_function:*
	put "$word" "$tracing/instances/mk_$1/set_event"
	cat "$tracing/instances/mk_$1/trace"
	rmdir "$tracing/instances/mk_$1"
}

user_function() {
	pick_word mk_1 mk_2 fd_shared
	put "attach vfs_open $word" "$control_parameter"
	pick_number 3
	[ "$picked" = 0 ] || put "detach $word" "$control_parameter"
}

user_control() {
	pick_word "* count" "* trace" "* none" "fd_* count" "mk_* trace" "fd_* none"
	put "$word" "$control_parameter"
	# shellcheck disable=SC2086 # they are words
	[ "$picked" -gt 2 ] || cat $marker_lists
}

user_sources() {
	pick_word "tsdt:::* event" "tsdt:::* -event" "tsdt:::* count" "tsdt:::* -count" "tsdt:::trapped promote"
	put "$word" "$parameters"/kmarkers_sdt/parameters/control
	pick_word "*:*:* event" "*:*:* -event" "te_leaf count" "te_leaf -count"
	put "$word" "$parameters"/kmarkers_entry/parameters/control
}

# Each user has an event probe with its own name.
user_event_probe() {
	pick_word "kmarkers.fd_request a=\$sector:x64" "kmarkers.fd_typed a=\$bytes:x32" \
		"kmarkers.mk_1 a=\$caller:x64" "sdt_tsdt.io__start a=\$arg2:s32" \
		"kmarkers_function.entry c=\$caller:x64"
	echo "e:mk_$1 $word" >>"$tracing"/dynamic_events
	pick_number 2
	[ "$picked" = 0 ] || write_set_event "eprobes:mk_$1"
	user_hits
	write_set_event "!eprobes:mk_$1"
	pick_number 3
	[ "$picked" = 0 ] || echo "-:mk_$1" >>"$tracing"/dynamic_events
}

user_trigger() {
	pick_word fd_request fd_typed mk_1
	put "enable_event:kmarkers:$word" "$tracing"/events/sched/sched_process_fork/trigger
	pick_number 3
	[ "$picked" = 0 ] || put "!enable_event:kmarkers:$word" "$tracing"/events/sched/sched_process_fork/trigger
}

user_perf() {
	pick_word fd_request fd_typed mk_1
	put "$(cat "$own/$word/id")" "$parameters"/kmarkers_test_going/parameters/perf
	pick_number 2
	[ "$picked" = 0 ] || put 0 "$parameters"/kmarkers_test_going/parameters/perf
}

time_is_left() {
	read -r now _ </proc/uptime
	[ "${now%.*}" -lt "$end" ]
}

# run_user NUMBER: run random commands until the time is over; write their count to
# /tmp/monkey.NUMBER
run_user() {
	state=$(((seed + $1 * 7919) % 2147483648))
	turns=0
	while time_is_left; do
		pick_word modules modules modules failing_module hits hits hits set_event set_event instance \
			function control sources event_probe event_probe trigger perf
		"user_$word" "$1"
		turns=$((turns + 1))
	done >/dev/null 2>&1
	echo $turns >"/tmp/monkey.$1"
}

# user_cpu: take the second CPU, if there is one, offline and online repeatedly
user_cpu() {
	while time_is_left; do
		put 0 /sys/devices/system/cpu/cpu1/online
		sleep 1
		put 1 /sys/devices/system/cpu/cpu1/online
		sleep 1
	done 2>/dev/null
}

count_user_commands() {
	cat /tmp/monkey.* | awk '{ sum += $1 } END { print sum + 0 }'
}

# clean_up: remove all events, triggers and markers that the users have left, and unload the modules
clean_up() {
	for word in fd_request fd_typed mk_1; do
		put "!enable_event:kmarkers:$word" "$tracing"/events/sched/sched_process_fork/trigger
	done
	put 0 "$parameters"/kmarkers_test_going/parameters/perf
	put "" "$tracing"/set_event
	put "" "$tracing"/dynamic_events
	put "tsdt:::* -event" "$parameters"/kmarkers_sdt/parameters/control
	put "tsdt:::* -count" "$parameters"/kmarkers_sdt/parameters/control
	put "tsdt:::trapped -promote" "$parameters"/kmarkers_sdt/parameters/control
	put "*:*:* -event" "$parameters"/kmarkers_entry/parameters/control
	put "te_leaf -count" "$parameters"/kmarkers_entry/parameters/control
	put "* none" "$control_parameter"
	for word in mk_1 mk_2 fd_shared; do
		put "detach $word" "$control_parameter"
	done
	for word in fields fields_again sdt sdt_more entry; do
		rmmod "kmarkers_test_$word"
	done
} >/dev/null 2>&1

references_are_as_before() {
	[ "$(reference_count kmarkers_events)" = "$before" ]
}

# show_references: print what may hold references to kmarkers_events
show_references() {
	echo "# kmarkers_events: $(reference_count kmarkers_events) references, before: $before"
	for shown in dynamic_events set_event events/sched/sched_process_fork/trigger; do
		sed "s|^|# $shown: |" "$tracing/$shown"
	done
	grep . "$tracing"/events/kmarkers*/*/enable "$tracing"/events/sdt_*/*/enable | sed "s/^/# /"
}

test_monkey() {
	must insmod /modules/kmarkers_test_going.ko || return
	echo "# seed: $seed ($users users, $monkey_seconds s)"
	# Create events once, after which kmarkers_sdt and kmarkers_entry hold references to
	# kmarkers_events: these references must not be mistaken for leaked ones.
	put "tsdt:::none event" "$parameters"/kmarkers_sdt/parameters/control
	put "tsdt:::none -event" "$parameters"/kmarkers_sdt/parameters/control
	put "te_none event" "$parameters"/kmarkers_entry/parameters/control
	put "te_none -event" "$parameters"/kmarkers_entry/parameters/control
	before=$(reference_count kmarkers_events)
	read -r now _ </proc/uptime
	end=$((${now%.*} + monkey_seconds))
	cat "$tracing"/trace_pipe >/dev/null &
	reader=$!
	user_cpu &
	jobs_of_users=$!
	for who in $(seq "$users"); do
		run_user "$who" &
		jobs_of_users="$jobs_of_users $!"
	done
	# shellcheck disable=SC2086 # they are words
	wait $jobs_of_users
	kill $reader
	result 0 "the kernel logs no fault during $(count_user_commands) random commands, seed $seed"
	clean_up
	lacks "^kmarkers_test_[fse]" /proc/modules
	result $? "all test modules with markers, probes and functions unload"
	try "no event holds a reference to kmarkers_events any more" within 20 references_are_as_before
	references_are_as_before || show_references
	same "the patcher has no site of a test module any more" \
		"$(grep -c "\[kmarkers_test" "$debugfs"/patcher/sites)" 0
	rmmod kmarkers_test_going
}
