# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# All tests that run inside a test kernel.
# shellcheck source-path=SCRIPTDIR source=lib.sh
. /tests/lib.sh
# shellcheck source-path=SCRIPTDIR source=cases.sh
. /tests/cases.sh
# shellcheck source-path=SCRIPTDIR source=orders.sh
. /tests/orders.sh
# shellcheck source-path=SCRIPTDIR source=core.sh
. /tests/core.sh
# shellcheck source-path=SCRIPTDIR source=handler_path.sh
. /tests/handler_path.sh
# shellcheck source-path=SCRIPTDIR source=nomem.sh
. /tests/nomem.sh
# shellcheck source-path=SCRIPTDIR source=kprobes.sh
. /tests/kprobes.sh
# shellcheck source-path=SCRIPTDIR source=landing.sh
. /tests/landing.sh
# shellcheck source-path=SCRIPTDIR source=typed.sh
. /tests/typed.sh
# shellcheck source-path=SCRIPTDIR source=history.sh
. /tests/history.sh
# shellcheck source-path=SCRIPTDIR source=many.sh
. /tests/many.sh
# shellcheck source-path=SCRIPTDIR source=tables.sh
. /tests/tables.sh
# shellcheck source-path=SCRIPTDIR source=functions.sh
. /tests/functions.sh

# Marked modules and probe modules come and go until the file is gone.
come_and_go() {
	while [ -e /tmp/loading ]; do
		insmod /modules/example_probe.ko && insmod /modules/example_client.ko &&
			rmmod example_client && rmmod example_probe && echo >>/tmp/loads
	done
}

test_counts_during_loads() {
	: >/tmp/loads
	: >/tmp/loading
	come_and_go &
	for case in markers_storm_exactly_once typed_storm_exactly_once; do
		before=$(wc -l </tmp/loads)
		# Short storms are repeated until a module has come and gone.
		for _ in $(seq 20); do
			run_case "$case"
			code=$?
			[ "$code" -eq 0 ] || break
			[ "$(wc -l </tmp/loads)" -eq "$before" ] || break
		done
		result "$code" "$case while modules come and go"
	done
	rm /tmp/loading
	wait
	[ "$(wc -l </tmp/loads)" -gt 1 ]
	result $? "modules came and went"
}

test_cases() {
	try "test module loads, values in place before init" \
		insmod /modules/kmarkers_test.ko batches="$batches"
	run_cases
	try "formats that differ" put markers_formats $cases/run
	logged 'test_format in hit_formats(): format "%ld %s" is not the registered "%d %s"'
	result $? "the log names both formats"
	refused "unknown case" "Invalid argument" put nothing $cases/run
	test_counts_during_loads
	sed 's/^/# patcher /' $debugfs/patcher/stats
	same "every batch is in the histogram" \
		"$(awk '/^batches_/ { n += $2 } END { print n }' $debugfs/patcher/stats)" \
		"$(stat_of batches)"
	[ "$(stat_of longest_round_us)" -gt 0 ]
	result $? "stats have the longest round"
	[ "$(stat_of longest_trap_us)" -gt 0 ] && [ "$(stat_of longest_wait_us)" -gt 0 ]
	result $? "stats have how long breakpoints stood and batches waited"
	# Kernels that can look for such mappings.
	wx=/sys/kernel/debug/page_tables/check_wx_pages
	if [ -r $wx ]; then
		same "no mapping is writable and executable" "$(cat $wx)" SUCCESS
	else
		skip "no mapping is writable and executable" "this kernel cannot look for such"
	fi
}

# What modinfo(8) shows, which is not in a test kernel.
test_module_names() {
	for module in $core; do
		[ -s "/sys/module/$module/version" ] && [ -s "/sys/module/$module/srcversion" ]
		result $? "$module: its version and a hash of its sources are known"
	done
	for module in patcher immediate markers; do
		grep -qa "alias=$module" "/modules/kmarkers_$module.ko"
		result $? "kmarkers_$module: its short name is an alias"
	done
}

