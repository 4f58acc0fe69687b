# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The debugfs files of kmarkers_bench: configuration, start and stop of runs, samples and summaries.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# not_running: succeeds if no benchmark is running
not_running() {
	grep -q "^\(idle\|done\|stopped\|failed\) " "$bench"/status
}

# print_summary BENCHMARK: compute the summary of the benchmark from its samples, and print it. For
# each variant, a slope is fitted to the three windows of each block; blocks with a flagged window
# are left out.
print_summary() {
	awk -F '[, ]' '
		function milli(x) {
			x += 0
			size = x < 0 ? -x : x
			return sprintf(" %s%d.%03d", x < 0 ? "-" : "", int(size / 1000), size % 1000)
		}
		FNR == NR && /^[^#b]/ {
			ticks[++taken] = $10
			loops[taken] = $8
			flags = flags $13
			if (taken < 3)
				next
			disturbed[$2] += flags != ""
			good = flags == ""
			flags = ""
			top = bottom = taken = 0
			for (i = 1; i <= 3; i++) {
				away = 3 * loops[i] - loops[1] - loops[2] - loops[3]
				top += away * (3 * ticks[i] - ticks[1] - ticks[2] - ticks[3])
				bottom += away * away
			}
			x = int(top * 1000 / bottom)
		}
		FNR == NR && /^[^#b]/ && good {
			for (i = n[$2]++; i > 0 && slope[$2, i - 1] > x; i--)
				slope[$2, i] = slope[$2, i - 1]
			slope[$2, i] = x
		}
		FNR < NR {
			print $1, n[$1] + 0, disturbed[$1] + 0 milli(slope[$1, 0]) \
				milli(slope[$1, int(n[$1] / 2)]) milli(slope[$1, n[$1] - 1])
		}' "$bench/$1/samples" /tmp/summary
}

# has_measured_windows: succeeds if at least one window of the run has been measured
has_measured_windows() {
	grep -q "^running [^ ]* [1-9]" "$bench"/status
}

switch_marker_on_while_running() {
	put "bench_memcpy count" "$debugfs"/markers/control && within 60 not_running
}

# test_bench_dormant SAMPLES: check that no benchmark runs while one of the markers that it measures
# in the off state is on. SAMPLES is the number of samples of empty-loop.
test_bench_dormant() {
	control=$debugfs/markers/control
	try "a marker of the benchmarks is switched on" put "bench_memcpy count" "$control"
	refused "control refuses start while the marker is on" "busy" put "start empty-loop" "$bench"/control
	logged "kmarkers_bench: benchmark run not started: marker bench_memcpy is enabled"
	result $? "the log names the marker that is on"
	same "the refused start leaves the samples unchanged" "$(grep -c '^empty-loop,' "$bench"/empty-loop/samples)" "$1"
	try "the marker of the benchmarks is switched off" put "bench_memcpy none" "$control"
	try "a benchmark that switches its own markers on starts" put "start marker-enabled empty-loop" "$bench"/control
	try "the benchmark that switches its own markers ends" within 60 not_running
	same "status shows that the benchmark is done" "$(cut -d' ' -f1 "$bench"/status)" "done"
	try "config takes 100000 blocks" put 100000 "$bench"/config/blocks
	try "a long run starts" put "start empty-loop" "$bench"/control
	try "status shows the number of measured windows during the long run" within 60 has_measured_windows
	try "the long run ends when a marker is switched on" switch_marker_on_while_running
	logged "kmarkers_bench: benchmark run failed: marker bench_memcpy is enabled"
	result $? "the log names the marker that ended the run"
	grep -q "^failed - .* error -16 in empty-loop$" "$bench"/status
	result $? "status shows that the run failed"
	try "the marker that ended the run is switched off" put "bench_memcpy none" "$control"
}

# test_bench_offline SAMPLES: check that no benchmark starts on a CPU that is offline. SAMPLES is
# the number of samples of empty-loop.
test_bench_offline() {
	online=/sys/devices/system/cpu/cpu1/online
	if [ ! -e $online ]; then
		skip "a run on an offline CPU is refused" "no second CPU that can go offline"
		return
	fi
	try "config takes the second CPU" put 1 "$bench"/config/cpu
	same "the second CPU goes offline" "$(put 0 $online && cat $online)" 0
	refused "a run on an offline CPU is refused" "Invalid argument" put "start empty-loop" "$bench"/control
	logged "kmarkers_bench: benchmark run not started: CPU 1 is offline"
	result $? "the log says that the CPU is offline"
	same "the run that was refused leaves the samples unchanged" "$(grep -c '^empty-loop,' "$bench"/empty-loop/samples)" "$1"
	same "the second CPU goes online again" "$(put 1 $online && cat $online)" 1
	try "a run on the second CPU starts" put "start empty-loop" "$bench"/control
	try "the run on the second CPU ends" within 60 not_running
	same "the windows of the last run were measured on the second CPU" "$(awk -F, '/^empty-loop/ { print $7 }' "$bench"/empty-loop/samples | sort -u)" 1
	try "config takes the first CPU" put 0 "$bench"/config/cpu
}

