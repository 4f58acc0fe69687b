# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The netfilter hooks with the sites that macro-ping and macro-hackbench measure: the code of each
# variant must run for each packet, and no hook must be left when the module is unloaded.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

packets=/sys/kernel/debug/kmarkers/bench/packets-live
packets_met=/sys/kernel/debug/kmarkers/bench/hits

# ping_once: send an echo request over the loopback device, and wait for the reply
ping_once() {
	ping -c 1 -W 5 127.0.0.1 >/dev/null
}

# print_hits_per_variant BENCHMARK: print the number of times that each variant's code runs in an
# operation, in the order of the variants
print_hits_per_variant() {
	sed -n "s/^hits:$1:[^=]*=\([0-9]*\) in an operation.*/\1/p" /tmp/macro/live | tr '\n' ' '
}

# count_packets VARIANT: print the number of packets that the variant's hook got since the module
# was loaded
count_packets() {
	sed -n "s/^packets-live $1 //p" "$packets_met"
}

# count_packets_of_all: print the number of packets that the hooks of all variants got
count_packets_of_all() {
	awk '$1 == "packets-live" { all += $3 } END { print all + 0 }' "$packets_met"
}

# run_kmlive_without_hooks: run kmlive in another network namespace, in which no hook is registered
run_kmlive_without_hooks() {
	unshare -n sh -c "ip link set lo up && exec /kmlive 1 1 /tmp/macro macro-ping"
}

marker_hits() {
	sed -n 's/^hits //p' "$debugfs/markers/$1/stats"
}

# run_kmlive_with_few_files: run both benchmarks while kmlive may have 16 open files
run_kmlive_with_few_files() {
	sh -c "ulimit -n 16 && exec /kmlive 1 1 /tmp/macro macro-ping macro-hackbench"
}

# test_packets_sites: check that a ping hits a site 4 times: a ping has two packets, each of which
# is sent and received
test_packets_sites() {
	for variant in marker-generic marker-immediate marker-jump; do
		put "$variant" "$packets"
		put "bench_packet count" "$debugfs"/markers/control
		ping_once
		same "each packet of a ping hits the site of $variant twice" "$(marker_hits bench_packet)" 4
		put "bench_packet none" "$debugfs"/markers/control
	done
	put marker-1-probe "$packets"
	grep -q "kmarkers_bench" "$debugfs"/markers/bench_packet_probed/probe
	result $? "the marker of marker-1-probe has a probe"
	put original "$packets"
	lacks kmarkers_bench "$debugfs"/markers/bench_packet_probed/probe
	result $? "the probe is disconnected with its variant"
}

# test_packets_lacking: check a kernel without IPv4 or netfilter, in which hooks cannot be
# registered
test_packets_lacking() {
	refused "a hook is refused in a kernel without IPv4 or netfilter" "No such device" put marker-jump "$packets"
	try "kmlive succeeds although benchmarks are not supported" /kmlive 1 1 /tmp/macro macro-ping macro-hackbench
	same "kmlive names the missing feature for both benchmarks" \
		"$(grep -c '^lacks:macro-[a-z]*=the kernel has no IPv4 or no netfilter$' /tmp/macro/live)" 2
	try "kmlive writes no samples of a benchmark that is not supported" test ! -e /tmp/macro/macro-ping.csv
	skip "benchmarks with packets" "this kernel has no IPv4, or no netfilter"
}

# test_packets_leave: check that an unloaded module leaves no hook
test_packets_leave() {
	for variant in absent marker-jump marker-1-probe nop-p6; do
		try "variant $variant is selected" put "$variant" "$packets"
		ping_once
		same "the hook of $variant gets each packet of a ping twice" "$(count_packets $variant)" 4
		try "kmarkers_bench unloads while the hook of $variant is registered" rmmod kmarkers_bench
		try "a ping is answered after the hook of $variant was unloaded" ping_once
		try "kmarkers_bench loads again after the hook of $variant" insmod /modules/kmarkers_bench.ko
		ping_once
		same "no hook is registered after loading" "$(count_packets_of_all)" 0
	done
}

test_packets() {
	must load_bench || return
	if [ ! -e /proc/net/dev ]; then
		skip "benchmarks with packets" "this kernel has no network"
		return
	fi
	try "the loopback device is up" ip link set lo up
	if [ ! -x /kmlive ]; then
		skip "benchmarks with packets" "kmlive is not built"
		return
	fi
	same "no hook is registered at first" "$(grep '^\[' "$packets")" "[original]"
	refused "packets-live refuses an unknown variant" "Invalid argument" put nothing "$packets"
	refused "kmlive refuses an unknown benchmark" "no benchmark named 'macro-nothing'" \
		/kmlive 1 1 /tmp macro-nothing
	for words in "1 1 /tmp" "0 1 /tmp macro-ping" "100001 1 /tmp macro-ping" "attach 1 1"; do
		# shellcheck disable=SC2086 # they are words
		refused "kmlive refuses the arguments '$words'" "^usage: kmlive BLOCKS SEED DIR" /kmlive $words
	done
	mkdir -p /tmp/macro
	if [ ! -e /proc/sys/net/ipv4 ] || [ ! -e /proc/net/netfilter ]; then
		test_packets_lacking
		return
	fi
	refused "kmlive refuses a variant whose code does not run" "variant absent: the hook ran 0 times in 64 operations" run_kmlive_without_hooks
	try "kmlive measures both benchmarks with packets, with few open files" run_kmlive_with_few_files
	same "4 sites are executed in a ping and none without a hook" "$(print_hits_per_variant macro-ping)" "4 4 4 4 4 4 0 "
	same "2 sites are executed in a message and none without a hook" "$(print_hits_per_variant macro-hackbench)" \
		"2 2 2 2 2 2 2 2 2 2 2 0 "
	same "no hook is registered after the measurement" "$(grep '^\[' "$packets")" "[original]"
	before=$(count_packets_of_all)
	ping_once
	same "no hook counts packets after the measurement" "$(count_packets_of_all)" "$before"
	rmmod kmarkers_bench && insmod /modules/kmarkers_bench.ko
	test_packets_sites
	rmmod kmarkers_bench && insmod /modules/kmarkers_bench.ko
	test_packets_leave
}
