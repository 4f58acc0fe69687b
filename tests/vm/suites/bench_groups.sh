# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Benchmarks of other modules: loaded, measured and unloaded in any order, and refused.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

bench_rests() {
	grep -q "^\(idle\|done\|stopped\|failed\) " "$debugfs"/bench/status
}

# measure_group NAME: measure 8 blocks, and look at the samples: 3 variants, 3 windows, 8 layouts
measure_group() {
	put "blocks 8" /sys/module/kmarkers_bench/parameters/control || return
	put "start $1" "$debugfs"/bench/control || return
	within 60 bench_rests || return
	[ "$(grep -c "^$1," "$debugfs/bench/$1/samples")" = 72 ] || return
	[ "$(sed -n "s/^$1,[^,]*,loop,\([0-9]\),.*/\1/p" "$debugfs/bench/$1/samples" | sort -u | grep -c .)" = 8 ]
}

has_group() {
	grep -q "^$1$" "$debugfs"/bench/control && [ -d "$debugfs/bench/$1" ]
}

has_no_group() {
	! grep -q "^$1$" "$debugfs"/bench/control && [ ! -d "$debugfs/bench/$1" ]
}

test_example_benchmark() {
	try "a module with a benchmark loads" insmod /modules/example_benchmark.ko
	try "the benchmark of the module is listed" has_group example-hash
	refused "kmarkers_bench does not leave before the module" "in use\|temporarily unavailable" rmmod kmarkers_bench
	try "the benchmark of the module is measured at all layouts" measure_group example-hash
	try "the summary has the clone and the marker of the module" \
		grep -q "^plain-clone " "$debugfs"/bench/example-hash/summary
	try "the marker of the module is switched on" put "example_hash_step count" "$debugfs"/markers/control
	refused "no run begins while the marker of the module is on" "busy" put "start example-hash" "$debugfs"/bench/control
	logged "kmarkers_bench: not started: marker example_hash_step is on"
	result $? "the log names the marker of the module that is on"
	try "the marker of the module is switched off" put "example_hash_step none" "$debugfs"/markers/control
	put "blocks 100000" /sys/module/kmarkers_bench/parameters/control
	try "a long run of the module's benchmark starts" put "start example-hash" "$debugfs"/bench/control
	try "the module unloads while its benchmark is measured" rmmod example_benchmark
	same "the run of the benchmark that left has ended" "$(cut -d' ' -f1 "$debugfs"/bench/status)" stopped
	try "the benchmark of the module has left" has_no_group example-hash
	refused "a benchmark that has left is not started" "Invalid argument" put "start example-hash" "$debugfs"/bench/control
}

test_other_orders() {
	try "a module with two benchmarks loads" insmod /modules/kmarkers_test_groups.ko
	try "a module with one loads after it" insmod /modules/example_benchmark.ko
	put "blocks 100000" /sys/module/kmarkers_bench/parameters/control
	try "a long run of another benchmark starts" put "start empty-loop" "$debugfs"/bench/control
	try "the module with two benchmarks unloads first" rmmod kmarkers_test_groups
	same "the run of the other benchmark goes on" "$(cut -d' ' -f1 "$debugfs"/bench/status)" running
	try "the run of the other benchmark is stopped" put stop "$debugfs"/bench/control
	try "the module with two benchmarks loads again" insmod /modules/kmarkers_test_groups.ko
	try "the benchmark that stayed is measured" measure_group example-hash
	try "the second benchmark of the module is measured" measure_group test-second
	try "the module with one benchmark unloads first" rmmod example_benchmark
	try "the benchmarks of the other module have stayed" has_group test-second
	try "the first benchmark of the module is measured" measure_group test-first
	try "the module with two benchmarks unloads" rmmod kmarkers_test_groups
}