# attach_and_kill_shell FILE: start a shell that attaches BPF programs, writes their kprobes to
# FILE, and kills itself. What is not attached is in /tmp/unattached; /tmp/fentry lists the function
# with a program at its entry.
attach_and_kill_shell() {
	sh -c "/kmlive attach \$\$ >/tmp/keeper 2>/tmp/unattached && grep kmarkers_bench_bpf_kprobe /sys/kernel/debug/kprobes/list >$1
		grep '^int_sqrt ' $tracing/enabled_functions >/tmp/fentry; kill -KILL \$\$"
	[ -s "$1" ]
}

# fentry_is_missing: succeeds if no program is at the entry of the function
fentry_is_missing() {
	lacks "^int_sqrt " "$tracing"/enabled_functions
}

# test_bench_attach: check that kmlive attaches BPF programs only for an existing process, and that
# the programs are detached when the process ends.
test_bench_attach() {
	probes=/sys/kernel/debug/kprobes/list
	if [ ! -x /kmlive ]; then
		skip "BPF programs are detached when the process that attached them ends" "kmlive is not built"
		return
	fi
	if [ ! -e /proc/sys/kernel/unprivileged_bpf_disabled ]; then
		skip "BPF programs are detached when the process that attached them ends" "this kernel runs none"
		return
	fi
	refused "BPF programs are not attached for an unknown process ID" "No such process" /kmlive attach 4194304
	lacks kmarkers_bench_bpf_kprobe $probes
	result $? "an unknown process ID leaves no BPF program attached"
	try "BPF programs are attached for a shell" attach_and_kill_shell /tmp/attached
	if [ -e /sys/kernel/btf/vmlinux ] && [ -r "$tracing"/enabled_functions ]; then
		same "every BPF program is attached" "$(cat /tmp/unattached)" ""
		[ -s /tmp/fentry ]
		result $? "a BPF program is attached to the entry of a function"
		try "this program is detached when the shell is killed" within 20 fentry_is_missing
	else
		skip "a BPF program is attached to the entry of a function" "this kernel has no types for BPF"
	fi
	try "BPF programs are detached when their shell is killed" within 20 lacks kmarkers_bench_bpf_kprobe $probes
}

# run_one_block GROUP: measure one block of the benchmark; succeeds if the run ends
run_one_block() {
	put 1 "$bench"/config/blocks && put "start $1" "$bench"/control && within 60 not_running
}

# peers_are_registered: succeeds if the kernel lists a kprobe for each variant with a kprobe in
# /tmp/peers, the summary of peers-enabled, and an ftrace client for the variant with ftrace
peers_are_registered() {
	[ "$(grep -c "called_[a-z0-9_]*+.*kmarkers_bench" "$kprobes")" = "$(grep -c "^kprobe-" /tmp/peers)" ] &&
		{ lacks "^ftrace-hook " /tmp/peers || grep -q "^called_ftrace " "$tracing"/enabled_functions; }
}

# no_peer_is_registered: succeeds if the kernel lists neither a kprobe nor an ftrace client in
# functions of kmarkers_bench
no_peer_is_registered() {
	! grep -q kmarkers_bench "$kprobes" && ! grep -q "^called_" "$tracing"/enabled_functions 2>/dev/null
}

# test_bench_peers: check that the kprobes and the ftrace client that the benchmark peers-enabled
# measures are registered while it runs, and only then.
test_bench_peers() {
	kprobes=/sys/kernel/debug/kprobes/list
	try "a block of peers-enabled is measured" run_one_block peers-enabled
	same "status shows that peers-enabled is done" "$(cut -d' ' -f1 "$bench"/status)" "done"
	try "peers-enabled leaves no kprobe and no ftrace client registered" no_peer_is_registered
	cp "$bench"/peers-enabled/summary /tmp/peers
	put 100000 "$bench"/config/blocks
	put "start peers-enabled" "$bench"/control
	try "kprobes and the ftrace client are registered while peers-enabled runs" within 20 peers_are_registered
	same "peers-enabled was still running then" "$(cut -d' ' -f1 "$bench"/status)" running
	put stop "$bench"/control
	try "no kprobe and no ftrace client is left when peers-enabled is stopped" no_peer_is_registered
	[ ! -d "$bench"/peer-kprobe-optimised ] || run_one_block peer-kprobe-optimised
	try "peer-kprobe-optimised leaves no kprobe registered" no_peer_is_registered
}

# print_env NAME: print the value with that name in bench/env
print_env() {
	sed -n "s/^$1=//p" "$bench"/env
}

test_bench_env() {
	same "env begins with the machine and the settings" "$(sed 's/=.*//' "$bench"/env | head -n 11 | tr '\n' ' ')" \
		"kernel cpu_model microcode cpus tsc_khz hypervisor emulated cycles blocks cpu seed "
	same "env has the release of the kernel" "$(print_env kernel)" "$(uname -r)"
	same "env has the model of the CPU" "$(print_env cpu_model)" "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
	same "env has the number of CPUs" "$(print_env cpus)" "$(grep -c "^processor" /proc/cpuinfo)"
	same "env has the settings" "$(print_env blocks) $(print_env cpu) $(print_env seed)" "100 0 1"
	lacks "^lacks:" "$bench"/env
	result $? "env names no benchmark that cannot be measured before the first run"
}

