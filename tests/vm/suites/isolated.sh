# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Benchmarks on an isolated CPU: the kernel was booted with isolcpus=1.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# run_is_over: succeeds if the last run has ended without an error
run_is_over() {
	grep -q "^done " "$bench"/status
}

# list_window_values BENCHMARK FIELD: print the distinct values of a column in the samples of the
# benchmark
list_window_values() {
	awk -F, -v field="$2" '/^[^#]/ && $1 != "benchmark" { print $field }' "$bench/$1/samples" | sort -u
}

test_isolated() {
	must load_bench || return
	bench=$debugfs/bench
	same "CPU 1 is isolated" "$(cat /sys/devices/system/cpu/isolated)" 1
	try "config takes 16 blocks" put 16 "$bench"/config/blocks
	try "config takes the isolated CPU" put 1 "$bench"/config/cpu
	try "a run starts without kmarkers_bench_sites" put "start empty-loop arm-stall" "$bench"/control
	try "the run without kmarkers_bench_sites ends" within 240 run_is_over
	grep -q "^lacks:arm-stall=kmarkers_bench_sites is not loaded, or no second CPU" "$bench"/env
	result $? "env says that arm-stall lacks kmarkers_bench_sites"
	try "kmarkers_bench_sites loads" insmod /modules/kmarkers_bench_sites.ko
	try "a run on the isolated CPU starts" put "start empty-loop arm-stall" "$bench"/control
	try "the run on the isolated CPU ends" within 240 run_is_over
	same "all windows of empty-loop were measured on the isolated CPU" "$(list_window_values empty-loop 7)" 1
	same "arm-stall measured the stall of the other CPU" "$(list_window_values arm-stall 7)" 0
	try "kmarkers_bench_sites unloads" rmmod kmarkers_bench_sites
}
