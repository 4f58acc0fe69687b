# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The trace event, and the files of each name.
# shellcheck source=tests/vm/lib_events.sh
. /tests/lib_events.sh

# says NAME PLACE TEXT...: trace, pass the place, expect the lines that begin so
says() {
	name=$1
	clear_trace
	hit "$2"
	shift 2
	traced >/tmp/traced
	for line; do
		echo "$line"
	done >/tmp/wanted
	sed 's/ (kmarkers_test_events .*//' /tmp/traced | cmp -s - /tmp/wanted ||
		sed 's/^/# /' /tmp/traced /tmp/wanted
	sed 's/ (kmarkers_test_events .*//' /tmp/traced | cmp -s - /tmp/wanted
	result $? "$name"
}

# put_bytes FORMAT FILE: in one write
put_bytes() {
	# shellcheck disable=SC2059 # escapes are wanted
	printf "$1" | dd of="$2" bs=512
}

# is_address TEXT: is it an address in the kernel, and neither empty nor hidden?
is_address() {
	case $1 in
	ffff????????????) ;;
	*) return 1 ;;
	esac
}

test_names_have_files() {
	same "files of a name" "$(find "$markers"/ev_plain -type f | sed 's/.*\///' | sort | tr '\n' ' ')" \
		"enable format probe sites stats "
	same "format" "$(cat "$markers"/ev_plain/format)" "number %d text %s"
	same "probes of a name without" "$(cat "$markers"/ev_plain/probe)" ""
	same "enable while off" "$(cat "$markers"/ev_plain/enable)" 0
	same "stats of what was never counted" "$(cat "$markers"/ev_plain/stats)" "hits -"
	grep -q "^ev_plain off jump 0 kmarkers_test_events hit_plain events.c:[0-9]* \"number" \
		"$markers"/ev_plain/sites
	result $? "sites"
	same "sites of a name with two" "$(grep -c '^ev_twice' "$markers"/ev_twice/sites)" 2
	[ ! -e "$markers"/list/probe ] && grep -q "^list off" "$markers"/list
	result $? "a name that is taken has no directory"
}

test_trace() {
	clear_trace
	hit plain
	same "no hit is traced while the marker is off" "$(traced)" ""
	put 0 "$tracing"/events/kmarkers/marker/enable
	try "trace" trace_on ev_plain
	same "the event is on" "$(cat "$tracing"/events/kmarkers/marker/enable)" 1
	same "enable" "$(cat "$markers"/ev_plain/enable)" 1
	same "probes" "$(cat "$markers"/ev_plain/probe)" "marker_event_probe [kmarkers_markers] 1"
	hit plain
	traced | grep -q "^ev_plain: number 42 text abc (kmarkers_test_events hit_plain events.c:[0-9]*)$"
	result $? "name, text and site in the trace"
	try "trace twice is once" trace_on ev_plain
	clear_trace
	hit "plain 1000"
	same "every hit is traced once" "$(traced | wc -l)" 1000
	try "none is written" put none "$markers"/ev_plain/probe
	clear_trace
	hit plain
	same "no hit is traced after none" "$(traced)" ""
	same "no probe after none" "$(cat "$markers"/ev_plain/probe)" ""
	try "enable by 1" put 1 "$markers"/ev_plain/enable
	hit plain
	same "traced after enable" "$(traced | wc -l)" 1
	try "disable by 0" put 0 "$markers"/ev_plain/enable
	same "enable reads 0" "$(cat "$markers"/ev_plain/enable)" 0
}

test_count() {
	try "count" put count "$markers"/ev_plain/probe
	hit "plain 1000"
	same "every hit is counted" "$(sed -n 's/^hits //p' "$markers"/ev_plain/stats)" 1000
	same "the CPUs' sum is that" \
		"$(awk '/^cpu/ { sum += $2 } END { print sum }' "$markers"/ev_plain/stats)" 1000
	try "trace beside count" trace_on ev_plain
	clear_trace
	hit "plain 10"
	same "hits are traced beside count" "$(traced | wc -l)" 10
	same "hits are counted beside trace" "$(sed -n 's/^hits //p' "$markers"/ev_plain/stats)" 1010
	try "trace is disconnected" put -trace "$markers"/ev_plain/probe
	same "count stays" "$(cat "$markers"/ev_plain/probe)" "probe_count [kmarkers_markers] 1"
	try "count is disconnected" put -count "$markers"/ev_plain/probe
	hit plain
	same "no hit is counted after count is disconnected" "$(sed -n 's/^hits //p' "$markers"/ev_plain/stats)" 1010
	try "count again" put count "$markers"/ev_plain/probe
	same "counting begins at 0 again" "$(sed -n 's/^hits //p' "$markers"/ev_plain/stats)" 0
	try "count at a name with two sites" put count "$markers"/ev_twice/probe
	hit "twice 100"
	same "hits of both sites are counted" "$(sed -n 's/^hits //p' "$markers"/ev_twice/stats)" 200
	put none "$markers"/ev_plain/probe
	put none "$markers"/ev_twice/probe
}

