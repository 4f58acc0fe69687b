# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The hooks of netfilter whose sites the benchmarks of whole operations measure: every variant's code
# runs for each packet, and none is left behind, in whatever order it ends.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

packets=/sys/kernel/debug/kmarkers/bench/packets-live
packets_met=/sys/kernel/debug/kmarkers/bench/hits

# ping_once: send an echo request over the loopback device, and wait for the reply
ping_once() {
	ping -c 1 -W 5 127.0.0.1 >/dev/null
}

# hits_in BENCHMARK: print how often each variant's code runs in an operation, in the order of
# variants
hits_in() {
	sed -n "s/^hits:$1:[^=]*=\([0-9]*\) in an operation.*/\1/p" /tmp/macro/live | tr '\n' ' '
}

# met VARIANT: print how many packets a hook has seen since the module was loaded
met() {
	sed -n "s/^packets-live $1 //p" "$packets_met"
}

# met_by_all: print how many packets the hooks of all variants have seen
met_by_all() {
	awk '$1 == "packets-live" { all += $3 } END { print all + 0 }' "$packets_met"
}

# kmlive_elsewhere: measure in another network namespace, which has no hook of ours
kmlive_elsewhere() {
	unshare -n sh -c "ip link set lo up && exec /kmlive 1 1 /tmp/macro macro-ping"
}

marker_hits() {
	sed -n 's/^hits //p' "$debugfs/markers/$1/stats"
}

# test_packets_sites: a ping is two packets, each of which leaves and arrives
test_packets_sites() {
	for variant in marker-generic marker-immediate marker-jump; do
		put "$variant" "$packets"
		put "bench_packet count" "$debugfs"/markers/control
		ping_once
		same "each packet of a ping meets the site of $variant" "$(marker_hits bench_packet)" 4
		put "bench_packet none" "$debugfs"/markers/control
	done
	put marker-1-probe "$packets"
	grep -q "kmarkers_bench" "$debugfs"/markers/bench_packet_probed/probe
	result $? "the marker of marker-1-probe has a probe"
	put original "$packets"
	lacks kmarkers_bench "$debugfs"/markers/bench_packet_probed/probe
	result $? "the probe leaves with its variant"
}

# test_packets_lacking: a kernel without packets refuses a hook, and kmlive names what it lacks
test_packets_lacking() {
	refused "a hook is refused where there are no packets" "No such device" put marker-jump "$packets"
	try "kmlive measures what it can" /kmlive 1 1 /tmp/macro macro-ping macro-hackbench
	same "kmlive names what the kernel lacks" \
		"$(grep -c '^lacks:macro-[a-z]*=it has no IPv4, or no netfilter$' /tmp/macro/live)" 2
	try "no samples are left of what is not there" test ! -e /tmp/macro/macro-ping.csv
	skip "exchanges of packets" "this kernel has no IPv4, or no netfilter"
}

# test_packets_leave: no hook is left by a module that is unloaded
test_packets_leave() {
	for variant in absent marker-jump marker-1-probe nop-p6; do
		try "variant $variant is selected" put "$variant" "$packets"
		ping_once
		same "the hook of $variant meets each packet" "$(met $variant)" 4
		try "kmarkers_bench unloads while the hook of $variant is there" rmmod kmarkers_bench
		try "a ping is answered after the hook of $variant has gone" ping_once
		try "kmarkers_bench loads again" insmod /modules/kmarkers_bench.ko
		ping_once
		same "no hook is there after loading" "$(met_by_all)" 0
	done
}

test_packets() {
	if [ ! -e /proc/net/dev ]; then
		skip "exchanges of packets" "this kernel has no network"
		return
	fi
	try "the loopback device is up" ip link set lo up
	if [ ! -x /kmlive ]; then
		skip "exchanges of packets" "kmlive is not built"
		return
	fi
	same "the kernel has no hook of ours at first" "$(grep '^\[' "$packets")" "[original]"
	refused "packets-live refuses a variant that is none" "Invalid argument" put nothing "$packets"
	refused "kmlive refuses a benchmark that is none" "no benchmark macro-nothing" \
		/kmlive 1 1 /tmp macro-nothing
	mkdir -p /tmp/macro
	if [ ! -e /proc/sys/net/ipv4 ] || [ ! -e /proc/net/netfilter ]; then
		test_packets_lacking
		return
	fi
	refused "kmlive refuses a variant whose code does not run" "absent: 0 hits in 64 operations" kmlive_elsewhere
	try "exchanges of packets are measured" /kmlive 1 1 /tmp/macro macro-ping macro-hackbench
	same "4 sites run in a ping and none without a hook" "$(hits_in macro-ping)" "4 4 4 4 4 4 0 "
	same "2 sites run in a message and none without a hook" "$(hits_in macro-hackbench)" \
		"2 2 2 2 2 2 2 2 2 2 2 0 "
	same "the kernel has its own code afterwards" "$(grep '^\[' "$packets")" "[original]"
	before=$(met_by_all)
	ping_once
	same "no hook is left that counts" "$(met_by_all)" "$before"
	rmmod kmarkers_bench && insmod /modules/kmarkers_bench.ko
	test_packets_sites
	rmmod kmarkers_bench && insmod /modules/kmarkers_bench.ko
	test_packets_leave
}
