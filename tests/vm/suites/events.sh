# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The trace event and the debugfs files of each marker name.
# shellcheck source=tests/vm/lib_events.sh
. /tests/lib_events.sh

# expect_traced_lines NAME COMMAND LINE...: a test that passes if "hit COMMAND" adds exactly these
# lines to the trace
expect_traced_lines() {
	name=$1
	clear_trace
	hit "$2"
	shift 2
	print_trace_texts >/tmp/traced
	for line; do
		echo "$line"
	done >/tmp/wanted
	cmp -s /tmp/traced /tmp/wanted || sed 's/^/# /' /tmp/traced /tmp/wanted
	cmp -s /tmp/traced /tmp/wanted
	result $? "$name"
}

# put_bytes FORMAT FILE: write the output of "printf FORMAT" to a file in a single write
put_bytes() {
	# shellcheck disable=SC2059 # the argument is a format
	printf "$1" | dd of="$2" bs=512
}

# is_address TEXT: succeeds if the text is an address in the kernel, and not empty or hidden as 0
is_address() {
	case $1 in
	ffff????????????) ;;
	*) return 1 ;;
	esac
}

test_names_have_files() {
	same "the directory of a name has three files" "$(find "$markers"/ev_plain -type f | sed 's/.*\///' | sort | tr '\n' ' ')" \
		"enable probe stats "
	same "the file probe is empty while no probe is connected" "$(cat "$markers"/ev_plain/probe)" ""
	same "enable reads 0 while the marker is off" "$(cat "$markers"/ev_plain/enable)" 0
	same "stats shows no number before count was connected" "$(cat "$markers"/ev_plain/stats)" "hits -"
	grep -q "^ev_plain off jump 0 kmarkers_test_events hit_plain events.c:[0-9]* \"number %d text %s\"\$" \
		"$markers"/list
	result $? "the list shows the site and the format of a marker"
	same "the list shows both sites of a name with two sites" "$(grep -c '^ev_twice ' "$markers"/list)" 2
	[ ! -e "$markers"/list/probe ] && grep -q "^list off" "$markers"/list
	result $? "a marker that is named like a file has no directory"
}

event=$tracing/events/kmarkers/ev_plain

test_trace() {
	clear_trace
	hit plain
	same "no hit is traced while the marker is off" "$(print_trace_texts)" ""
	# This write makes the kernel allocate its trace buffer at full size.
	put 0 "$event"/enable
	try "the event is enabled by trace" trace_on ev_plain
	same "the event is on in tracefs after trace" "$(cat "$event"/enable)" 1
	same "enable reads 1 after trace" "$(cat "$markers"/ev_plain/enable)" 1
	grep -qx "kmarkers:ev_plain" "$tracing"/available_events
	result $? "the event has its system after trace"
	same "probe shows the probe of the event" "$(cat "$markers"/ev_plain/probe)" "kmarkers_event_probe [kmarkers_events] 1"
	hit plain
	same "the trace shows name and text of a hit" "$(print_trace_texts)" "ev_plain: number 42 text abc"
	try "trace is written a second time" trace_on ev_plain
	clear_trace
	hit "plain 1000"
	same "every hit is traced once after trace was written twice" "$(print_trace_texts | wc -l)" 1000
	try "the event is disabled by none" put none "$markers"/ev_plain/probe
	grep -qx "kmarkers:ev_plain" "$tracing"/available_events
	result $? "the event has its system after none"
	clear_trace
	hit plain
	same "no hit is traced after none was written to probe" "$(print_trace_texts)" ""
	same "the file probe is empty after none was written" "$(cat "$markers"/ev_plain/probe)" ""
	try "enable takes 1" put 1 "$markers"/ev_plain/enable
	hit plain
	same "a hit is traced after 1 was written to enable" "$(print_trace_texts | wc -l)" 1
	try "enable takes 0" put 0 "$markers"/ev_plain/enable
	same "enable reads 0 after 0 was written" "$(cat "$markers"/ev_plain/enable)" 0
	put 1 "$event"/enable
	same "enable reads 1 after tracefs enabled the event" "$(cat "$markers"/ev_plain/enable)" 1
	try "an event that tracefs enabled is disabled by -trace" put -trace "$markers"/ev_plain/probe
	same "the event is off in tracefs after -trace" "$(cat "$event"/enable)" 0
	mkdir "$tracing"/instances/other
	put 1 "$tracing"/instances/other/events/kmarkers/ev_plain/enable
	same "enable reads 0 while the event is on in another buffer" "$(cat "$markers"/ev_plain/enable)" 0
	put none "$markers"/ev_plain/probe
	hit plain
	same "none leaves the event on in another buffer" "$(grep -c ev_plain: "$tracing"/instances/other/trace)" 1
	put 0 "$tracing"/instances/other/events/kmarkers/ev_plain/enable
	rmdir "$tracing"/instances/other
}

