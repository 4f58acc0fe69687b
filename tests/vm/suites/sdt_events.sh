# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The trace events of SDT probes: names, fields, records, and the loading and unloading of modules.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

sdt_files=$debugfs/sdt
tsdt_first=/sys/module/kmarkers_test_sdt/parameters
tsdt_more=/sys/module/kmarkers_test_sdt_more/parameters
sdt_group=$tracing/events/sdt_tsdt

# group_is NAMES: succeeds if the events of the provider tsdt are exactly these, in alphabetical
# order
group_is() {
	[ "$(find "$sdt_group" -mindepth 1 -maxdepth 1 -type d 2>/dev/null | sed 's:.*/::' | sort | tr '\n' ' ')" = "$1" ]
}

# count_sites_on PROBE: print the number of sites of the probe that are on
count_sites_on() {
	grep -c "^tsdt:.*:$1 \(on\|trapped\) " "$sdt_files/list"
}

# count_records FILE PATTERN: print the number of lines of the file that match PATTERN
count_records() {
	grep -c "$2" "$1"
}

# run_passes NUMBER PARAMETERS: empty the trace, and hit the module's sites in NUMBER passes
run_passes() {
	echo >"$tracing/trace"
	put "$1" "$2/pass"
}

test_sdt_event_requests() {
	group_is ""
	result $? "no probe is an event before a command requests it"
	for wrong in "io-start@5 event" "a:b:c:d:e event" " event" "io-start events"; do
		refused "control refuses '$wrong'" "Invalid argument" put "$wrong" "$sdt_files/control"
	done
	refused "-event is refused for a pattern that was not requested" "No such file" put "tsdt:::io-start -event" "$sdt_files/control"
	try "a command requests a probe as an event" put "tsdt:::io-start event" "$sdt_files/control"
	! logged "tsdt:::io-start: matches no site"
	result $? "the log does not say that a requested pattern with a site matches none"
	group_is "io__start "
	result $? "the requested probe is an event"
	try "a command requests a probe that no module has" put "tsdt:::nowhere event" "$sdt_files/control"
	logged "sdt: pattern tsdt:::nowhere: matches no site yet; applies"
	result $? "the log says that a requested pattern matches no site yet"
	put "tsdt:::nowhere -event" "$sdt_files/control"
	refused "a second request of the same pattern is refused" "busy" put "tsdt:::io-start event" "$sdt_files/control"
	try "the parameter control accepts a request for a single site of the probe" \
		put "tsdt_read:io-start event" /sys/module/kmarkers_sdt/parameters/control
	refused "kmarkers_events cannot be unloaded while SDT probes are events" "temporarily unavailable" \
		rmmod kmarkers_events
	try "the first request is withdrawn" put "tsdt:::io-start -event" "$sdt_files/control"
	group_is "io__start "
	result $? "the probe stays an event because of the second request"
	try "the second request is withdrawn" put "tsdt_read:io-start -event" "$sdt_files/control"
	group_is ""
	result $? "no probe is an event after both requests are withdrawn"
}

# The event of a marker is enabled while a probe becomes an event, and while it is withdrawn.
test_sdt_event_beside_marker() {
	tick=$tracing/events/kmarkers/example_tick
	insmod /modules/example_client.ko
	put 1 "$tick/enable"
	try "a probe is requested while the event of a marker is enabled" put "tsdt:::io-start event" "$sdt_files/control"
	try "the request is withdrawn while the event of a marker is enabled" put "tsdt:::io-start -event" "$sdt_files/control"
	same "the event of the marker stays enabled" "$(cat "$tick/enable")" 1
	put 0 "$tick/enable"
	rmmod example_client
}

