# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# SDT probes of modules: names, patterns, breakpoints, promotion to jumps, and ten thousand probes.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

sdt=$debugfs/sdt
tsdt=/sys/module/kmarkers_test_sdt/parameters

# sdt_lists PATTERN: succeeds if the pattern matches the beginning of a line of sdt/list
sdt_lists() {
	grep -q "^$1" "$sdt/list"
}

# check_sdt_command ROUNDS COMMAND: tests that sdt/control accepts the command, and that the command
# takes ROUNDS rounds of the patcher
check_sdt_command() {
	before=$(patcher_stat rounds)
	put "$2" "$sdt/control"
	result $? "control accepts '$2'"
	same "$2: in $1 rounds" $(($(patcher_stat rounds) - before)) "$1"
}

test_sdt_names() {
	sdt_lists "tsdt:kmarkers_test_sdt:tsdt_read:io-start off jump 0 0 tsdt_read@+0x"
	result $? "the list names the function that contains an inlined site"
	sdt_lists "tsdt:kmarkers_test_sdt:tsdt_write:io-start off jump 0 0 tsdt_write@+0x"
	result $? "the list names another function for another inlined copy"
	check_sdt_command 3 "tsdt_read:io-start count"
	put 2 "$tsdt/pass"
	sdt_lists "tsdt:kmarkers_test_sdt:tsdt_read:io-start on jump 1 2 " &&
		sdt_lists "tsdt:kmarkers_test_sdt:tsdt_write:io-start off jump 0 0 "
	result $? "only the site in the named function counts its hits"
	offset=$(sed -n 's/^tsdt:.*:tsdt_write:io-start .*\(@+0x[0-9a-f]*\) .*/\1/p' "$sdt/list")
	check_sdt_command 3 "tsdt_write:io-start$offset count"
	put 1 "$tsdt/pass"
	sdt_lists "tsdt:kmarkers_test_sdt:tsdt_write:io-start on jump 1 1 "
	result $? "a single site named by its offset counts its hits"
	check_sdt_command 3 "tsdt_write:io-start$offset -count"
	check_sdt_command 3 "tsdt_read:io-start -count"
	check_sdt_command 3 "tsdt_read:io-start count"
	check_sdt_command 3 "tsdt_read:io-start none"
	refused "none is refused if the pattern has no command" "No such file" put "tsdt_read:io-start none" "$sdt/control"
	for wrong in "io-start" "a:b:c:d:e count" "io-start@5 count" " count" "io-start -none" "io-start counts"; do
		refused "control refuses '$wrong'" "Invalid argument" put "$wrong" "$sdt/control"
	done
	logged "module kmarkers_sdt: command \"io-start counts\" refused; accepted commands: PATTERN count |.* PATTERN promote"
	result $? "the log names the commands that control accepts"
}

test_sdt_parameter() {
	parameter=/sys/module/kmarkers_sdt/parameters/control
	for wrong in "" "tsdt_read:io-start" "tsdt_read:io-start counts" "io-start@5 count"; do
		refused "the parameter control refuses '$wrong'" "Invalid argument" put "$wrong" "$parameter"
	done
	try "the parameter control accepts count" put "tsdt_read:io-start count" "$parameter"
	! logged "tsdt_read:io-start: matches no site"
	result $? "the log does not say that a pattern with a site matches none"
	put 2 "$tsdt/pass"
	sdt_lists "tsdt:kmarkers_test_sdt:tsdt_read:io-start on jump 1 5 "
	result $? "the parameter control enabled the site"
	try "the parameter control accepts -count" put "tsdt_read:io-start -count" "$parameter"
	sdt_lists "tsdt:kmarkers_test_sdt:tsdt_read:io-start off jump 0 5 "
	result $? "the parameter control disabled the site"
}

# print_bytes_of_write: print the bytes of each site in the function tsdt_write, one line for each
# site
print_bytes_of_write() {
	sed -n 's/^sdt tsdt_write[.+].*\[kmarkers_test_sdt\] //p' "$debugfs/patcher/sites"
}

# print_changed_bytes: compare the sites in tsdt_write with /tmp/bytes, and print number and value
# of each byte that differs, with a slash behind each site
print_changed_bytes() {
	print_bytes_of_write | awk 'NR == FNR { were[FNR] = $0; next }
		{ split(were[FNR], old); line = ""
		  for (i = 1; i <= NF; i++) if ($i != old[i]) line = line i "=" $i " "
		  printf "%s/", line }' /tmp/bytes -
}