test_count() {
	try "count is connected" put count "$markers"/ev_plain/probe
	hit "plain 1000"
	same "every hit is counted" "$(sed -n 's/^hits //p' "$markers"/ev_plain/stats)" 1000
	same "the counts of the CPUs add up to all hits" \
		"$(awk '/^cpu/ { sum += $2 } END { print sum }' "$markers"/ev_plain/stats)" 1000
	try "trace is enabled beside count" trace_on ev_plain
	clear_trace
	hit "plain 10"
	same "hits are traced beside count" "$(print_trace_texts | wc -l)" 10
	same "hits are counted beside trace" "$(sed -n 's/^hits //p' "$markers"/ev_plain/stats)" 1010
	try "trace is disabled" put -trace "$markers"/ev_plain/probe
	same "probe shows only count after trace is disabled" "$(cat "$markers"/ev_plain/probe)" "count_marker_hit [kmarkers_markers] 1"
	try "count is disconnected" put -count "$markers"/ev_plain/probe
	hit plain
	same "no hit is counted after count is disconnected" "$(sed -n 's/^hits //p' "$markers"/ev_plain/stats)" 1010
	try "count is connected again" put count "$markers"/ev_plain/probe
	same "counting begins at 0 again" "$(sed -n 's/^hits //p' "$markers"/ev_plain/stats)" 0
	try "count is connected to a name with two sites" put count "$markers"/ev_twice/probe
	hit "twice 100"
	same "hits of both sites are counted" "$(sed -n 's/^hits //p' "$markers"/ev_twice/stats)" 200
	put none "$markers"/ev_plain/probe
	put none "$markers"/ev_twice/probe
}

# The page tables of a module's text must be walked with interrupts off, because the kernel frees a
# page table after an IPI to every CPU. In the trace, d or D means that interrupts were off.
test_table_walk() {
	if ! put vmalloc_to_page "$tracing"/set_ftrace_filter 2>/dev/null || ! put function "$tracing"/current_tracer 2>/dev/null; then
		skip "page tables are walked with interrupts off" "this kernel has no function tracer"
		return
	fi
	clear_trace
	put count "$markers"/ev_plain/probe
	put none "$markers"/ev_plain/probe
	grep ": vmalloc_to_page <-" "$tracing"/trace >/tmp/walks
	put nop "$tracing"/current_tracer
	put "" "$tracing"/set_ftrace_filter
	[ -s /tmp/walks ] && lacks "\] [^dD].*: vmalloc_to_page" /tmp/walks
	result $? "page tables are walked with interrupts off"
}

