# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# SDT probes of modules: names, patterns, breakpoints, promotion, ten thousand at a time.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

sdt=$debugfs/sdt
tsdt=/sys/module/kmarkers_test_sdt/parameters

# lists PATTERN: succeeds if the pattern matches the beginning of a line of the list
lists() {
	grep -q "^$1" "$sdt/list"
}

# switched ROUNDS COMMAND: passes if control takes the command, and the write takes that many rounds
switched() {
	before=$(stat_of rounds)
	put "$2" "$sdt/control"
	result $? "$2"
	same "$2: in $1 rounds" $(($(stat_of rounds) - before)) "$1"
}

test_sdt_names() {
	lists "tsdt:kmarkers_test_sdt:tsdt_read:io-start off jump 0 0 tsdt_read@+0x"
	result $? "an inlined copy has the name of the function that it is in"
	lists "tsdt:kmarkers_test_sdt:tsdt_write:io-start off jump 0 0 tsdt_write@+0x"
	result $? "another inlined copy has another name"
	switched 3 "tsdt_read:io-start count"
	put 2 "$tsdt/pass"
	lists "tsdt:kmarkers_test_sdt:tsdt_read:io-start on jump 1 2 " &&
		lists "tsdt:kmarkers_test_sdt:tsdt_write:io-start off jump 0 0 "
	result $? "one inlined copy counts"
	offset=$(sed -n 's/^tsdt:.*:tsdt_write:io-start .*\(@+0x[0-9a-f]*\) .*/\1/p' "$sdt/list")
	switched 3 "tsdt_write:io-start$offset count"
	put 1 "$tsdt/pass"
	lists "tsdt:kmarkers_test_sdt:tsdt_write:io-start on jump 1 1 "
	result $? "a single site counts"
	switched 3 "tsdt_write:io-start$offset -count"
	switched 3 "tsdt_read:io-start -count"
	for wrong in "io-start" "a:b:c:d:e count" "io-start@5 count" " count" "io-start counts"; do
		refused "control refuses '$wrong'" "Invalid argument" put "$wrong" "$sdt/control"
	done
	logged "kmarkers_sdt: control refuses \"io-start counts\"; it takes PATTERN count |.* PATTERN promote"
	result $? "the log says what control takes"
}

test_sdt_outside() {
	outside=/sys/module/kmarkers_sdt/parameters/control
	for wrong in "" "tsdt_read:io-start" "tsdt_read:io-start counts" "io-start@5 count"; do
		refused "control outside debugfs refuses '$wrong'" "Invalid argument" put "$wrong" "$outside"
	done
	try "a site counts, by control outside debugfs" put "tsdt_read:io-start count" "$outside"
	put 2 "$tsdt/pass"
	lists "tsdt:kmarkers_test_sdt:tsdt_read:io-start on jump 1 5 "
	result $? "control outside debugfs switched the site on"
	try "the site is off, by control outside debugfs" put "tsdt_read:io-start -count" "$outside"
	lists "tsdt:kmarkers_test_sdt:tsdt_read:io-start off jump 0 5 "
	result $? "control outside debugfs switched the site off"
}

# write_bytes: print the bytes of each site in tsdt_write, a line for each
write_bytes() {
	sed -n 's/^sdt tsdt_write[.+].*\[kmarkers_test_sdt\] //p' "$debugfs/patcher/sites"
}

# bytes_stored: compare with /tmp/bytes; for each site print the numbers of the bytes that differ
bytes_stored() {
	write_bytes | awk 'NR == FNR { were[FNR] = $0; next }
		{ split(were[FNR], old); line = ""
		  for (i = 1; i <= NF; i++) if ($i != old[i]) line = line i "=" $i " "
		  printf "%s/", line }' /tmp/bytes -
}

