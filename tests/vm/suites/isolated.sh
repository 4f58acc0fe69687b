# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Benchmarks on a CPU that the kernel keeps other tasks away from: it was booted with CPU 1 isolated.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# run_is_over: succeeds if the last run has ended with every measurement done
run_is_over() {
	grep -q "^done " "$bench"/status
}

# windows_of BENCHMARK FIELD: print the distinct values in a column of its windows
windows_of() {
	awk -F, -v field="$2" '/^[^#]/ && $1 != "benchmark" { print $field }' "$bench/$1/samples" | sort -u
}

test_isolated() {
	bench=$debugfs/bench
	same "a CPU is isolated" "$(cat /sys/devices/system/cpu/isolated)" 1
	try "few blocks" put 16 "$bench"/config/blocks
	try "the isolated CPU is chosen" put 1 "$bench"/config/cpu
	try "a run starts without the module with the sites" put "start empty-loop arm-stall" "$bench"/control
	try "the run without the module with the sites ends" within 240 run_is_over
	grep -q "^lacks:arm-stall=kmarkers_bench_sites is not loaded, or no second CPU" "$bench"/env
	result $? "a benchmark without its sites says so"
	try "the module with the sites loads" insmod /modules/kmarkers_bench_sites.ko
	try "a run on the isolated CPU starts" put "start empty-loop arm-stall" "$bench"/control
	try "the run on the isolated CPU ends" within 240 run_is_over
	same "all windows were on the isolated CPU" "$(windows_of empty-loop 7)" 1
	same "the other CPU was watched while sites were switched" "$(windows_of arm-stall 7)" 0
	try "the module with the sites unloads" rmmod kmarkers_bench_sites
}