# In modules loaded before and after a change, and with a probe that waits.
test_across_modules() {
	try "value read in a second module" \
		insmod /modules/kmarkers_test_peer.ko expect=0x1122334455667788
	refused "module held by its client" "temporarily unavailable" rmmod kmarkers_test
	try "second module unloads" rmmod kmarkers_test_peer
	refused "wrong expectation is noticed" "Invalid" insmod /modules/kmarkers_test_peer.ko expect=1
	refused "imv_read in init text" "Operation not permitted" \
		insmod /modules/kmarkers_test_bad_init.ko
	logged "kmarkers_test_bad_init: imv_read() in text that is freed"
	result $? "the log says that the imv_read() is in init text"
	same "refused modules leave no sites" "$(grep -c 'bad_init\|peer' $debugfs/immediate/list)" 0
	try "test module unloads" rmmod kmarkers_test
	lacks test $debugfs/markers/list
	result $? "no marker of it is left"
}

test_examples() {
	try "probe before its marker exists" insmod /modules/example_probe.ko
	grep -q "example_tick waiting - 1" $debugfs/markers/list
	result $? "list shows it waiting"
	try "marked module" insmod /modules/example_client.ko
	grep -q "example_tick on jump 1 example_client tick example_client.c:" $debugfs/markers/list
	result $? "list shows it connected"
	try "period shortened" put 1 /sys/module/example_client/parameters/period_ms
	refused "period out of range" "Invalid argument" \
		put 0 /sys/module/example_client/parameters/period_ms
	try "probe counts ticks" within 5 ticked 20
	try "probe goes first" rmmod example_probe
	grep -q "example_tick off jump 0" $debugfs/markers/list
	result $? "list shows it off"
	try "marked module unloads" rmmod example_client
	try "marked module first" insmod /modules/example_client.ko
	try "probe after its marker" insmod /modules/example_probe.ko
	try "marked module leaves while probes are registered" rmmod example_client
	try "probe unloads" rmmod example_probe
}

# put_raw FORMAT FILE: in one write, with escapes, and with 0 for %d
put_raw() {
	# shellcheck disable=SC2059 # it is a format
	printf "$1" 0 >/tmp/raw
	dd if=/tmp/raw of="$2" bs=1M conv=notrunc 2>/tmp/said && return
	cat /tmp/said
	return 1
}

not_running() {
	lacks "^running" "$bench"/status
}

test_settable() {
	values=$debugfs/immediate/values
	try "module with settable values" insmod /modules/example_profile.ko
	grep -q "^prof_on 1 0x0 0 example_profile 1$" $debugfs/immediate/list
	result $? "list shows variable, size, value, module and sites"
	same "value as compiled" "$(cat $values/example_profile.prof_step)" 1
	for bad in 0 1001 -1 x 1x "" 99999999999999999999; do
		refused "prof_step refuses '$bad'" "Invalid argument" \
			put "$bad" $values/example_profile.prof_step
	done
	for bad in '7\0junk\n' '7\0' '7\n\n' '%066d9zzzz garbage' '%0100000d' '%031d7'; do
		refused "prof_step refuses '$bad'" "Invalid argument" \
			put_raw "$bad" $values/example_profile.prof_step
	done
	try "prof_step takes the same way a number" put_raw '1\n' $values/example_profile.prof_step
	for bad in '0\0' '%066d9zzzz garbage' '%0100000d'; do
		refused "prof_on refuses '$bad'" "Invalid argument" \
			put_raw "$bad" $values/example_profile.prof_on
	done
	refused "prof_on refuses 2" "Invalid argument" put 2 $values/example_profile.prof_on
	same "value as before" "$(cat $values/example_profile.prof_step)" 1
	sleep 1
	same "no hit is counted while profiling is off" "$(cat /sys/module/example_profile/parameters/hits)" 0
	try "step of 1000" put 1000 $values/example_profile.prof_step
	try "profiling on" put 1 $values/example_profile.prof_on
	sleep 1
	hits=$(cat /sys/module/example_profile/parameters/hits)
	[ "$hits" -ge 5000 ] && [ $((hits % 1000)) -eq 0 ]
	result $? "hits are counted while profiling is on"
	try "profiling off" put 0 $values/example_profile.prof_on
	try "module with settable values unloads" rmmod example_profile
	same "files of settable values are gone" "$(ls $values)" ""
}