test_formats() {
	for marker in noargs integers strings pointers bad_strings endless long twice wide_argument; do
		try "trace $marker" trace_on ev_$marker
	done
	says "no arguments" noargs "ev_noargs:  "
	says "integers" integers \
		"ev_integers: -1 255 -2 4294967295 -3 ffffffffffffffff 0xff x     1|2    |00003 %    5 006"
	says "strings" strings "ev_strings: abc|   de|fg   |hi|k|(null)"
	says "pointers that cannot be read" bad_strings "ev_bad_strings: (fault) (fault) (fault)"
	says "two sites" twice "ev_twice: 1" "ev_twice: 2"
	clear_trace
	hit pointers
	traced | grep -q "^ev_pointers: hit_plain \[kmarkers_test_events\] [0-9a-f][0-9a-f]* "
	result $? "pointers"
	address=$(sed -n 's/^\([0-9a-f]*\) . lock\t\[kmarkers_test_events\]$/\1/p' /proc/kallsyms | head -n 1)
	traced | grep -q "^ev_pointers: " && is_address "$address" && ! traced | grep -q "$address"
	result $? "addresses are hashed"
	clear_trace
	hit endless
	same "a string without end is cut off" "$(traced | sed 's/^ev_endless: \(e*\) .*/\1/' | tr -d '\n' | wc -c)" 511
	clear_trace
	hit long
	same "a long format is cut off" "$(traced | sed 's/^ev_long: \(.*\) (.*/\1/' | tr -d '\n' | wc -c)" 511
	clear_trace
	hit wide
	same "a wide number is cut off" "$(traced | sed 's/^ev_wide_argument: \(.*\) (.*/\1/' | tr -d '\n' | wc -c)" 511
	for marker in count wide; do
		refused "format of ev_$marker" "Invalid argument" trace_on ev_$marker
		logged "markers: ev_$marker in hit_.*: format cannot be printed"
		result $? "the log says that the format of ev_$marker cannot be printed"
		same "no probe is connected to ev_$marker" "$(cat "$markers"/ev_$marker/probe)" ""
		try "ev_$marker can be counted" put count "$markers"/ev_$marker/probe
	done
	try "hit what was refused" hit hostile
	for marker in count wide noargs integers strings pointers bad_strings endless long twice wide_argument; do
		put none "$markers"/ev_$marker/probe || echo "# none $marker"
	done
}

test_contexts() {
	for marker in irq nmi outer nested; do
		trace_on ev_$marker
	done
	clear_trace
	hit "irq 10"
	same "in interrupts" "$(traced | grep -c '^ev_irq: irq [01] ')" $((10 * $(nproc)))
	traced | grep -q "^ev_irq: irq 1 "
	result $? "a hit in interrupt context is traced"
	says "in a context like NMIs'" nmi "ev_nmi: nmi 1"
	before=$(sed -n 's/^nested //p' "$markers"/stats)
	says "a probe that meets itself" nested "ev_outer: outer 1"
	same "a nested hit is counted in stats" "$(sed -n 's/^nested //p' "$markers"/stats)" $((before + 1))
	for marker in irq nmi outer nested; do
		put none "$markers"/ev_$marker/probe
	done
}