test_sdt_breakpoints() {
	write_bytes >/tmp/bytes
	switched 1 "tsdt_write:trapped count"
	same "a breakpoint is armed by one byte" "$(bytes_stored)" "/1=cc ///"
	switched 1 "small count"
	same "nops are armed by one byte each" "$(bytes_stored)" "/1=cc /1=cc /1=cc /"
	put 10 "$tsdt/pass"
	lists "tsdt:kmarkers_test_sdt:tsdt_write:trapped trapped breakpoint 1 10 "
	result $? "a breakpoint counts every hit"
	same "nops count every hit" "$(grep -c "^tsdt:.*:small trapped [a-z]* 1 10 " "$sdt/list")" 2
	refused "two nops are not replaced by a jump" "Invalid argument" put "small promote" "$sdt/control"
	logged "kmarkers_sdt: small: not promoted"
	result $? "the log says why"
	switched 3 "trapped promote"
	put 10 "$tsdt/pass"
	lists "tsdt:kmarkers_test_sdt:tsdt_write:trapped on breakpoint 1 20 "
	result $? "a promoted site counts every hit"
	switched 1 "trapped -promote"
	put 10 "$tsdt/pass"
	lists "tsdt:kmarkers_test_sdt:tsdt_write:trapped trapped breakpoint 1 30 "
	result $? "a demoted site counts every hit"
	# The rest of the jump after the breakpoint is restored, too, so it takes three rounds.
	switched 3 "tsdt_write:trapped -count"
	switched 1 "small -count"
	same "sites that are off again are as they were" "$(bytes_stored)" "////"
}