test_formats() {
	for marker in noargs integers strings pointers bad_strings endless long twice wide_argument; do
		try "trace is enabled for ev_$marker" trace_on ev_$marker
	done
	expect_traced_lines "a marker without arguments is traced" noargs "ev_noargs:  "
	expect_traced_lines "integers are traced in their formats" integers \
		"ev_integers: -1 255 -2 4294967295 -3 ffffffffffffffff 0xff x     1|2    |00003 %    5 006"
	expect_traced_lines "strings are traced in their formats" strings "ev_strings: abc|   de|fg   |hi|k|(null)"
	expect_traced_lines "strings at addresses that cannot be read are traced as (fault)" bad_strings "ev_bad_strings: (fault) (fault) (fault)"
	expect_traced_lines "both sites of a name are traced" twice "ev_twice: 1" "ev_twice: 2"
	clear_trace
	hit pointers
	print_trace_texts | grep -q "^ev_pointers: hit_plain \[kmarkers_test_events\] [0-9a-f][0-9a-f]*\$"
	result $? "a function and a pointer are traced"
	address=$(sed -n 's/^\([0-9a-f]*\) . lock\t\[kmarkers_test_events\]$/\1/p' /proc/kallsyms | head -n 1)
	print_trace_texts | grep -q "^ev_pointers: " && is_address "$address" && ! print_trace_texts | grep -q "$address"
	result $? "the trace does not show the address of the pointer"
	clear_trace
	hit endless
	same "the trace cuts off a string without end" "$(print_trace_texts | sed 's/^ev_endless: //' | tr -d '\n' | wc -c)" 511
	clear_trace
	hit long
	same "the trace cuts off the text of a long format" "$(print_trace_texts | sed 's/^ev_long: //' | tr -d '\n' | wc -c)" 3583
	clear_trace
	hit wide
	same "the trace cuts off a wide number" "$(print_trace_texts | sed 's/^ev_wide_argument: //' | tr -d '\n' | wc -c)" 511
	for marker in count wide; do
		refused "trace is refused for the format of ev_$marker" "Invalid argument" trace_on ev_$marker
		logged "events: trace event ev_$marker does not exist"
		result $? "the log names ev_$marker, which has no trace event"
		same "no probe is connected to ev_$marker" "$(cat "$markers"/ev_$marker/probe)" ""
		try "ev_$marker can be counted" put count "$markers"/ev_$marker/probe
	done
	try "markers whose formats were refused are hit" hit hostile
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
	same "each hit in an interrupt is traced" "$(print_trace_texts | grep -c '^ev_irq: irq [01]$')" $((10 * $(nproc)))
	if [ "$(nproc)" -gt 1 ]; then
		print_trace_texts | grep -q "^ev_irq: irq 1$"
		result $? "the marker in an interrupt is hit in interrupt context"
	else
		skip "the marker in an interrupt is hit in interrupt context" "this needs a second CPU"
	fi
	expect_traced_lines "a hit in a context like that of NMIs is traced" nmi "ev_nmi: nmi 1"
	expect_traced_lines "a hit while the record of another hit is prepared is traced" nested \
		"ev_nested: nested 1" "ev_outer: outer 1"
	for marker in irq nmi outer nested; do
		put none "$markers"/ev_$marker/probe
	done
}

# Checks that malformed writes are refused and change nothing.
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
	refused "control refuses to disable an unknown name" "No such file" put "ev_none -trace" "$markers"/control
	refused "control refuses to disable names that no pattern enabled" "No such file" put "ev_[z]* none" "$markers"/control
	for file in probe enable; do
		refused "$file refuses a long line" "Invalid argument" \
			put "$(head -c 5000 /dev/zero | tr '\0' t)" "$markers"/ev_plain/$file
		refused "$file refuses binary data" "Invalid argument" \
			dd if=/bin/busybox of="$markers"/ev_plain/$file bs=16 count=1
		refused "$file refuses a NUL byte" "Invalid argument" \
			put_bytes 'trace\0' "$markers"/ev_plain/$file
		refused "$file refuses a megabyte of zeros" "Invalid argument\|Bad address" \
			dd if=/dev/zero of="$markers"/ev_plain/$file bs=1M count=1
	done
	refused "control refuses a long line" "Invalid argument" \
		put "$(head -c 5000 /dev/zero | tr '\0' t) trace" "$markers"/control
	refused "control refuses binary data" "Invalid argument" \
		dd if=/bin/busybox of="$markers"/control bs=64 count=1
	refused "control refuses a NUL byte" "Invalid argument" put_bytes 'ev_plain trace\0' "$markers"/control
	for file in format sites stats; do
		refused "$file cannot be written" "Permission denied\|Invalid argument\|I/O error" \
			put x "$markers"/ev_plain/$file
	done
	same "refused writes change neither the list nor the probes" "$(cat "$markers"/list "$markers"/*/probe)" "$state"
}