test_sdt_breakpoints() {
	print_bytes_of_write >/tmp/bytes
	check_sdt_command 1 "tsdt_write:trapped count"
	same "arming a breakpoint site changes one byte" "$(print_changed_bytes)" "/1=cc ///"
	check_sdt_command 1 "small count"
	same "arming nop sites changes one byte each" "$(print_changed_bytes)" "/1=cc /1=cc /1=cc /"
	put 10 "$tsdt/pass"
	sdt_lists "tsdt:kmarkers_test_sdt:tsdt_write:trapped trapped breakpoint 1 10 "
	result $? "a breakpoint site counts every hit"
	same "nop sites count every hit" "$(grep -c "^tsdt:.*:small trapped [a-z]* 1 10 " "$sdt/list")" 2
	refused "promotion of a site of two nops is refused" "Invalid argument" put "small promote" "$sdt/control"
	logged "kmarkers_sdt: SDT probe small: not promoted"
	result $? "the log says that the site is not promoted"
	check_sdt_command 3 "trapped promote"
	put 10 "$tsdt/pass"
	sdt_lists "tsdt:kmarkers_test_sdt:tsdt_write:trapped on breakpoint 1 20 "
	result $? "a promoted site counts every hit"
	check_sdt_command 1 "trapped -promote"
	put 10 "$tsdt/pass"
	sdt_lists "tsdt:kmarkers_test_sdt:tsdt_write:trapped trapped breakpoint 1 30 "
	result $? "a demoted site counts every hit"
	# The bytes behind the breakpoint are still those of the jump, so restoring them takes three
	# rounds.
	check_sdt_command 3 "tsdt_write:trapped -count"
	check_sdt_command 1 "small -count"
	same "sites that are disabled again have their former bytes" "$(print_changed_bytes)" "////"
}

# list_kprobe_offsets: print the offsets in the function tsdt_apart at which the kernel accepts a
# kprobe, except those inside its site
list_kprobe_offsets() {
	offset=0
	while [ $offset -lt 100 ]; do
		if [ $offset -gt "$site" ] && [ $offset -lt $((site + 7)) ]; then
			offset=$((site + 7))
		fi
		if put "p:boundary kmarkers_test_sdt:tsdt_apart+$offset" "$tracing/kprobe_events" 2>/dev/null; then
			printf '%d\n' $offset
			put "-:boundary" "$tracing/kprobe_events"
		fi
		offset=$((offset + 1))
	done
}

# The kernel must find the right boundaries of instructions behind a site that is a breakpoint, also
# if the bytes behind the breakpoint are still those of a jump.
test_sdt_kprobes() {
	site=$(($(sed -n 's/^tsdt:.*:apart .*@+\(0x[0-9a-f]*\) .*/\1/p' "$sdt/list")))
	# The removal of each kprobe waits for RCU grace periods, so these are expedited.
	expedite_grace_periods 1
	list_kprobe_offsets >/tmp/boundaries_off
	try "the kernel accepts kprobes beside disabled sites" \
		[ "$(wc -l </tmp/boundaries_off)" -gt 10 ]
	for command in count promote -promote; do
		put "apart $command" "$sdt/control"
		list_kprobe_offsets >/tmp/boundaries_on
		same "the kernel accepts no kprobe inside an instruction after $command" \
			"$(grep -vxcF -f /tmp/boundaries_off /tmp/boundaries_on)" 0
	done
	put "apart -count" "$sdt/control"
	expedite_grace_periods 0
}

is_promoted() {
	put 2000 "$tsdt/pass"
	sdt_lists "tsdt:kmarkers_test_sdt:tsdt_write:trapped on breakpoint "
}

is_demoted() {
	sdt_lists "tsdt:kmarkers_test_sdt:tsdt_write:trapped trapped breakpoint "
}

test_sdt_hot() {
	try "promote_after is set to 1000 hits per second" \
		put 1000 /sys/module/kmarkers_sdt/parameters/promote_after
	put "trapped count" "$sdt/control"
	try "a hot site is promoted" within 20 is_promoted
	try "a site that is no longer hot is demoted" within 20 is_demoted
	put 0 /sys/module/kmarkers_sdt/parameters/promote_after
	! within 2 is_promoted
	result $? "a hot site is not promoted while promote_after is 0"
	put "trapped -count" "$sdt/control"
}

# thot_is NAME STATE: succeeds if the site of probe NAME ("free" or "probed") is in state STATE
thot_is() {
	sdt_lists "thot:kmarkers_test_sdt_hot:thot_$1:$1 $2 breakpoint "
}

# keep_hitting: hit both probes until /tmp/stop exists, so that they stay hot however slow the
# kernel is
keep_hitting() {
	while [ ! -e /tmp/stop ]; do
		put 2000 /sys/module/kmarkers_test_sdt_hot/parameters/pass
	done
}

# log_names_held_site promoted/demoted: succeeds if the log says exactly once that the site with the
# kprobe could not be promoted to a jump or demoted to a breakpoint, and has no refusal of the
# patcher
log_names_held_site() {
	! logged "change refused" && [ "$(grep -c "probed: could not be $1" "$log")" = 1 ]
}