# summary_of BENCHMARK: what its summary has to say, from its samples: the windows of a block are
# neighbours, and a block with a flag is left out
summary_of() {
	awk -F '[, ]' '
		function milli(x) {
			x += 0
			size = x < 0 ? -x : x
			return sprintf(" %s%d.%03d", x < 0 ? "-" : "", int(size / 1000), size % 1000)
		}
		FNR == NR && /^[^#b]/ && !half { half = 1; tsc = $8; loops = $7; flags = $11; next }
		FNR == NR && /^[^#b]/ {
			half = 0
			if (flags $11) {
				disturbed[$2]++
				next
			}
			x = int(($8 - tsc) * 1000 / ($7 - loops))
			for (i = n[$2]++; i > 0 && slope[$2, i - 1] > x; i--)
				slope[$2, i] = slope[$2, i - 1]
			slope[$2, i] = x
		}
		FNR < NR {
			print $1, n[$1] + 0, disturbed[$1] + 0 milli(slope[$1, 0]) \
				milli(slope[$1, int(n[$1] / 2)]) milli(slope[$1, n[$1] - 1])
		}' "$bench/$1/samples" /tmp/summary
}

measured_some() {
	lacks " 0/" "$bench"/status
}

arm_while_running() {
	put "bench_memcpy count" "$debugfs"/markers/control && within 60 not_running
}

# What is measured off must be off.
test_bench_dormant() {
	control=$debugfs/markers/control
	try "a marker of the benchmarks is on" put "bench_memcpy count" $control
	refused "start while it is on" "busy" put "start empty-loop" $bench/control
	logged "kmarkers_bench: not started: marker bench_memcpy is on"
	result $? "the log names the marker that is on"
	same "samples as before" "$(grep -c '^empty-loop,' $bench/empty-loop/samples)" "$1"
	try "the marker of the benchmarks is off" put "bench_memcpy none" $control
	try "a benchmark that switches its own on" put "start marker-enabled empty-loop" $bench/control
	try "the benchmark that switches its own markers ends" within 60 not_running
	same "status says that the benchmark is done" "$(cut -d' ' -f1 $bench/status)" "done"
	try "config takes blocks" put 100000 $bench/config/blocks
	try "start of a long run" put "start empty-loop" $bench/control
	try "first samples" within 60 measured_some
	try "a marker is switched on in the run, which ends" arm_while_running
	logged "kmarkers_bench: run failed: marker bench_memcpy is on"
	result $? "the log names the marker that ended the run"
	grep -q "^failed - .* error -16 in empty-loop$" $bench/status
	result $? "status says that the run failed"
	try "the marker that ended the run is off" put "bench_memcpy none" $control
}

test_bench_files() {
	bench=$debugfs/bench
	same "idle at first" "$(cut -d' ' -f1 $bench/status)" idle
	for word in nothing "start nothing" "stop now" "start stop" "" "empty-loop start"; do
		refused "control refuses '$word'" "Invalid argument" put "$word" $bench/control
	done
	same "refused words start no benchmark" "$(cut -d' ' -f1 $bench/status)" idle
	for bad in "blocks 0" "blocks 100001" "blocks abc" "blocks -1" "blocks 99999999999999999999" \
		"cpu 4096" "cpu x" "seed 1x"; do
		refused "config refuses $bad" "Invalid argument\|out of range" \
			put "${bad#* }" "$bench/config/${bad% *}"
	done
	for bad in '5\0x' '5\0' '5x\n' '%066d9zzzz' '%0100000d'; do
		for item in blocks cpu seed; do
			refused "config refuses $item '$bad'" "Invalid argument" \
				put_raw "$bad" "$bench/config/$item"
		done
	done
	refused "getppid-live refuses more than a name" "Invalid argument" \
		put_raw 'original\0x' $bench/getppid-live
	same "blocks as before" "$(cat $bench/config/blocks)" 100
	same "cpu as before" "$(cat $bench/config/cpu)" 0
	same "seed as before" "$(cat $bench/config/seed)" 1
	try "config takes blocks" put 20000 $bench/config/blocks
	try "start" put "start memcpy-4096" $bench/control
	refused "second start" "busy" put "start empty-loop" $bench/control
	refused "reset while running" "busy" put reset $bench/control
	refused "config while running" "busy" put 3 $bench/config/blocks
	try "samples can be read while running" grep -q "^# schema=1" $bench/memcpy-4096/samples
	try "stop" put stop $bench/control
	same "stopped" "$(cut -d' ' -f1 $bench/status)" stopped
	try "start again" put "memcpy-4096" $bench/control
	try "rmmod while running" rmmod kmarkers_bench
	refused "insmod with a bad parameter" "Invalid argument" insmod /modules/kmarkers_bench.ko blocks=0
	try "insmod with a parameter" insmod /modules/kmarkers_bench.ko blocks=3
	try "start by name" put "empty-loop cold-branch" $bench/control
	try "the benchmarks that were named end" within 60 not_running
	grep -q '^done - \([0-9]*\)/\1$' $bench/status
	result $? "every window was taken"
	# 3 blocks of 2 windows of each variant; the first line of the summary is its head.
	samples=$((6 * ($(wc -l <$bench/empty-loop/summary) - 1)))
	same "samples" "$(grep -c '^empty-loop,' $bench/empty-loop/samples)" $samples
	tail -n +2 $bench/empty-loop/summary >/tmp/summary
	same "the summary is that of the samples" "$(summary_of empty-loop)" "$(cat /tmp/summary)"
	awk '{ good += $2; bad += $3 } END { exit !(good > bad) }' /tmp/summary
	result $? "most windows were not disturbed"
	test_bench_dormant $samples
	insmod /modules/kmarkers_bench_sites.ko
	try "config takes blocks" put 1 $bench/config/blocks
	for turn in first second; do
		try "sites are switched, the $turn time" put "start arm-stall" $bench/control
		try "the switching of sites ends, the $turn time" within 60 not_running
		grep -q '^done - \([0-9]*\)/\1$' $bench/status
		result $? "no site was in another state"
	done
	try "the sites leave" rmmod kmarkers_bench_sites
	try "reset" put reset $bench/control
	same "reset leaves nothing" "$(grep -c '^empty-loop,' $bench/empty-loop/samples)" 0
}

# All modules in and out, again and again: most of the times without the grace periods that
# unloading waits for, which is where the time goes.
test_cycles() {
	cycle=0
	while [ "$cycle" -lt "$cycles" ] && expedite $((cycle >= cycles / 10)) && load_core &&
		insmod /modules/example_client.ko && rmmod example_client && unload_core; do
		cycle=$((cycle + 1))
	done
	expedite 0
	same "all modules in and out" $cycle "$cycles"
	[ ! -e "$debugfs" ]
	result $? "no file is left in debugfs"
}

suite orders
test_orders
load_core || exit 1
suite cases
test_cases
suite modules
test_module_names
test_across_modules
suite examples
test_examples
suite tables
test_tables
suite typed
test_typed_example
test_leavers
suite history
test_history
suite settable
test_settable
suite events
test_events
suite many
test_many
suite functions
test_functions
suite nomem
test_without_memory
suite core
test_core
suite path
test_handler_path
suite kprobes
test_kprobes
test_landing
suite bench
test_bench_files
unload_core || exit 1
suite cycles
test_cycles
finish