# toggle_probes_of_plain WORD WORD: write both words alternately to the file probe until /tmp/stop
# exists. Writes may fail, but must cause no fault.
toggle_probes_of_plain() {
	while [ ! -e /tmp/stop ]; do
		put "$1" "$markers"/ev_plain/probe
		put "$2" "$markers"/ev_plain/probe
		cat "$markers"/ev_plain/stats "$markers"/ev_plain/probe >/dev/null
	done 2>/dev/null
}

# Writes, reads and hits happen at the same time, while the module is unloaded and loaded.
test_concurrent() {
	rm -f /tmp/stop
	toggle_probes_of_plain trace -trace &
	toggle_probes_of_plain count none &
	toggle_probes_of_plain "bad" trace &
	for _ in $(seq 5); do
		hit "plain 100"
		rmmod kmarkers_test_events || break
		insmod /modules/kmarkers_test_events.ko || break
	done
	loaded kmarkers_test_events
	result $? "the module unloads and loads 5 times while its files are in use"
	touch /tmp/stop
	wait
	put none "$markers"/ev_plain/probe
	hit plain
	same "the file probe is empty after concurrent writes and none" "$(cat "$markers"/ev_plain/probe)" ""
	exec 9<"$markers"/ev_plain/stats
	rmmod kmarkers_test_events
	refused "an open file of a removed name cannot be read" "Input/output error\|No such" cat <&9
	exec 9<&-
	[ ! -e "$markers"/ev_plain ]
	result $? "the directory of a name is removed with its module"
	insmod /modules/kmarkers_test_events.ko
}

test_module_reload() {
	trace_on ev_plain
	put count "$markers"/ev_twice/probe
	grep -q ev_ "$markers"/list
	result $? "the list has markers of the traced module"
	try "the traced module unloads" rmmod kmarkers_test_events
	lacks ev_ "$markers"/list
	result $? "the list has no marker of the unloaded module"
	try "the traced module loads again" insmod /modules/kmarkers_test_events.ko
	same "a marker of the module is off after it was loaded again" "$(cat "$markers"/ev_plain/enable)" 0
}

# Runs the example reader in user space while its marker is hit continuously.
test_reader() {
	try "the module with the marker for the reader loads" insmod /modules/example_client.ko
	put 10 /sys/module/example_client/parameters/period_ms
	sh /examples/reader.sh example_tick 5 >/tmp/read
	result $? "the reader ends by itself"
	same "the reader prints each tick once" \
		"$(sed 's/^example_tick: tick [0-9]*$/tick/' /tmp/read | sort | uniq -c | tr -s ' ')" " 5 tick"
	same "the reader prints the ticks in their order" "$(sort -k 3 -n /tmp/read)" "$(cat /tmp/read)"
	same "the reader leaves the marker off" "$(cat "$markers"/example_tick/enable)" 0
	same "the reader leaves no trace instance" "$(find "$tracing"/instances -mindepth 1)" ""
	refused "the reader refuses an unknown name" "no marker" sh /examples/reader.sh example_none 1
	try "the module with the marker for the reader unloads" rmmod example_client
}

test_events() {
	try "kmarkers_test_events loads" insmod /modules/kmarkers_test_events.ko
	logged "markers: marker list: not a valid directory name"
	named=$?
	logged "events: trace event ev_count not created: format cannot be printed" &&
		logged "events: trace event ev_wide not created: format cannot be printed"
	result $? "the log names the markers whose formats cannot be printed"
	result $named "the log names the marker that is named like a file"
	test_names_have_files
	test_trace
	test_count
	test_table_walk
	test_formats
	test_contexts
	test_bad_writes
	test_module_reload
	test_concurrent
	test_reader
	try "kmarkers_test_events unloads" rmmod kmarkers_test_events
}
