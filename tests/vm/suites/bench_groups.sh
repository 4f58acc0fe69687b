# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Benchmarks that other modules add: valid and invalid benchmarks, in any order of loading and
# unloading.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# no_benchmark_runs: succeeds if no benchmark is running
no_benchmark_runs() {
	grep -q "^\(idle\|done\|stopped\|failed\) " "$debugfs"/bench/status
}

# measure_group NAME: measure 8 blocks of the benchmark; succeeds if its samples have 3 variants, 3
# windows and 8 layouts
measure_group() {
	put "blocks 8" /sys/module/kmarkers_bench/parameters/control || return
	put "start $1" "$debugfs"/bench/control || return
	within 60 no_benchmark_runs || return
	[ "$(grep -c "^$1," "$debugfs/bench/$1/samples")" = 72 ] || return
	[ "$(sed -n "s/^$1,[^,]*,loop,\([0-9]\),.*/\1/p" "$debugfs/bench/$1/samples" | sort -u | grep -c .)" = 8 ]
}

# has_group NAME: succeeds if the benchmark is listed and has a directory
has_group() {
	grep -q "^$1$" "$debugfs"/bench/control && [ -d "$debugfs/bench/$1" ]
}

has_no_group() {
	! grep -q "^$1$" "$debugfs"/bench/control && [ ! -d "$debugfs/bench/$1" ]
}

test_example_benchmark() {
	try "a module with a benchmark loads" insmod /modules/example_benchmark.ko
	try "the benchmark of the module is listed" has_group example-hash
	refused "kmarkers_bench cannot be unloaded before the module" "in use\|temporarily unavailable" rmmod kmarkers_bench
	try "the benchmark of the module is measured at all layouts" measure_group example-hash
	try "the summary has the clone and the marker of the module" \
		grep -q "^plain-clone " "$debugfs"/bench/example-hash/summary
	try "the marker of the module is switched on" put "example_hash_step count" "$debugfs"/markers/control
	refused "no run begins while the marker of the module is on" "busy" put "start example-hash" "$debugfs"/bench/control
	logged "kmarkers_bench: benchmark run not started: marker example_hash_step is enabled"
	result $? "the log names the marker of the module that is on"
	try "the marker of the module is switched off" put "example_hash_step none" "$debugfs"/markers/control
	put "blocks 100000" /sys/module/kmarkers_bench/parameters/control
	try "a long run of the module's benchmark starts" put "start example-hash" "$debugfs"/bench/control
	try "the module unloads while its benchmark is measured" rmmod example_benchmark
	same "the run ended when the module was unloaded" "$(cut -d' ' -f1 "$debugfs"/bench/status)" stopped
	try "the benchmark of the unloaded module is not listed" has_no_group example-hash
	refused "a benchmark of an unloaded module cannot be started" "Invalid argument" put "start example-hash" "$debugfs"/bench/control
}

test_other_orders() {
	try "a module with two benchmarks loads" insmod /modules/kmarkers_test_groups.ko
	try "a module with one benchmark loads after it" insmod /modules/example_benchmark.ko
	put "blocks 100000" /sys/module/kmarkers_bench/parameters/control
	try "a long run of another benchmark starts" put "start empty-loop" "$debugfs"/bench/control
	try "the module with two benchmarks unloads first" rmmod kmarkers_test_groups
	cat "$debugfs"/bench/env >/dev/null
	result $? "env is printed without the benchmarks of the module"
	same "the run of the other benchmark goes on" "$(cut -d' ' -f1 "$debugfs"/bench/status)" running
	try "the run of the other benchmark is stopped" put stop "$debugfs"/bench/control
	try "the module with two benchmarks loads again" insmod /modules/kmarkers_test_groups.ko
	try "the benchmark of the module that stayed loaded is measured" measure_group example-hash
	try "the second benchmark of the module is measured" measure_group test-second
	try "the module with one benchmark unloads first" rmmod example_benchmark
	try "the benchmarks of the other module are still listed" has_group test-second
	try "the first benchmark of the module is measured" measure_group test-first
	try "the module with two benchmarks unloads" rmmod kmarkers_test_groups
}