# A group with a block function names its variants and the number of its samples.
test_own_blocks() {
	bench=$debugfs/bench
	put "blocks 8" /sys/module/kmarkers_bench/parameters/control
	try "a module loads whose benchmark has a block function" insmod /modules/kmarkers_test_groups.ko fault=block-right
	try "a benchmark with a block function starts" put "start test-second" "$bench/control"
	try "the benchmark with a block function ends" within 60 bench_rests
	same "test-second has as many samples as it says" "$(grep -c "^test-second,\(sites,switch\|rounds,rounds\),0,[0-7],0,0,,1," "$bench/test-second/samples")" 16
	same "the summary of test-second has a median of each size" "$(tail -n +2 "$bench/test-second/summary" | tr '\n' ' ')" "sites 1 8 104 rounds 1 8 3 "
	rmmod kmarkers_test_groups
	try "a module loads whose benchmark has one variant and a block function" \
		insmod /modules/kmarkers_test_groups.ko fault=block-one
	rmmod kmarkers_test_groups
	insmod /modules/kmarkers_test_groups.ko fault=block-grows
	refused "a benchmark that says later that it has more samples is not started" "Cannot allocate\|Out of memory" \
		put "start test-second" "$bench/control"
	logged "kmarkers_bench: not started: samples of test-second need"
	result $? "the log says how much memory its samples need"
	rmmod kmarkers_test_groups
	insmod /modules/kmarkers_test_groups.ko fault=block-stray
	put "start test-second" "$bench/control"
	try "a run ends whose block has a sample of no variant" within 60 bench_rests
	logged "kmarkers_bench: test-second: a sample of variant 2, of 2 variants"
	result $? "the log says which variant there is not"
	same "status names the benchmark that failed" "$(cut -d' ' -f4- "$bench/status")" "error -22 in test-second"
	rmmod kmarkers_test_groups
	insmod /modules/example_benchmark.ko
	same "another benchmark in its place is not named" "$(cut -d' ' -f4- "$bench/status")" "error -22 in a group that has left"
	rmmod example_benchmark
	put 100000 "$bench/config/blocks"
	refused "a run with more samples than there is memory for is not started" "Cannot allocate\|Out of memory" \
		put start "$bench/control"
	grep -q "^failed - 0/0 " "$bench/status"
	result $? "a run that was refused leaves the state of the last one"
}

# began: start a run whose CPU is kept busy, and print the status before it can measure anything
began() {
	put 800 /sys/module/kmarkers_test_groups/parameters/busy_ms
	taskset 2 sh -c "echo start empty-loop >$debugfs/bench/control; cat $debugfs/bench/status"
}

# The module of the last measured benchmark is unloaded, and the next run has begun but measured
# nothing yet.
test_status_of_new_run() {
	if [ ! -e /sys/devices/system/cpu/cpu1 ]; then
		skip "status names the benchmark of the run that began" "no second CPU"
		return
	fi
	insmod /modules/kmarkers_test_groups.ko
	insmod /modules/example_benchmark.ko
	try "the last run is of the benchmark of a module" measure_group example-hash
	rmmod example_benchmark
	same "status names the benchmark of the run that began" "$(began | cut -d/ -f1)" "running empty-loop 0"
	put stop "$debugfs"/bench/control
	rmmod kmarkers_test_groups
}

# Benchmarks that a module does not remove are removed when it unloads, and logged.
test_left_groups() {
	insmod /modules/kmarkers_test_groups.ko fault=left
	put 100000 "$debugfs/bench/config/blocks"
	put "start test-first" "$debugfs/bench/control"
	try "a module leaves its benchmarks added, and one is measured" rmmod kmarkers_test_groups
	logged "kmarkers_bench: kmarkers_test_groups left its benchmark test-second added: removed"
	result $? "the log names the benchmark that was left"
	same "the run of a benchmark that was left has ended" "$(cut -d' ' -f1 "$debugfs"/bench/status)" stopped
	refused "a module whose init fails leaves its benchmarks added" "No such device" \
		insmod /modules/kmarkers_test_groups.ko fault=left-failed
	logged "kmarkers_bench: kmarkers_test_groups left its benchmark test-first added: removed"
	result $? "the log names the benchmark of the init that failed"
	has_no_group test-first && has_no_group test-second
	result $? "no benchmark is left"
}

test_bad_groups() {
	for fault in no/name nameless one-variant many-variants no-variants twice clone loops descending few-layouts layout \
		start stop reset blocks cpu seed long-name long-variant measured no-loop lacks \
		block-alone block-samples-alone block-empty; do
		refused "a module whose benchmark is bad ($fault) does not load" "Invalid argument\|Invalid parameters" \
			insmod /modules/kmarkers_test_groups.ko fault=$fault
	done
	logged "kmarkers_bench: kmarkers_test_groups: benchmark test-second: its blocks have no samples"
	result $? "the log says what is bad"
	# Kernels from 6.19 on reserve EEXIST for modules that are already loaded.
	for fault in control empty-loop test-first; do
		refused "a module with a benchmark named $fault does not load" "File exists\|resource busy" \
			insmod /modules/kmarkers_test_groups.ko fault=$fault
	done
	try "no benchmark of a refused module is left" has_no_group test-first
}

test_bench_groups() {
	test_example_benchmark
	test_other_orders
	test_own_blocks
	test_status_of_new_run
	test_left_groups
	test_bad_groups
	put reset "$debugfs"/bench/control
	put "blocks 100" /sys/module/kmarkers_bench/parameters/control
}