test_sdt_event_records() {
	put "tsdt:::io-start event" "$sdt_files/control"
	same "fields have the types of the arguments" \
		"$(sed -n 's/.*field:\([^c].*\);	offset.*size:\([0-9]*\);.*/\1 \2/p' "$sdt_group/io__start/format" | grep -v common_ | tr '\n' ' ')" \
		"void * site 8 void * arg1 8 int arg2 4 "
	same "no site is on while the event is disabled" "$(count_sites_on '.*')" 0
	try "the event is enabled" put 1 "$sdt_group/io__start/enable"
	same "only the sites of the probe are on while the event is enabled" "$(count_sites_on io-start) $(count_sites_on '.*')" "2 2"
	run_passes 3 "$tsdt_first"
	same "each hit is recorded" "$(count_records "$tracing/trace" ": io__start: site tsdt_[rw].* arg2 [012]$")" 6
	sites=$(count_records "$tracing/trace" ": io__start: site tsdt_read[.+][^ ]* .* arg2 [012]\$")
	[ "$sites" -eq 3 ] || sed 's/^/# /' "$tracing/trace"
	same "each record names its site" "$sites" 3
	refused "withdrawing the request of an enabled event is refused" "busy" put "tsdt:::io-start -event" "$sdt_files/control"
	run_passes 1 "$tsdt_first"
	same "the enabled event records hits after the refusal" "$(count_records "$tracing/trace" ": io__start: ")" 2
	put 'arg2 == 1' "$sdt_group/io__start/filter"
	run_passes 3 "$tsdt_first"
	same "a filter passes only matching hits" "$(count_records "$tracing/trace" ": io__start: .* arg2 1$") $(count_records "$tracing/trace" io__start)" "2 2"
	put 0 "$sdt_group/io__start/filter"
	try "the event is disabled" put 0 "$sdt_group/io__start/enable"
	same "no site is on after the event is disabled" "$(count_sites_on '.*')" 0
}

test_sdt_event_uses() {
	mkdir "$tracing/instances/sdt"
	put 1 "$tracing/instances/sdt/events/sdt_tsdt/io__start/enable"
	run_passes 2 "$tsdt_first"
	same "only the trace instance in which the event is enabled has records" \
		"$(count_records "$tracing/instances/sdt/trace" ": io__start: ") $(count_records "$tracing/trace" ": io__start: ")" "4 0"
	put 0 "$tracing/instances/sdt/events/sdt_tsdt/io__start/enable"
	rmdir "$tracing/instances/sdt"
	if [ ! -e "$sdt_group/io__start/hist" ]; then
		skip "a histogram counts hits by argument" "this kernel has none"
		return
	fi
	put 'hist:keys=arg2' "$sdt_group/io__start/trigger"
	run_passes 2 "$tsdt_first"
	same "a histogram counts hits by argument" "$(count_records "$sdt_group/io__start/hist" "arg2: .* hitcount: *2\$")" 2
	put '!hist:keys=arg2' "$sdt_group/io__start/trigger"
	same "no site is on after the histogram is removed" "$(count_sites_on '.*')" 0
}

test_sdt_event_breakpoints() {
	put "tsdt:::trapped event" "$sdt_files/control"
	put "tsdt:::small event" "$sdt_files/control"
	put 1 "$sdt_group/enable"
	run_passes 10 "$tsdt_first"
	same "hits of breakpoints are recorded" \
		"$(count_records "$tracing/trace" ": trapped: .* arg1 [0-9]\$") $(count_records "$tracing/trace" ": small: .* arg1 [0-9]\$")" "10 20"
	# The lowest 4 bits of the field are the depth to which preemption is disabled.
	put "!(common_preempt_count & 15)" "$sdt_group/trapped/filter"
	echo >"$tracing/trace"
	run_passes 10 "$tsdt_first"
	same "records of breakpoints show that preemption was enabled" \
		"$(count_records "$tracing/trace" ": trapped: .* arg1 [0-9]\$")" 10
	put 0 "$sdt_group/trapped/filter"
	put 0 "$sdt_group/enable"
	put "tsdt:::small -event" "$sdt_files/control"
}

# Another module has an identical probe, and a probe with the same name but other argument types.
test_sdt_event_peers() {
	put 1 "$sdt_group/enable"
	echo >"$tracing/trace"
	try "another module with probes of the same names loads" insmod /modules/kmarkers_test_sdt_more.ko first=2
	logged "trace event trapped: hits in tsdt:kmarkers_test_sdt_more::trapped are not recorded: format .* differs from the event's format .*"
	result $? "the log says that the argument types of a probe differ"
	same "hits of the other module are recorded from the first one on" "$(count_records "$tracing/trace" ": io__start: site tsdt_more[.+]")" 2
	same "a probe with other argument types is not recorded" "$(count_records "$tracing/trace" ": trapped: ")" 0
	try "the first module unloads" rmmod kmarkers_test_sdt
	same "the event stays enabled in the other module" "$(cat "$sdt_group/io__start/enable")" 1
	run_passes 2 "$tsdt_more"
	same "the event records hits in the other module" "$(count_records "$tracing/trace" ": io__start: site tsdt_more[.+]")" 2
	grep -q 'char\[\] arg1;' "$sdt_group/trapped/format"
	result $? "the event has the argument types of the other module now"
	put 1 "$sdt_group/trapped/enable"
	run_passes 2 "$tsdt_more"
	same "a string argument is recorded" "$(count_records "$tracing/trace" ": trapped: .* arg1 odd$")" 1
	put "tsdt:::kinds event" "$sdt_files/control"
	put 1 "$sdt_group/kinds/enable"
	run_passes 2 "$tsdt_more"
	same "arguments of every type are recorded" \
		"$(sed -n 's/.*: kinds: .* \(arg1 .* arg5 [0-9]*\) arg6.* \(arg7 .*\)/\1 \2/p' "$tracing/trace" | tr '\n' ';')" \
		"arg1 254 arg2 -1 arg3 4294967294 arg4 odd arg5 1 arg7 1;arg1 255 arg2 0 arg3 4294967295 arg4 even arg5 0 arg7 0;"
	try "the last module unloads while events are enabled" rmmod kmarkers_test_sdt_more
	group_is ""
	result $? "the events are removed with the last module"
}