# Nothing of what a file is told changes anything unless all of it is understood.
test_bad_writes() {
	state=$(cat "$markers"/list "$markers"/*/probe)
	for word in "" " " nothing TRACE "trace " " trace" "trace count" tracetrace 1 -none +trace; do
		refused "probe refuses '$word'" "Invalid argument" put "$word" "$markers"/ev_plain/probe
	done
	refused "probe refuses two lines" "Invalid argument" put_bytes 'trace\ntrace\n' "$markers"/ev_plain/probe
	for word in "" 2 -1 x 1x "1 " 01 trace 99999999999999999999; do
		refused "enable refuses '$word'" "Invalid argument" put "$word" "$markers"/ev_plain/enable
	done
	for word in "" trace "ev_plain" "ev_plain nothing" "ev_plain trace count" "ev_plain  trace" \
		" ev_plain trace" "trace ev_plain"; do
		refused "control refuses '$word'" "Invalid argument" put "$word" "$markers"/control
	done
	refused "control refuses a name that is not there" "No such file" put "ev_none trace" "$markers"/control
	refused "control refuses a pattern of nothing" "No such file" put "ev_[z]* trace" "$markers"/control
	for file in probe enable; do
		refused "$file refuses a long line" "Invalid argument" \
			put "$(head -c 5000 /dev/zero | tr '\0' t)" "$markers"/ev_plain/$file
		refused "$file refuses binary" "Invalid argument" \
			dd if=/bin/busybox of="$markers"/ev_plain/$file bs=16 count=1
		refused "$file refuses a NUL" "Invalid argument" \
			put_bytes 'trace\0' "$markers"/ev_plain/$file
		refused "$file refuses bad memory" "Invalid argument\|Bad address" \
			dd if=/dev/zero of="$markers"/ev_plain/$file bs=1M count=1
	done
	refused "control refuses a long line" "Invalid argument" \
		put "$(head -c 5000 /dev/zero | tr '\0' t) trace" "$markers"/control
	refused "control refuses binary" "Invalid argument" \
		dd if=/bin/busybox of="$markers"/control bs=64 count=1
	refused "control refuses a NUL" "Invalid argument" put_bytes 'ev_plain trace\0' "$markers"/control
	for file in format sites stats; do
		refused "$file is not for writing" "Permission denied\|Invalid argument\|I/O error" \
			put x "$markers"/ev_plain/$file
	done
	same "refused words change neither list nor probes" "$(cat "$markers"/list "$markers"/*/probe)" "$state"
}

# toggle WORD: until told to stop; errors are fine, faults are not
toggle() {
	while [ ! -e /tmp/stop ]; do
		put "$1" "$markers"/ev_plain/probe
		put "$2" "$markers"/ev_plain/probe
		cat "$markers"/ev_plain/stats "$markers"/ev_plain/sites >/dev/null
	done 2>/dev/null
}

# Writers, readers and hits at the same time, while the module leaves and returns.
test_concurrent() {
	rm -f /tmp/stop
	toggle trace -trace &
	toggle count none &
	toggle "bad" trace &
	for _ in $(seq 5); do
		hit "plain 100"
		rmmod kmarkers_test_events || break
		insmod /modules/kmarkers_test_events.ko || break
	done
	loaded kmarkers_test_events
	result $? "files in use while their module leaves"
	touch /tmp/stop
	wait
	put none "$markers"/ev_plain/probe
	hit plain
	same "state after concurrent writes" "$(cat "$markers"/ev_plain/probe)" ""
	exec 9<"$markers"/ev_plain/stats
	rmmod kmarkers_test_events
	refused "an open file of a name that left" "Input/output error\|No such" cat <&9
	exec 9<&-
	[ ! -e "$markers"/ev_plain ]
	result $? "the directory left"
	insmod /modules/kmarkers_test_events.ko
}

test_leaving() {
	trace_on ev_plain
	put count "$markers"/ev_twice/probe
	grep -q ev_ "$markers"/list
	result $? "the list has markers of the module that will leave"
	try "a traced module leaves" rmmod kmarkers_test_events
	lacks ev_ "$markers"/list
	result $? "no marker of the module that left is listed"
	try "the module that was traced returns" insmod /modules/kmarkers_test_events.ko
	same "the marker of the module that returns is not traced" "$(cat "$markers"/ev_plain/enable)" 0
}

# The example of a program in user space, on a marker that is hit all the time.
test_reader() {
	try "marked module" insmod /modules/example_client.ko
	put 10 /sys/module/example_client/parameters/period_ms
	sh /examples/reader.sh example_tick 5 >/tmp/read
	result $? "reader ends by itself"
	same "reader prints each tick once" \
		"$(sed 's/^example_tick: tick [0-9]* (example_client tick example_client.c:[0-9]*)$/tick/' \
			/tmp/read | sort | uniq -c | tr -s ' ')" " 5 tick"
	same "ticks in their order" "$(sort -k 3 -n /tmp/read)" "$(cat /tmp/read)"
	same "reader leaves the marker off" "$(cat "$markers"/example_tick/enable)" 0
	same "the reader leaves no trace instance" "$(find "$tracing"/instances -mindepth 1)" ""
	refused "reader of an unknown name" "no marker" sh /examples/reader.sh example_none 1
	try "marked module leaves" rmmod example_client
}

test_events() {
	try "test module" insmod /modules/kmarkers_test_events.ko
	logged "markers: list: no directory of this name"
	result $? "the log names the marker whose name is a file's"
	test_names_have_files
	test_trace
	test_count
	test_formats
	test_contexts
	test_bad_writes
	test_leaving
	test_concurrent
	test_reader
	put 0 "$tracing"/events/kmarkers/marker/enable
	try "test module leaves" rmmod kmarkers_test_events
}
