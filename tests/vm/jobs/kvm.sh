#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs commands of this checkout in a guest that uses this machine's root directory (see
# scripts/guest/host.sh). KMARKERS_PART is a part of the test: kvm-choice, kvm-guests or bench-host.
# For each step, the output and the exit code are written to STEP.log and STEP.code in
# KMARKERS_HOST_OUTPUT; scripts/kmtools/suites/kvm.py has the expected output and exit codes. The
# part kvm-guests runs the suites KMARKERS_GUEST_SUITES in a test kernel, for at most
# KMARKERS_GUEST_SECONDS.

kernel=$KMARKERS_HOST_KERNEL output=$KMARKERS_HOST_OUTPUT
verdicts=$KMARKERS_CACHE/accel.json
trial=$KMARKERS_CACHE/kvm/$kernel
status=/sys/kernel/debug/kmarkers/bench/status
# ID of the user "nobody", for commands that are run without the rights of root.
user=65534

# run_step NAME COMMAND...: run a command, and store its output and its exit code
run_step() {
	local name=$1 began=$SECONDS code=0
	shift
	"$@" </dev/null >"$output/$name.log" 2>&1 || code=$?
	echo $code >"$output/$name.code"
	echo "# step $name: exit code $code after $((SECONDS - began)) s"
}

# print_chosen_accelerator: choose KVM or emulation as root, and print the choice
print_chosen_accelerator() {
	scripts/kmarkers vm accel --kernel "$kernel"
}

# force_kvm: choose KVM or fail
force_kvm() {
	KMARKERS_ACCEL=kvm print_chosen_accelerator
}

# as_user COMMAND...: run a command as a user who is not root
as_user() {
	setpriv --reuid=$user --regid=$user --clear-groups "$@"
}

# choose_accelerator_as_user [VARIABLE=VALUE...]: choose the accelerator as a user who is not root
choose_accelerator_as_user() {
	if ! as_user test -r scripts/kmarkers -a -r "$KMARKERS_CACHE"; then
		echo "SKIP a user who is not root cannot read this checkout or KMARKERS_CACHE"
		return
	fi
	as_user env "$@" scripts/kmarkers vm accel --kernel "$kernel"
}

# stop_qemu: stop the QEMU of a trial boot as soon as its kernel has printed something
stop_qemu() {
	until [[ -s $trial/console.log ]]; do sleep 0.2; done
	pkill -STOP -f -- '-accel kvm'
}

# list_stored_verdicts: print the stored verdicts about kernels
list_stored_verdicts() {
	[[ ! -e $verdicts ]] || cat "$verdicts"
}

run_kvm-choice() {
	mv /dev/kvm /dev/kvm.away
	run_step absent print_chosen_accelerator
	run_step absent-forced force_kvm
	: >/dev/kvm
	run_step plain-file-forced force_kvm
	rm /dev/kvm
	mknod -m 666 /dev/kvm c 1 3
	run_step other-device print_chosen_accelerator
	run_step other-device-forced force_kvm
	mv /dev/kvm.away /dev/kvm
	chmod 0 /dev/kvm
	run_step no-access choose_accelerator_as_user
	run_step no-access-forced choose_accelerator_as_user KMARKERS_ACCEL=kvm
	chmod 600 /dev/kvm
	rm -rf "$trial"
	stop_qemu &
	local stopper=$!
	run_step time-out-forced force_kvm
	kill $stopper
	wait $stopper
	run_step time-out-verdicts list_stored_verdicts
	run_step chosen print_chosen_accelerator
	run_step chosen-again print_chosen_accelerator
}

# write_guest_job: write the job of a test kernel, which runs suites with the shortest storms
write_guest_job() {
	cat >/tmp/kvm-job <<-EOF
		export KMARKERS_BATCHES=30 KMARKERS_CYCLES=3 KMARKERS_SAMPLES=4
		export KMARKERS_ORDERS="" KMARKERS_SAMPLE="many_*[05]0"
		export KMARKERS_SUITES="$KMARKERS_GUEST_SUITES"
		. /tests/jobs/check.sh
	EOF
}

run_kvm-guests() {
	write_guest_job
	run_step suites scripts/kmarkers vm run --kernel "$kernel" --modules "build/modules/$kernel" \
		--job /tmp/kvm-job --add tests/vm:/tests --add examples/reader:/examples \
		--out "$output/suites" --timeout "$KMARKERS_GUEST_SECONDS"
	run_step bench scripts/kmarkers bench --quick --tiers vm --kernel "$kernel"
	cp results/local/latest/env.json "$output"
	run_step table scripts/kmarkers table results/local/latest --tier vm
}

# copy_modules: copy the modules to where `make modules` builds them
copy_modules() {
	local folder name names
	for folder in $(sed -n 's/^obj-m += //p' Kbuild | tr -d /); do
		names=$(sed -n 's/^obj-m [:+]= //p' "$folder/Kbuild")
		# shellcheck disable=SC2086 # $names is split into words
		for name in $names; do cp "build/modules/$kernel/${name%.o}.ko" "$folder/"; done
	done
}