# The event of a probe in two modules exists as long as it is requested for at least one of the
# modules.
test_sdt_event_owner() {
	insmod /modules/kmarkers_test_sdt_more.ko
	for module in kmarkers_test_sdt kmarkers_test_sdt_more; do
		try "a probe of $module is requested as an event" put "tsdt:$module::io-start event" "$sdt_files/control"
	done
	try "the request of the event's first module is withdrawn" put "tsdt:kmarkers_test_sdt::io-start -event" "$sdt_files/control"
	[ -e "$sdt_group/io__start/enable" ]
	result $? "the event stays because the second module offers it"
	try "the module that alone offers the event unloads" rmmod kmarkers_test_sdt_more
	[ ! -e "$sdt_group/io__start" ]
	result $? "the event is removed with the module that alone offers it"
	put "tsdt:kmarkers_test_sdt_more::io-start -event" "$sdt_files/control"
}

test_sdt_event_waits() {
	try "the module loads after its events were requested" insmod /modules/kmarkers_test_sdt.ko
	group_is "io__start trapped "
	result $? "the requested events exist after the module is loaded"
	same "the events are disabled after the module is loaded again" "$(cat "$sdt_group/enable")" 0
	try "the module with the requested events unloads" rmmod kmarkers_test_sdt
	group_is ""
	result $? "the requested events are removed with the module"
	insmod /modules/kmarkers_test_sdt.ko
	for pattern in "tsdt:::io-start" "tsdt:::trapped" "tsdt:::kinds"; do
		try "the request of $pattern is withdrawn" put "$pattern -event" "$sdt_files/control"
	done
	group_is ""
	result $? "no event is left after all requests are withdrawn"
}

# read_requests_repeatedly: read the list of requests until /tmp/reading is removed
read_requests_repeatedly() {
	while [ -e /tmp/reading ]; do
		read -r _ <"$sdt_files/control"
	done
}

# The line of a request has the number of matching sites, which takes long to count.
test_sdt_event_readers() {
	: >/tmp/reading
	read_requests_repeatedly &
	turns=0
	while [ $turns -lt 30 ] && put "many:::none* event" "$sdt_files/control" &&
		put "many:::none* -event" "$sdt_files/control"; do
		turns=$((turns + 1))
	done
	rm /tmp/reading
	wait
	same "requests are added and withdrawn while their list is read" $turns 30
}

test_sdt_event_many() {
	sdt_many=$tracing/events/sdt_many
	insmod /modules/kmarkers_test_sdt_many.ko
	test_sdt_event_readers
	try "a command requests a thousand probes as events" put "many:::p0* event" "$sdt_files/control"
	same "a thousand probes are events" "$(find "$sdt_many" -mindepth 1 -maxdepth 1 -type d | wc -l)" 1000
	put 1 "$sdt_many/p0042/enable"
	echo >"$tracing/trace"
	put 2 /sys/module/kmarkers_test_sdt_many/parameters/pass
	same "one of a thousand events records each hit" "$(count_records "$tracing/trace" ": p0042: ")" 2
	try "the module with ten thousand probes unloads while an event is enabled" rmmod kmarkers_test_sdt_many
	put "many:::p0* -event" "$sdt_files/control"
	[ ! -e "$sdt_many" ]
	result $? "the thousand events are removed"
}

forms=kmarkers_test_sdt_forms
form_providers="tpath tproc tsched ttimeout tstream tdatagram tlink tlock tmemory tabi32"

