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

test_bad_groups() {
	for fault in no/name nameless one-variant many-variants no-variants twice clone loops descending few-layouts layout; do
		refused "a module whose benchmark is bad ($fault) does not load" "Invalid argument\|Invalid parameters" \
			insmod /modules/kmarkers_test_groups.ko fault=$fault
	done
	logged "kmarkers_bench: kmarkers_test_groups: benchmark test-second: a variant lacks a layout"
	result $? "the log says what is bad"
	# Kernels from 6.19 on keep EEXIST for modules that are loaded already.
	for fault in control empty-loop test-first; do
		refused "a module with a benchmark named $fault does not load" "File exists\|resource busy" \
			insmod /modules/kmarkers_test_groups.ko fault=$fault
	done
	try "no benchmark of a refused module is left" has_no_group test-first
}

test_bench_groups() {
	test_example_benchmark
	test_other_orders
	test_bad_groups
	put reset "$debugfs"/bench/control
	put "blocks 100" /sys/module/kmarkers_bench/parameters/control
}
