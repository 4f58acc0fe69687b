# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# SDT probes as trace events: their names, their records, and modules that are loaded and unloaded.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

sdt_files=$debugfs/sdt
tsdt_first=/sys/module/kmarkers_test_sdt/parameters
tsdt_more=/sys/module/kmarkers_test_sdt_more/parameters
sdt_group=$tracing/events/sdt_tsdt

# group_is NAMES: succeeds if these are the events of the provider, in alphabetical order
group_is() {
	[ "$(find "$sdt_group" -mindepth 1 -maxdepth 1 -type d 2>/dev/null | sed 's:.*/::' | sort | tr '\n' ' ')" = "$1" ]
}

# sites_on PROBE: print how many sites of a probe are on
sites_on() {
	grep -c "^tsdt:.*:$1 \(on\|trapped\) " "$sdt_files/list"
}

# nr_records FILE PATTERN: print how many records of the file match
nr_records() {
	grep -c "$2" "$1"
}

passes() {
	echo >"$tracing/trace"
	put "$1" "$2/pass"
}

test_sdt_event_requests() {
	group_is ""
	result $? "no probe is an event unless that is asked for"
	for wrong in "io-start@5 event" "a:b:c:d:e event" " event" "io-start events"; do
		refused "control refuses '$wrong'" "Invalid argument" put "$wrong" "$sdt_files/control"
	done
	refused "what was not asked for" "No such file" put "tsdt:::io-start -event" "$sdt_files/control"
	try "a probe is to be an event" put "tsdt:::io-start event" "$sdt_files/control"
	group_is "io__start "
	result $? "a probe that was asked for is an event"
	refused "the same again" "busy" put "tsdt:::io-start event" "$sdt_files/control"
	try "a site of it is to be an event, by control outside debugfs" \
		put "tsdt_read:io-start event" /sys/module/kmarkers_sdt/parameters/control
	refused "kmarkers_markers while it makes events of probes" "temporarily unavailable" \
		rmmod kmarkers_markers
	try "one pattern is taken back" put "tsdt:::io-start -event" "$sdt_files/control"
	group_is "io__start "
	result $? "the probe is an event as long as the other stands"
	try "the other is taken back" put "tsdt_read:io-start -event" "$sdt_files/control"
	group_is ""
	result $? "no probe is an event any more"
}

test_sdt_event_records() {
	put "tsdt:::io-start event" "$sdt_files/control"
	same "fields have the types of the arguments" \
		"$(sed -n 's/.*field:\([^c].*\);	offset.*size:\([0-9]*\);.*/\1 \2/p' "$sdt_group/io__start/format" | grep -v common_ | tr '\n' ' ')" \
		"void * site 8 void * arg1 8 int arg2 4 "
	same "no site is on while the event is off" "$(sites_on '.*')" 0
	try "the event goes on" put 1 "$sdt_group/io__start/enable"
	same "the sites of its probe are on, and no others" "$(sites_on io-start) $(sites_on '.*')" "2 2"
	passes 3 "$tsdt_first"
	same "each hit is recorded" "$(nr_records "$tracing/trace" ": io__start: site tsdt_[rw].* arg2 [012]$")" 6
	sites=$(nr_records "$tracing/trace" ": io__start: site tsdt_read[.+][^ ]* .* arg2 [012]\$")
	[ "$sites" -eq 3 ] || sed 's/^/# /' "$tracing/trace"
	same "each record has its site" "$sites" 3
	refused "an event that is on is not taken back" "busy" put "tsdt:::io-start -event" "$sdt_files/control"
	passes 1 "$tsdt_first"
	same "an event that was not taken back is on as before" "$(nr_records "$tracing/trace" ": io__start: ")" 2
	put 'arg2 == 1' "$sdt_group/io__start/filter"
	passes 3 "$tsdt_first"
	same "a filter keeps what matches" "$(nr_records "$tracing/trace" ": io__start: .* arg2 1$") $(nr_records "$tracing/trace" io__start)" "2 2"
	put 0 "$sdt_group/io__start/filter"
	try "the event goes off" put 0 "$sdt_group/io__start/enable"
	same "sites are off with the event" "$(sites_on '.*')" 0
}