test_bench() {
	must load_bench || return
	bench=$debugfs/bench
	[ -s /sys/module/kmarkers_bench/version ] && [ -s /sys/module/kmarkers_bench/srcversion ]
	result $? "kmarkers_bench has a version and a hash of its sources"
	test_bench_attach
	test_bench_env
	same "status is idle before the first run" "$(cut -d' ' -f1 "$bench"/status)" idle
	for word in nothing "start nothing" "stop now" "start stop" "" "empty-loop start"; do
		refused "control refuses '$word'" "Invalid argument" put "$word" "$bench"/control
	done
	same "refused commands start no benchmark" "$(cut -d' ' -f1 "$bench"/status)" idle
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
	refused "getppid-live refuses a name followed by more bytes" "Invalid argument" \
		put_raw 'original\0x' "$bench"/getppid-live
	same "refused values leave config/blocks unchanged" "$(cat "$bench"/config/blocks)" 100
	same "refused values leave config/cpu unchanged" "$(cat "$bench"/config/cpu)" 0
	same "refused values leave config/seed unchanged" "$(cat "$bench"/config/seed)" 1
	try "config takes 20000 blocks" put 20000 "$bench"/config/blocks
	try "a run starts" put "start memcpy-4096" "$bench"/control
	refused "control refuses a second start while running" "busy" put "start empty-loop" "$bench"/control
	refused "control refuses reset while running" "busy" put reset "$bench"/control
	refused "config refuses blocks while running" "busy" put 3 "$bench"/config/blocks
	try "samples can be read while running" grep -q "^# schema=2" "$bench"/memcpy-4096/samples
	try "stop ends the run" put stop "$bench"/control
	same "status is stopped after stop" "$(cut -d' ' -f1 "$bench"/status)" stopped
	try "a run starts after stop" put "memcpy-4096" "$bench"/control
	try "kmarkers_bench unloads while running" rmmod kmarkers_bench
	refused "kmarkers_bench does not load with a bad parameter" "Invalid argument" insmod /modules/kmarkers_bench.ko blocks=0
	refused "a command in the parameter control at load time is refused" "No such device" \
		insmod /modules/kmarkers_bench.ko control=reset
	try "kmarkers_bench loads with a parameter" insmod /modules/kmarkers_bench.ko blocks=3
	try "a run of empty-loop and cold-branch starts" put "empty-loop cold-branch" "$bench"/control
	try "the run of empty-loop and cold-branch ends" within 60 not_running
	grep -q '^done - \([0-9]*\)/\1$' "$bench"/status
	result $? "status shows that every window was measured"
	# 3 blocks of 3 windows of each variant; the first line of the summary is its head.
	samples=$((9 * ($(wc -l <"$bench"/empty-loop/summary) - 1)))
	same "the samples have all windows of 3 blocks" "$(grep -c '^empty-loop,' "$bench"/empty-loop/samples)" $samples
	tail -n +2 "$bench"/empty-loop/summary >/tmp/summary
	same "the summary agrees with the samples" "$(print_summary empty-loop)" "$(cat /tmp/summary)"
	awk '{ good += $2; bad += $3 } END { exit !(good > bad) }' /tmp/summary
	result $? "the summary shows that most blocks were undisturbed"
	test_bench_dormant $samples
	try "config takes 3 blocks" put 3 "$bench"/config/blocks
	exec 3<"$bench"/empty-loop/samples
	read -r _ <&3
	try "a run of three blocks starts" put "start empty-loop" "$bench"/control
	try "the run of three blocks ends" within 60 not_running
	refused "a samples file that was opened before a new run cannot be read any more" "[Ss]tale" cat <&3
	exec 3<&-
	test_bench_offline $samples
	insmod /modules/kmarkers_bench_sites.ko
	try "config takes 1 block" put 1 "$bench"/config/blocks
	for turn in first second; do
		try "the benchmark arm-stall starts, the $turn time" put "start arm-stall" "$bench"/control
		try "the benchmark arm-stall ends, the $turn time" within 60 not_running
		grep -q '^done - \([0-9]*\)/\1$' "$bench"/status
		result $? "every site is in the expected state, the $turn time"
	done
	# Check that the variant stop-machine-stall is measured, because its time is compared with a
	# published number. The counts of instructions lack this variant, which needs two CPUs.
	grep -q "^arm-stall,stop-machine-stall," "$bench"/arm-stall/samples
	result $? "arm-stall measures the stall of stop_machine()"
	try "kmarkers_bench_sites unloads" rmmod kmarkers_bench_sites
	test_bench_peers
	try "control takes reset" put reset "$bench"/control
	same "reset removes the samples" "$(grep -c '^empty-loop,' "$bench"/empty-loop/samples)" 0
}