# set_kprobe_beside_site 0/1: 1 puts a kprobe on the instruction before a site, 0 removes it
set_kprobe_beside_site() {
	if [ "$1" = 1 ]; then
		put "p:beside kmarkers_test_sdt_hot:thot_probed+$((site - 1))" "$tracing/kprobe_events" &&
			put 1 "$tracing/events/kprobes/beside/enable"
	else
		# Opening kprobe_events for truncation removes all kprobes that are defined there.
		put 0 "$tracing/events/kprobes/beside/enable" && : >"$tracing/kprobe_events"
	fi
}

# thot_counts STATE HANDLERS COUNTED: hit the site three times; succeeds if the list then has these
# values
thot_counts() {
	put 3 /sys/module/kmarkers_test_sdt_hot/parameters/pass
	sdt_lists "thot:kmarkers_test_sdt_hot:thot_probed:probed $1 breakpoint $2 $3 "
}

# A hit must be counted once, even if several patterns with count match the site.
test_sdt_counts_once() {
	put "thot_probed:probed count" "$sdt/control"
	try "a hit of a breakpoint with two counting patterns is counted once" thot_counts trapped 2 3
	put "probed promote" "$sdt/control"
	try "a hit of a jump with two counting patterns is counted once" thot_counts on 2 6
	put "probed -promote" "$sdt/control"
	put "thot_probed:probed -count" "$sdt/control"
	try "hits are still counted after one of two counting patterns is removed" thot_counts trapped 1 9
}

# A hot site beside a kprobe can neither be promoted to a jump nor demoted to a breakpoint; other
# hot sites are promoted and demoted.
test_sdt_held() {
	try "the module with two hot probes loads" insmod /modules/kmarkers_test_sdt_hot.ko
	put "thot:::* count" "$sdt/control"
	test_sdt_counts_once
	site=$(($(sed -n 's/^thot:.*:probed .*@+\(0x[0-9a-f]*\) .*/\1/p' "$sdt/list")))
	try "a kprobe is registered directly before the site of one probe" set_kprobe_beside_site 1
	put 1000 /sys/module/kmarkers_sdt/parameters/promote_after
	rm -f /tmp/stop
	keep_hitting &
	try "the other hot site is promoted in spite of the kprobe" within 20 thot_is free on
	log_names_held_site promoted
	result $? "the log names the site that could not be promoted once"
	sleep 3
	! logged "could not be promoted\|refused"
	result $? "the log does not name the site a second time"
	try "a pattern is accepted while a hot site cannot be promoted" put "thot_free:free count" "$sdt/control"
	put "thot_free:free -count" "$sdt/control"
	thot_is probed trapped
	result $? "the site beside the kprobe is still armed by a breakpoint"
	try "the kprobe before the site is removed" set_kprobe_beside_site 0
	try "the site is promoted after the kprobe is removed" within 20 thot_is probed on
	put 0 /sys/module/kmarkers_sdt/parameters/promote_after
	touch /tmp/stop
	wait
	thot_is probed on
	result $? "the site stays promoted after promote_after is set to 0"
	try "a kprobe is registered before the promoted site" set_kprobe_beside_site 1
	put 1000 /sys/module/kmarkers_sdt/parameters/promote_after
	try "the other site is demoted in spite of the kprobe when it is no longer hot" within 20 thot_is free trapped
	log_names_held_site demoted
	result $? "the log names the site that could not be demoted once"
	sleep 3
	try "the site beside the kprobe is still a jump" thot_is probed on
	! logged "could not be demoted\|refused"
	result $? "the log does not name the site that stays a jump a second time"
	try "the kprobe before the promoted site is removed" set_kprobe_beside_site 0
	try "the site is demoted after the kprobe is removed" within 20 thot_is probed trapped
	put 0 /sys/module/kmarkers_sdt/parameters/promote_after
	try "both sites are disabled" put "thot:::* -count" "$sdt/control"
	try "the module with two hot probes unloads" rmmod kmarkers_test_sdt_hot
}