# A benchmark with a block function chooses the variant of each sample and the number of samples.
test_own_blocks() {
	bench=$debugfs/bench
	put "blocks 8" /sys/module/kmarkers_bench/parameters/control
	try "a module loads whose benchmark has a block function" insmod /modules/kmarkers_test_groups.ko fault=block-right
	try "a benchmark with a block function starts" put "start test-second" "$bench/control"
	try "the benchmark with a block function ends" within 60 no_benchmark_runs
	same "test-second has the number of samples that its module declares" "$(grep -c "^test-second,\(sites,switch\|rounds,rounds\),0,[0-7],0,0,,1," "$bench/test-second/samples")" 16
	same "the summary of test-second has a median for each variant" "$(tail -n +2 "$bench/test-second/summary" | tr '\n' ' ')" "sites 1 8 104 rounds 1 8 3 "
	rmmod kmarkers_test_groups
	try "a module loads whose benchmark has one variant and a block function" \
		insmod /modules/kmarkers_test_groups.ko fault=block-one
	rmmod kmarkers_test_groups
	insmod /modules/kmarkers_test_groups.ko fault=block-grows
	refused "a benchmark that later declares more samples is not started" "Cannot allocate\|Out of memory" \
		put "start test-second" "$bench/control"
	logged "kmarkers_bench: benchmark run not started: samples of test-second need"
	result $? "the log says how much memory its samples need"
	rmmod kmarkers_test_groups
	insmod /modules/kmarkers_test_groups.ko fault=block-stray
	put "start test-second" "$bench/control"
	try "a run ends when a block stores a sample of an unknown variant" within 60 no_benchmark_runs
	logged "kmarkers_bench: benchmark test-second: run failed: a sample has variant 2, but there are 2 variants"
	result $? "the log names the unknown variant"
	same "status names the benchmark that failed" "$(cut -d' ' -f4- "$bench/status")" "error -22 in test-second"
	rmmod kmarkers_test_groups
	insmod /modules/example_benchmark.ko
	same "status does not name another benchmark at the same address" "$(cut -d' ' -f4- "$bench/status")" "error -22 in a removed group"
	rmmod example_benchmark
	put 100000 "$bench/config/blocks"
	refused "a run with more samples than there is memory for is not started" "Cannot allocate\|Out of memory" \
		put start "$bench/control"
	grep -q "^failed - 0/0 " "$bench/status"
	result $? "a refused run leaves the status of the last run"
}

# start_run_on_busy_cpu: start a run on a CPU that is kept busy, and print the status before
# anything is measured
start_run_on_busy_cpu() {
	put 800 /sys/module/kmarkers_test_groups/parameters/busy_ms
	taskset 2 sh -c "echo start empty-loop >$debugfs/bench/control; cat $debugfs/bench/status"
}

# While a run has not measured anything yet, status must name the benchmark of this run, and not
# that of the last run, whose module was unloaded. On a very slow machine, status is read later.
test_status_of_new_run() {
	if [ ! -e /sys/devices/system/cpu/cpu1 ]; then
		skip "status names the benchmark of the run that began" "no second CPU"
		return
	fi
	insmod /modules/kmarkers_test_groups.ko
	insmod /modules/example_benchmark.ko
	try "a benchmark of a module is measured before the module is unloaded" measure_group example-hash
	rmmod example_benchmark
	same "status names the benchmark of the run that began" "$(start_run_on_busy_cpu | cut -d' ' -f1,2)" "running empty-loop"
	put stop "$debugfs"/bench/control
	rmmod kmarkers_test_groups
}

# Benchmarks that a module does not remove must be removed and logged when the module unloads.
test_left_groups() {
	insmod /modules/kmarkers_test_groups.ko fault=left
	put 100000 "$debugfs/bench/config/blocks"
	put "start test-first" "$debugfs/bench/control"
	try "a module unloads without removing its benchmarks during a run" rmmod kmarkers_test_groups
	logged "kmarkers_bench: module kmarkers_test_groups: did not call bench_remove_group() for benchmark test-second; the benchmark is removed now, because the module's code is freed"
	result $? "the log names the benchmark that the module did not remove"
	same "the run ended when the module unloaded without removing its benchmarks" "$(cut -d' ' -f1 "$debugfs"/bench/status)" stopped
	refused "a module whose init fails does not remove its benchmarks" "No such device" \
		insmod /modules/kmarkers_test_groups.ko fault=left-failed
	logged "kmarkers_bench: module kmarkers_test_groups: did not call bench_remove_group() for benchmark test-first; the benchmark is removed now, because the module's code is freed"
	result $? "the log names the benchmark of the module whose init failed"
	has_no_group test-first && has_no_group test-second
	result $? "no benchmark of these modules is listed"
}

test_bad_groups() {
	for fault in no/name nameless one-variant many-variants no-variants twice clone loops descending few-layouts layout \
		start stop reset blocks cpu seed long-name long-variant measured no-loop lacks \
		block-alone block-samples-alone block-empty; do
		refused "a module with an invalid benchmark ($fault) does not load" "Invalid argument\|Invalid parameters" \
			insmod /modules/kmarkers_test_groups.ko fault=$fault
	done
	logged "kmarkers_bench: module kmarkers_test_groups: benchmark test-second is not added: its blocks have no samples"
	result $? "the log gives the reason of the last refusal"
	# Since 6.19, the kernel replaces EEXIST of an init function by EBUSY.
	for fault in control empty-loop test-first; do
		refused "a module with a benchmark named $fault does not load" "File exists\|resource busy" \
			insmod /modules/kmarkers_test_groups.ko fault=$fault
	done
	try "no benchmark of a refused module is listed" has_no_group test-first
}

test_bench_groups() {
	must load_bench || return
	test_example_benchmark
	test_other_orders
	test_own_blocks
	test_status_of_new_run
	test_left_groups
	test_bad_groups
	put reset "$debugfs"/bench/control
	put "blocks 100" /sys/module/kmarkers_bench/parameters/control
}