# limit_bench_blocks BLOCKS: replace the Python interpreter that scripts/host runs by a script,
# which limits each benchmark in the kernel to this number of blocks
limit_bench_blocks() {
	rm -f build/venv/bin/python
	cat >build/venv/bin/python <<-EOF
		#!/bin/bash
		exec build/venv/bin/python3 "\$@" --tiers=metal --benchmarks=empty-loop --blocks=$1
	EOF
	chmod +x build/venv/bin/python
}

# bench_in_terminal TREE ANSWER: run scripts/host of a source tree in a terminal, and answer its
# question
bench_in_terminal() {
	script --quiet --return --command "$1/scripts/host -f bench" /dev/null <<<"$2"
}

# copy_sources TREE: copy this checkout, with the modules, but without the git directory, as from an
# unpacked source package. The copy uses the programs and tools that this checkout has built.
copy_sources() {
	mkdir "$1"
	tar -cf - --exclude=./.git --exclude=./build --exclude=./results/local . | tar -C "$1" -xf -
	ln -s "$PWD/build" "$1/build"
}

# interrupt_bench: run scripts/host in a process group of its own, and send SIGINT to the group, as
# Ctrl-C does, when a benchmark runs; return the exit code of the script
interrupt_bench() {
	set -m
	scripts/host -y -f bench &
	set +m
	until grep -qs '^running' $status; do
		kill -0 $! || break
		sleep 0.2
	done
	kill -INT -- -$!
	wait $!
}

# list_kmarkers_modules: print the loaded modules of kmarkers; succeeds if there is none
list_kmarkers_modules() {
	! grep ^kmarkers_ /proc/modules
}

# measure_rounds MARKER OFF ON COMMAND...: measure COMMAND in two rounds. In each round, the shell
# commands OFF and ON switch sites that COMMAND executes; ON also starts to count the hits of MARKER.
# Print the number of hits since the last ON; fail if the number is 0.
measure_rounds() {
	local marker=$1 off=$2 on=$3 hits
	shift 3
	if ! command -v "$1" >/dev/null; then
		echo "SKIP $1 is not installed"
		return
	fi
	scripts/kmarkers macro --times /tmp/macro.csv --runs 2 --off "$off" --on "$on" -- "$@" || return
	hits=$(sed -n 's/^hits //p' "/sys/kernel/debug/kmarkers/markers/$marker/stats")
	echo "hits of $marker: $hits"
	[[ $hits =~ ^[1-9][0-9]*$ ]]
}

run_bench-host() {
	local bench=/sys/module/kmarkers_bench/parameters/control
	local markers=/sys/module/kmarkers_markers/parameters/control

	copy_modules
	run_step unattended scripts/host -f bench
	run_step loaded scripts/host -y -f load --bench
	run_step macro-syscall measure_rounds live_getppid_entry \
		"echo 'live_getppid_* none' >$markers && echo getppid-live compiled-out >$bench" \
		"echo getppid-live jump >$bench && echo 'live_getppid_* count' >$markers" \
		perf bench syscall basic -l 1000
	echo getppid-live original >$bench
	echo attach unix_stream_sendmsg >$markers
	run_step macro-messaging measure_rounds unix_stream_sendmsg \
		"echo unix_stream_sendmsg none >$markers" "echo unix_stream_sendmsg count >$markers" \
		perf bench sched messaging -g 1 -l 10
	echo detach unix_stream_sendmsg >$markers
	echo attach handle_mm_fault >$markers
	run_step macro-compile measure_rounds handle_mm_fault \
		"echo handle_mm_fault none >$markers" "echo handle_mm_fault count >$markers" \
		make -sBC native OUT=/tmp/whole /tmp/whole/sdt/list.o
	echo detach handle_mm_fault >$markers
	run_step unloaded scripts/host -y unload
	run_step no-module-left list_kmarkers_modules
	limit_bench_blocks 8
	run_step measured scripts/host -y -f bench
	run_step measured-unloaded list_kmarkers_modules
	cp results/local/latest/{env.json,report.html} "$output"
	copy_sources /tmp/sources
	run_step terminal-declined bench_in_terminal . n
	run_step terminal-declined-unloaded list_kmarkers_modules
	run_step terminal-measured bench_in_terminal /tmp/sources y
	run_step terminal-measured-unloaded list_kmarkers_modules
	run_step terminal-report grep -o 'the kernel of a virtual machine, emulated' /tmp/sources/results/local/latest/report.html
	limit_bench_blocks 20000
	run_step interrupted interrupt_bench
	run_step interrupted-unloaded list_kmarkers_modules
}

rm -f "$verdicts" results/local/latest
# The host treats a guest without output as hung, so print a line every 20 s.
while sleep 20; do echo "# kvm.sh has been running for $SECONDS s"; done &
alive=$!
"run_$KMARKERS_PART"
kill $alive