# list_form_events: print the tracefs directories of the events of all forms
list_form_events() {
	for each in $form_providers; do
		find "$tracing/events/sdt_$each" -mindepth 1 -maxdepth 1 -type d 2>/dev/null
	done
	find "$tracing/events/sdt_sdt" -name "own__*" -type d 2>/dev/null
}

# for_each_form COMMAND [PROVIDER]: write the command for the probes of all forms, except those of
# PROVIDER. The probes of the provider sdt are named, because other modules have some, too.
for_each_form() {
	for each in $form_providers; do
		[ "$each" = "${2-}" ] || put "$each:::* $1" "$sdt_files/control"
	done
	put "sdt:::own-* $1" "$sdt_files/control"
}

# count_forms_in_state STATE HITS: print the number of probes of all forms with that state and
# number of hits
count_forms_in_state() {
	grep -c "^[a-z0-9]*:\($forms\|names\|cache\|calls\|kernel\|card\|fork\|other\):.* \($1\) [a-z]* [01] $2 [a-z_]*@" \
		"$sdt_files/list"
}

# A hundred probes, written in all the ways that the sources of FreeBSD use.
test_sdt_event_forms() {
	must insmod "/modules/$forms.ko" || return
	same "the list has the sites of all forms" "$(count_forms_in_state off 0)" 100
	for_each_form count
	put 3 "/sys/module/$forms/parameters/pass"
	same "the sites of all forms are enabled and counted" "$(count_forms_in_state 'on\|trapped' 3)" 100
	for_each_form -count
	put 1 "/sys/module/$forms/parameters/pass"
	same "the sites of all forms are disabled" "$(count_forms_in_state off 3)" 100
	for_each_form event tpath
	put "tpath:cache::* event" "$sdt_files/control"
	put "tpath:calls::* event" "$sdt_files/control"
	put "tpath:names::* event" "$sdt_files/control"
	same "99 forms are trace events" "$(list_form_events | wc -l)" 99
	[ -e "$tracing/events/sdt_tpath/find_hit" ] && [ -e "$tracing/events/sdt_tpath/fullpath_hit" ] &&
		[ -e "$tracing/events/sdt_tproc/exit" ]
	result $? "probes of two functions with the same name are two events"
	refused "a request is refused if no matching probe can be an event" "not supported" put "tpath:other::* event" "$sdt_files/control"
	logged "trace event find_hit: hits in tpath:other:find:hit are not recorded: format .* differs from the event's format .*"
	result $? "the log has the full name of the probe whose format differs"
	refused "the refused request is not kept" "No such file" put "tpath:other::* -event" "$sdt_files/control"
	list_form_events | while read -r directory; do
		put 1 "$directory/enable"
	done
	echo >"$tracing/trace"
	put 2 "/sys/module/$forms/parameters/pass"
	same "each event of a form is recorded" \
		"$(sed -n 's/.*: \([a-z0-9_]*\): site execute_form_sites[.+].*/\1/p' "$tracing/trace" | sort | uniq -c | grep -c '^ *[24] ')" \
		"$(list_form_events | sed 's:.*/::' | sort -u | wc -l)"
	grep -q ": partly: .* arg1 1 arg2 2 arg3 (null) arg4 0 arg5 0$" "$tracing/trace" &&
		grep -q ": untyped: .* arg3 1 arg4 0 arg5 0 arg6 0 arg7 0$" "$tracing/trace"
	result $? "arguments that a site does not pass are recorded as 0"
	try "the module with all forms unloads while all its events are enabled" rmmod "$forms"
	for_each_form -event tpath
	for module in cache calls names; do
		put "tpath:$module::* -event" "$sdt_files/control"
	done
	same "no event of a form is left after its module unloaded" "$(list_form_events | wc -l)" 0
}

test_sdt_events() {
	must insmod /modules/kmarkers_test_sdt.ko || return
	test_sdt_event_requests
	test_sdt_event_beside_marker
	test_sdt_event_records
	test_sdt_event_uses
	test_sdt_event_breakpoints
	put "tsdt:::io-start -event" "$sdt_files/control"
	test_sdt_event_owner
	put "tsdt:::io-start event" "$sdt_files/control"
	test_sdt_event_peers
	test_sdt_event_waits
	test_sdt_event_many
	test_sdt_event_forms
	try "kmarkers_test_sdt unloads at the end" rmmod kmarkers_test_sdt
}