test_sdt_event_uses() {
	mkdir "$tracing/instances/sdt"
	put 1 "$tracing/instances/sdt/events/sdt_tsdt/io__start/enable"
	passes 2 "$tsdt_first"
	same "an instance has the records, and it alone" \
		"$(nr_records "$tracing/instances/sdt/trace" ": io__start: ") $(nr_records "$tracing/trace" ": io__start: ")" "4 0"
	put 0 "$tracing/instances/sdt/events/sdt_tsdt/io__start/enable"
	rmdir "$tracing/instances/sdt"
	if [ ! -e "$sdt_group/io__start/hist" ]; then
		skip "a histogram counts" "this kernel has none"
		return
	fi
	put 'hist:keys=arg2' "$sdt_group/io__start/trigger"
	passes 2 "$tsdt_first"
	same "a histogram counts" "$(nr_records "$sdt_group/io__start/hist" "arg2: .* hitcount: *2\$")" 2
	put '!hist:keys=arg2' "$sdt_group/io__start/trigger"
	same "no site is on without the histogram" "$(sites_on '.*')" 0
}

test_sdt_event_breakpoints() {
	put "tsdt:::trapped event" "$sdt_files/control"
	put "tsdt:::small event" "$sdt_files/control"
	put 1 "$sdt_group/enable"
	passes 10 "$tsdt_first"
	same "hits of breakpoints are recorded" \
		"$(nr_records "$tracing/trace" ": trapped: .* arg1 [0-9]\$") $(nr_records "$tracing/trace" ": small: .* arg1 [0-9]\$")" "10 20"
	same "records of breakpoints say that preemption was not disabled" \
		"$(nr_records "$tracing/trace" "\] [^ ][^ ][^ ]\..*: trapped: ")" 10
	put 0 "$sdt_group/enable"
	put "tsdt:::small -event" "$sdt_files/control"
}

# Another module has an identical probe, and one of the same name with other types.
test_sdt_event_peers() {
	put 1 "$sdt_group/enable"
	echo >"$tracing/trace"
	try "another module with a probe of that name" insmod /modules/kmarkers_test_sdt_more.ko first=2
	logged "trapped in tsdt:kmarkers_test_sdt_more::trapped: format .* is not .*, that of its trace event: stays off"
	result $? "the log says that a probe has other types"
	same "the other module records from its first hit on" "$(nr_records "$tracing/trace" ": io__start: site tsdt_more[.+]")" 2
	same "a probe of other types is not" "$(nr_records "$tracing/trace" ": trapped: ")" 0
	try "the module that had the event leaves" rmmod kmarkers_test_sdt
	same "the event stays on" "$(cat "$sdt_group/io__start/enable")" 1
	passes 2 "$tsdt_more"
	same "the event records the other module" "$(nr_records "$tracing/trace" ": io__start: site tsdt_more[.+]")" 2
	grep -q 'char\[\] arg1;' "$sdt_group/trapped/format"
	result $? "the other types have their event now"
	put 1 "$sdt_group/trapped/enable"
	passes 2 "$tsdt_more"
	same "strings are recorded" "$(nr_records "$tracing/trace" ": trapped: .* arg1 odd$")" 1
	put "tsdt:::kinds event" "$sdt_files/control"
	put 1 "$sdt_group/kinds/enable"
	passes 2 "$tsdt_more"
	same "every type is recorded" \
		"$(sed -n 's/.*: kinds: .* \(arg1 .* arg5 [0-9]*\) arg6.* \(arg7 .*\)/\1 \2/p' "$tracing/trace" | tr '\n' ';')" \
		"arg1 254 arg2 -1 arg3 4294967294 arg4 odd arg5 1 arg7 1;arg1 255 arg2 0 arg3 4294967295 arg4 even arg5 0 arg7 0;"
	try "the last module leaves while events are on" rmmod kmarkers_test_sdt_more
	group_is ""
	result $? "the last events leave with their module"
}

test_sdt_event_waits() {
	try "the module comes after its events were asked for" insmod /modules/kmarkers_test_sdt.ko
	group_is "io__start trapped "
	result $? "the events are there with the module"
	same "the events are off when they return" "$(cat "$sdt_group/enable")" 0
	try "the module leaves" rmmod kmarkers_test_sdt
	group_is ""
	result $? "the events are not there without the module"
	insmod /modules/kmarkers_test_sdt.ko
	for pattern in "tsdt:::io-start" "tsdt:::trapped" "tsdt:::kinds"; do
		try "$pattern is to be no event" put "$pattern -event" "$sdt_files/control"
	done
	group_is ""
	result $? "events that were on are removed"
}