# boundaries: print the offsets in tsdt_apart at which the kernel accepts a kprobe, except those in
# its site
boundaries() {
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

# A breakpoint, and the rest of a jump after it, must not mislead the kernel about the boundaries of
# instructions.
test_sdt_kprobes() {
	site=$(($(sed -n 's/^tsdt:.*:apart .*@+\(0x[0-9a-f]*\) .*/\1/p' "$sdt/list")))
	# The removal of each kprobe waits for grace periods.
	expedite 1
	boundaries >/tmp/boundaries_off
	try "the kernel takes kprobes beside sites that are off" \
		[ "$(wc -l </tmp/boundaries_off)" -gt 10 ]
	for command in count promote -promote; do
		put "apart $command" "$sdt/control"
		boundaries >/tmp/boundaries_on
		same "kprobes inside instructions after $command" \
			"$(grep -vxcF -f /tmp/boundaries_off /tmp/boundaries_on)" 0
	done
	put "apart -count" "$sdt/control"
	expedite 0
}

is_promoted() {
	put 2000 "$tsdt/pass"
	lists "tsdt:kmarkers_test_sdt:tsdt_write:trapped on breakpoint "
}

is_demoted() {
	lists "tsdt:kmarkers_test_sdt:tsdt_write:trapped trapped breakpoint "
}

test_sdt_hot() {
	try "sites that are hot are to be promoted" \
		put 1000 /sys/module/kmarkers_sdt/parameters/promote_after
	put "trapped count" "$sdt/control"
	try "a hot site is promoted" within 20 is_promoted
	try "a site that is hot no more is demoted" within 20 is_demoted
	put 0 /sys/module/kmarkers_sdt/parameters/promote_after
	put "trapped -count" "$sdt/control"
}

# thot_is NAME STATE: succeeds if the site of that probe is in that state
thot_is() {
	lists "thot:kmarkers_test_sdt_hot:thot_$1:$1 $2 breakpoint "
}

# after_hits NAME STATE: hit both probes; succeeds if the site of the named one is then in that
# state
after_hits() {
	put 2000 /sys/module/kmarkers_test_sdt_hot/parameters/pass
	thot_is "$1" "$2"
}

# hit_for_seconds SECONDS: hit both probes for that long, so that they stay hot
hit_for_seconds() {
	turn=0
	while [ $turn -lt $(($1 * 5)) ]; do
		put 20000 /sys/module/kmarkers_test_sdt_hot/parameters/pass
		turn=$((turn + 1))
		sleep 0.2
	done
}

# says_held PHRASE: succeeds if the log says this once of the probe with the kprobe, and has no
# refusal
says_held() {
	! logged "change refused" && [ "$(grep -c "probed: could not be $1" "$log")" = 1 ]
}

# probe_beside 0/1: 1 puts a kprobe on the instruction before a site, 0 removes it
probe_beside() {
	if [ "$1" = 1 ]; then
		put "p:beside kmarkers_test_sdt_hot:thot_probed+$((site - 1))" "$tracing/kprobe_events" &&
			put 1 "$tracing/events/kprobes/beside/enable"
	else
		# Opening the file for truncation removes all its definitions.
		put 0 "$tracing/events/kprobes/beside/enable" && : >"$tracing/kprobe_events"
	fi
}

# thot_counts STATE HANDLERS COUNTED: pass a site three times; succeeds if the list has these values
thot_counts() {
	put 3 /sys/module/kmarkers_test_sdt_hot/parameters/pass
	lists "thot:kmarkers_test_sdt_hot:thot_probed:probed $1 breakpoint $2 $3 "
}

# A hit counts once, however many patterns count it.
test_sdt_counts_once() {
	put "thot_probed:probed count" "$sdt/control"
	try "a hit of a breakpoint that two patterns count counts once" thot_counts trapped 2 3
	put "probed promote" "$sdt/control"
	try "a hit of a jump that two patterns count counts once" thot_counts on 2 6
	put "probed -promote" "$sdt/control"
	put "thot_probed:probed -count" "$sdt/control"
	try "one of two patterns counts on when the other is gone" thot_counts trapped 1 9
}

# A kprobe beside a hot site keeps that site from being promoted, and no other one.
test_sdt_held() {
	try "module with two hot probes" insmod /modules/kmarkers_test_sdt_hot.ko
	put "thot:::* count" "$sdt/control"
	test_sdt_counts_once
	site=$(($(sed -n 's/^thot:.*:probed .*@+\(0x[0-9a-f]*\) .*/\1/p' "$sdt/list")))
	try "a kprobe in front of a site" probe_beside 1
	put 1000 /sys/module/kmarkers_sdt/parameters/promote_after
	try "a hot site is promoted although another has a kprobe beside it" within 20 after_hits free on
	says_held promoted
	result $? "the log says once which site is not promoted"
	try "both probes are hit for seconds" hit_for_seconds 3
	! logged "could not be promoted\|refused"
	result $? "the log does not say it again"
	try "a pattern is attached while a hot site is not promoted" put "thot_free:free count" "$sdt/control"
	put "thot_free:free -count" "$sdt/control"
	thot_is probed trapped
	result $? "the site with the kprobe is armed by a breakpoint"
	try "the kprobe leaves" probe_beside 0
	try "the site is promoted when the kprobe has left" within 20 after_hits probed on
	try "a kprobe comes again" probe_beside 1
	try "a site that is hot no more is demoted although another has a kprobe" within 20 thot_is free trapped
	says_held demoted
	result $? "the log says once which site is not demoted"
	sleep 3
	try "the site with the kprobe is a jump" thot_is probed on
	! logged "could not be demoted\|refused"
	result $? "the log does not say again which site is not demoted"
	try "the second kprobe leaves" probe_beside 0
	try "the site is demoted when the kprobe has left" within 20 thot_is probed trapped
	put 0 /sys/module/kmarkers_sdt/parameters/promote_after
	try "both sites are switched off" put "thot:::* -count" "$sdt/control"
	try "module with two hot probes leaves" rmmod kmarkers_test_sdt_hot
}

test_sdt_modules() {
	refused "module held by its clients" "temporarily unavailable" rmmod kmarkers_sdt
	try "module with SDT probes unloads" rmmod kmarkers_test_sdt
	try "a pattern waits for its sites" put "tsdt:::io-start count" "$sdt/control"
	logged "sdt: tsdt:::io-start: matches no site yet; waits"
	result $? "the log says that it waits"
	same "control lists the pattern that waits" "$(grep -v "^#" "$sdt/control")" "tsdt:::io-start count 0"
	try "module with SDT probes and a handler" insmod /modules/kmarkers_test_sdt.ko hold=1
	put 3 "$tsdt/pass"
	same "the handler of the module is called" "$(cat "$tsdt/held")" 15
	grep -q "^tsdt:::io-start count [1-9]" "$sdt/control"
	result $? "control lists how many sites match"
	grep -q "^tsdt:::\* .* \[kmarkers_test_sdt\] [1-9]" "$sdt/control"
	result $? "control lists the handler of the module"
	same "the pattern found its sites" "$(grep -c "^tsdt:.*:io-start on jump 2 3 " "$sdt/list")" 2
	try "module leaves its handler attached" rmmod kmarkers_test_sdt
	logged "kmarkers_test_sdt left its handler .* of tsdt:::\* attached: detached"
	result $? "the log names the handler that was left"
	try "the pattern waits no more" put "tsdt:::io-start -count" "$sdt/control"
	refused "an SDT probe in init text" "Operation not permitted" \
		insmod /modules/kmarkers_test_sdt_init.ko
	logged "kmarkers_test_sdt_init: SDT probe early:start is in \(sdt_init_init\|init_module\) .* noinline and not __init"
	result $? "the log names the probe, the init function and the remedy"
	lacks "^early:\|^tsdt:" "$sdt/list"
	result $? "no site of these modules is left"
}

passing() {
	while [ ! -e /tmp/stop ]; do
		put 10 "$tsdt/pass"
	done 2>/dev/null
}

# A parameter of a module can be written until the module is freed.
test_sdt_leaving() {
	rm -f /tmp/stop
	put "tsdt:::* count" "$sdt/control"
	passing &
	left=0
	while [ $left -lt "$comings" ] && insmod /modules/kmarkers_test_sdt.ko; do
		put 10 "$tsdt/pass"
		rmmod kmarkers_test_sdt || break
		left=$((left + 1))
	done
	touch /tmp/stop
	wait
	same "a module leaves while its sites are on, and hit" $left "$comings"
	put "tsdt:::* -count" "$sdt/control"
}

test_sdt_many() {
	try "ten thousand probes" insmod /modules/kmarkers_test_sdt_many.ko
	switched 3 "many:::* count"
	put 2 /sys/module/kmarkers_test_sdt_many/parameters/pass
	same "each probe counted its hits" "$(grep -c '^many:.* on jump 1 2 ' "$sdt/list")" 10000
	try "the list of ten thousand probes lets others run" gives_way "read -r line <$sdt/list"
	try "the list of ten thousand sites lets others run" gives_way "read -r line <$debugfs/patcher/sites"
	switched 3 "many:::* -count"
	same "all probes are off" "$(grep -c '^many:.* off jump 0 ' "$sdt/list")" 10000
	try "ten thousand probes leave" rmmod kmarkers_test_sdt_many
}

# trapped_are STATE COUNTED: print how many of the ten thousand probes are in that state with that
# count
trapped_are() {
	grep -c "^trapped:.* $1 breakpoint [01] $2 " "$sdt/list"
}

# The same with breakpoints: all are armed in one round, and all promoted in three.
test_sdt_many_trapped() {
	try "ten thousand breakpoints" insmod /modules/kmarkers_test_sdt_trapped.ko
	switched 1 "trapped:::* count"
	put 1 /sys/module/kmarkers_test_sdt_trapped/parameters/pass
	same "each breakpoint counted its hits" "$(trapped_are trapped 1)" 10000
	switched 3 "trapped:::* promote"
	put 1 /sys/module/kmarkers_test_sdt_trapped/parameters/pass
	same "each promoted probe counted its hits" "$(trapped_are on 2)" 10000
	switched 1 "trapped:::* -promote"
	switched 3 "trapped:::* -count"
	same "all breakpoints are off" "$(trapped_are off 2)" 10000
	try "ten thousand breakpoints leave" rmmod kmarkers_test_sdt_trapped
}

test_sdt() {
	try "module with SDT probes" insmod /modules/kmarkers_test_sdt.ko
	test_sdt_names
	test_sdt_outside
	test_sdt_breakpoints
	test_sdt_kprobes
	test_sdt_hot
	test_sdt_held
	test_sdt_modules
	test_sdt_leaving
	# Their lists are long, and take long to read on a slow emulator.
	[ "${KMARKERS_MANY:-1}" = 0 ] || {
		test_sdt_many
		test_sdt_many_trapped
	}
}