test_sdt_modules() {
	refused "kmarkers_sdt cannot be unloaded before its clients" "temporarily unavailable" rmmod kmarkers_sdt
	try "the module with SDT probes unloads" rmmod kmarkers_test_sdt
	try "a pattern is accepted before the module with its sites is loaded" put "tsdt:::io-start count" "$sdt/control"
	logged "sdt: pattern tsdt:::io-start: matches no site yet; applies"
	result $? "the log says that the pattern matches no site yet"
	same "control lists the pattern with 0 matching sites" "$(grep -v "^#" "$sdt/control")" "tsdt:::io-start count 0"
	try "the module with SDT probes and a handler loads" insmod /modules/kmarkers_test_sdt.ko hold=1
	put 3 "$tsdt/pass"
	same "the handler of the module is called" "$(cat "$tsdt/held")" 15
	grep -q "^tsdt:::io-start count [1-9]" "$sdt/control"
	result $? "control lists the number of sites that the pattern matches"
	grep -q "^tsdt:::\* .* \[kmarkers_test_sdt\] [1-9]" "$sdt/control"
	result $? "control lists the handler of the module"
	same "the pattern applies to the sites of the module loaded later" "$(grep -c "^tsdt:.*:io-start on jump 2 3 " "$sdt/list")" 2
	try "the module unloads without detaching its handler" rmmod kmarkers_test_sdt
	logged "kmarkers_test_sdt: unloaded while its handler .* was attached to tsdt:::\*; the handler is detached"
	result $? "the log names the handler that was not detached"
	try "the pattern is removed" put "tsdt:::io-start -count" "$sdt/control"
	refused "a module with an SDT probe in init text is refused" "Operation not permitted" \
		insmod /modules/kmarkers_test_sdt_init.ko
	logged "kmarkers_test_sdt_init: SDT probe early:start is in \(sdt_init_init\|init_module\) .* noinline and not __init"
	result $? "the log names the probe, the init function and the remedy"
	lacks "^early:\|^tsdt:" "$sdt/list"
	result $? "the list has no site of the refused and the unloaded module"
}

# hit_sites_repeatedly: hit the sites until /tmp/stop exists
hit_sites_repeatedly() {
	while [ ! -e /tmp/stop ]; do
		put 10 "$tsdt/pass"
	done 2>/dev/null
}

# The module unloads while writes to its parameter hit sites: the file of the parameter exists until
# the module is freed.
test_sdt_reload() {
	rm -f /tmp/stop
	put "tsdt:::* count" "$sdt/control"
	hit_sites_repeatedly &
	left=0
	while [ $left -lt "$reloads" ] && insmod /modules/kmarkers_test_sdt.ko; do
		put 10 "$tsdt/pass"
		rmmod kmarkers_test_sdt || break
		left=$((left + 1))
	done
	touch /tmp/stop
	wait
	same "a module unloads repeatedly while its sites are enabled and hit" $left "$reloads"
	put "tsdt:::* -count" "$sdt/control"
}

test_sdt_many() {
	try "the module with ten thousand probes loads" insmod /modules/kmarkers_test_sdt_many.ko
	check_sdt_command 3 "many:::* count"
	put 2 /sys/module/kmarkers_test_sdt_many/parameters/pass
	same "each of ten thousand probes counted its hits" "$(grep -c '^many:.* on jump 1 2 ' "$sdt/list")" 10000
	try "reading the list of ten thousand probes can be preempted" is_preempted "read -r line <$sdt/list"
	try "reading the list of ten thousand sites can be preempted" is_preempted "read -r line <$debugfs/patcher/sites"
	check_sdt_command 3 "many:::* -count"
	same "all ten thousand probes are off" "$(grep -c '^many:.* off jump 0 ' "$sdt/list")" 10000
	try "the module with ten thousand probes unloads" rmmod kmarkers_test_sdt_many
}

# count_trapped STATE COUNTED: print the number of probes that are in that state and counted COUNTED
# hits
count_trapped() {
	grep -c "^trapped:.* $1 breakpoint [01] $2 " "$sdt/list"
}

# Ten thousand SDT sites are armed by breakpoints in one round of the patcher, and promoted to jumps
# in three rounds.
test_sdt_many_trapped() {
	try "the module with ten thousand breakpoint sites loads" insmod /modules/kmarkers_test_sdt_trapped.ko
	check_sdt_command 1 "trapped:::* count"
	put 1 /sys/module/kmarkers_test_sdt_trapped/parameters/pass
	same "each breakpoint site counted its hits" "$(count_trapped trapped 1)" 10000
	check_sdt_command 3 "trapped:::* promote"
	put 1 /sys/module/kmarkers_test_sdt_trapped/parameters/pass
	same "each promoted site counted its hits" "$(count_trapped on 2)" 10000
	check_sdt_command 1 "trapped:::* -promote"
	check_sdt_command 3 "trapped:::* -count"
	same "all breakpoint sites are off" "$(count_trapped off 2)" 10000
	try "the module with ten thousand breakpoint sites unloads" rmmod kmarkers_test_sdt_trapped
}

test_sdt() {
	try "kmarkers_test_sdt loads" insmod /modules/kmarkers_test_sdt.ko
	test_sdt_names
	test_sdt_parameter
	test_sdt_breakpoints
	test_sdt_kprobes
	test_sdt_hot
	test_sdt_held
	test_sdt_modules
	test_sdt_reload
	# The lists of ten thousand probes take long to read on a slow emulator.
	[ "${KMARKERS_MANY:-1}" = 0 ] || {
		test_sdt_many
		test_sdt_many_trapped
	}
}