test_sdt_event_many() {
	sdt_many=$tracing/events/sdt_many
	insmod /modules/kmarkers_test_sdt_many.ko
	try "a thousand probes are to be events" put "many:::p0* event" "$sdt_files/control"
	same "a thousand probes are events" "$(find "$sdt_many" -mindepth 1 -maxdepth 1 -type d | wc -l)" 1000
	put 1 "$sdt_many/p0042/enable"
	echo >"$tracing/trace"
	put 2 /sys/module/kmarkers_test_sdt_many/parameters/pass
	same "one of them records" "$(nr_records "$tracing/trace" ": p0042: ")" 2
	try "a module of ten thousand probes leaves while an event is on" rmmod kmarkers_test_sdt_many
	put "many:::p0* -event" "$sdt_files/control"
	[ ! -e "$sdt_many" ]
	result $? "a thousand events are gone"
}

forms=kmarkers_test_sdt_forms
form_providers="tpath tproc tsched ttimeout tstream tdatagram tlink tlock tmemory tabi32"

# form_events: print the directories of the events that are probes of all forms
form_events() {
	for each in $form_providers; do
		find "$tracing/events/sdt_$each" -mindepth 1 -maxdepth 1 -type d 2>/dev/null
	done
	find "$tracing/events/sdt_sdt" -name "own__*" -type d 2>/dev/null
}

# for_each_form COMMAND [PROVIDER]: give the command to the probes of all forms, but for a provider's.
# Other modules have probes of the provider sdt, too.
for_each_form() {
	for each in $form_providers; do
		[ "$each" = "${2-}" ] || put "$each:::* $1" "$sdt_files/control"
	done
	put "sdt:::own-* $1" "$sdt_files/control"
}

# forms_with STATE HITS: print how many probes of all forms are in that state and have that number
# of hits
forms_with() {
	grep -c "^[a-z0-9]*:\($forms\|names\|cache\|calls\|kernel\|card\|fork\|other\):.* \($1\) [a-z]* [01] $2 [a-z_]*@" \
		"$sdt_files/list"
}

# A hundred probes as sources of FreeBSD have them.
test_sdt_event_forms() {
	must insmod "/modules/$forms.ko" || return
	same "all forms are sites" "$(forms_with off 0)" 100
	for_each_form count
	put 3 "/sys/module/$forms/parameters/pass"
	same "all forms are on and counted" "$(forms_with 'on\|trapped' 3)" 100
	for_each_form -count
	put 1 "/sys/module/$forms/parameters/pass"
	same "all forms are off" "$(forms_with off 3)" 100
	for_each_form event tpath
	put "tpath:cache::* event" "$sdt_files/control"
	put "tpath:calls::* event" "$sdt_files/control"
	put "tpath:names::* event" "$sdt_files/control"
	same "each is a trace event" "$(form_events | wc -l)" 99
	[ -e "$tracing/events/sdt_tpath/find_hit" ] && [ -e "$tracing/events/sdt_tpath/fullpath_hit" ] &&
		[ -e "$tracing/events/sdt_tproc/exit" ]
	result $? "probes of two functions are two events"
	refused "a pattern that gives no event" "not supported" put "tpath:other::* event" "$sdt_files/control"
	logged "find_hit in tpath:other:find:hit: format .* is not .*, that of its trace event: stays off"
	result $? "the log has the full name of the probe"
	refused "a pattern that gave no event stands" "No such file" put "tpath:other::* -event" "$sdt_files/control"
	form_events | while read -r directory; do
		put 1 "$directory/enable"
	done
	echo >"$tracing/trace"
	put 2 "/sys/module/$forms/parameters/pass"
	same "each event is recorded" \
		"$(sed -n 's/.*: \([a-z0-9_]*\): site pass_forms[.+].*/\1/p' "$tracing/trace" | sort | uniq -c | grep -c '^ *[24] ')" \
		"$(form_events | sed 's:.*/::' | sort -u | wc -l)"
	grep -q ": partly: .* arg1 1 arg2 2 arg3 (null) arg4 0 arg5 0$" "$tracing/trace" &&
		grep -q ": untyped: .* arg3 1 arg4 0 arg5 0 arg6 0 arg7 0$" "$tracing/trace"
	result $? "what a site does not pass is 0 in its records"
	try "the module leaves while all its events are on" rmmod "$forms"
	for_each_form -event tpath
	for module in cache calls names; do
		put "tpath:$module::* -event" "$sdt_files/control"
	done
	same "no event of a form is left" "$(form_events | wc -l)" 0
}

test_sdt_events() {
	must insmod /modules/kmarkers_test_sdt.ko || return
	test_sdt_event_requests
	test_sdt_event_records
	test_sdt_event_uses
	test_sdt_event_breakpoints
	test_sdt_event_peers
	test_sdt_event_waits
	test_sdt_event_many
	test_sdt_event_forms
	try "module with SDT probes leaves last" rmmod kmarkers_test_sdt
}
