# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Functions for the scripts that run inside a test kernel. Results go to standard output, as KTAP.
# A test also fails if the kernel logs a fault during the test.

# Several scripts source this file; its commands are executed only once.
[ -z "${number-}" ] || return 0

debugfs=/sys/kernel/debug/kmarkers
# shellcheck disable=SC2034 # for the scripts that source this
tracing=/sys/kernel/tracing
cases=/sys/kernel/debug/kmarkers_test
case_to_run=/sys/module/kmarkers_test/parameters/run
# Under Secure Boot the control file in debugfs cannot be written, but this parameter can.
# shellcheck disable=SC2034 # for the scripts that source this
entry_control=/sys/module/kmarkers_entry/parameters/control
core="kmarkers_patcher kmarkers_events kmarkers_immediate kmarkers_markers kmarkers_sdt kmarkers_entry"
log=/tmp/log
number=0
failures=0

# begin_suite NAME: print the heading of a suite and the times since boot; the results below the
# heading belong to that suite
begin_suite() {
	read -r uptime _ </proc/uptime
	read -r _ user nice system _ </proc/stat
	echo "# suite: $1"
	echo "# uptime: $uptime s, of which CPUs worked $(((user + nice + system) / 100)) s"
}

# run_suite NAME: source suites/NAME.sh, and call its test_NAME. Unload kmarkers_bench if the suite
# leaves it loaded: kmarkers_bench uses kmarkers_sdt, which later suites unload.
run_suite() {
	begin_suite "$1"
	must [ -r "/tests/suites/$1.sh" ] || return
	# shellcheck source=/dev/null # the name is only known at run time
	. "/tests/suites/$1.sh"
	loaded kmarkers_bench
	bench_was_loaded=$?
	"test_$1"
	[ "$bench_was_loaded" -eq 0 ] || ! loaded kmarkers_bench ||
		{ rmmod kmarkers_bench && log_is_clean; } ||
		result 1 "kmarkers_bench unloads after the suite"
}

# log_is_clean: write the kernel's log since the last call to $log; succeeds if the log reports no
# fault. A line is a fault if it matches a pattern of /etc/dirt and none of /etc/clean. The host
# checks the console by the same patterns.
log_is_clean() {
	dmesg -c >"$log"
	[ -s "$log" ] || return 0
	faults=$(grep -E -f /etc/dirt "$log" | grep -v -E -f /etc/clean)
	[ -z "$faults" ] && return
	echo "$faults" | sed 's/^/# kernel log: /'
	return 1
}

# logged PATTERN: succeeds if the kernel logged a line that matches PATTERN during the last test
logged() {
	grep -q "$1" "$log"
}

# print_elapsed: print the number of seconds since the last result, unless it is 0 or 1
print_elapsed() {
	read -r now _ </proc/uptime
	waited=$((${now%.*} - since))
	[ $waited -lt 2 ] || echo "# took $waited s"
	since=${now%.*}
}
since=0

# result CODE NAME: print the result of a test as a KTAP line; it passes if CODE is 0 and the kernel
# logged no fault. If KMARKERS_STOP is set, the first failed result ends the job.
result() {
	number=$((number + 1))
	print_elapsed
	if log_is_clean && [ "$1" -eq 0 ]; then
		echo "ok $number $2"
	else
		echo "not ok $number $2"
		failures=$((failures + 1))
		[ -z "${KMARKERS_STOP-}" ] || finish
	fi
}

# skip NAME REASON: print the result of a skipped test
skip() {
	number=$((number + 1))
	echo "ok $number $1 # SKIP $2"
}

# try NAME COMMAND...: a test that passes if the command succeeds
try() {
	name=$1
	shift
	"$@"
	result $? "$name"
}

# fails_with ERROR COMMAND...: succeeds if the command fails and its output matches ERROR
fails_with() {
	error=$1
	shift
	if said=$("$@" 2>&1); then
		echo "# the command succeeded, but must fail: $*"
		return 1
	fi
	echo "$said" | grep -q "$error" && return
	echo "# the output of the failed command does not match '$error': $said"
	return 1
}

# must COMMAND...: run a command that the suite requires; print a failed result if the command fails
must() {
	"$@" && return
	result 1 "the suite cannot continue, because this command failed: $*"
	return 1
}

# can_record NAME: succeeds if the compiler that built this kernel can record function entries; else
# skips test NAME
can_record() {
	grep -q "clang version" /proc/version || return 0
	skip "$1" "clang, which built this kernel, records no functions"
	return 1
}

# refused NAME ERROR COMMAND...: a test that passes if the command fails and its output matches
# ERROR
refused() {
	name=$1
	shift
	fails_with "$@"
	result $? "$name"
}

# lacks PATTERN FILE: succeeds if the file can be read and none of its lines matches PATTERN
lacks() {
	[ -r "$2" ] && ! grep -q "$1" "$2"
}

# put TEXT FILE: write a line to a file
put() {
	echo "$1" >"$2"
}

# put_raw FORMAT FILE: write the output of "printf FORMAT 0" to a file in a single write
put_raw() {
	# shellcheck disable=SC2059 # the argument is a format
	printf "$1" 0 >/tmp/raw
	dd if=/tmp/raw of="$2" bs=1M conv=notrunc 2>/tmp/said && return
	cat /tmp/said
	return 1
}

# same NAME GOT WANTED: a test that passes if both texts are equal
same() {
	[ "$2" = "$3" ] || echo "# $1: got '$2', wanted '$3'"
	[ "$2" = "$3" ]
	result $? "$1"
}

# within SECONDS COMMAND...: repeat the command until it succeeds; fails after SECONDS
within() {
	left=$(($1 * 10))
	shift
	until "$@"; do
		[ "$left" -gt 0 ] || return 1
		left=$((left - 1))
		sleep 0.1
	done
}

# patcher_stat NAME: print the number with that name in patcher/stats
patcher_stat() {
	sed -n "s/^$1 //p" "$debugfs"/patcher/stats
}

# hashes_are_freed: succeeds if the trace shows the release of each hash of ftrace whose allocation
# it shows. /tmp/hashes collects allocations and releases, because the trace may lose old records.
hashes_are_freed() {
	sed -n 's/.* \(kmalloc\): call_site=[a-z_]*ftrace_hash+[^ ]* ptr=\([^ ]*\).*/\1 \2/p
		s/.* \(kfree\): .* ptr=\([^ ]*\).*/\1 \2/p' "$tracing"/trace >>/tmp/hashes
	awk '$1 == "kmalloc" { held[$2] = 1 }
		$1 == "kfree" { delete held[$2] }
		END { for (hash in held) exit 1 }' /tmp/hashes
}

# check_filters_are_freed NAME COMMAND...: a test that passes if each hash that the command
# allocates is freed, either at once or after a grace period. ftrace keeps the functions of a filter
# in a hash.
check_filters_are_freed() {
	name=$1
	shift
	: >/tmp/hashes
	echo >"$tracing"/trace
	put 1 "$tracing"/events/kmem/kfree/enable
	put 1 "$tracing"/events/kmem/kmalloc/enable
	"$@"
	code=$?
	put 0 "$tracing"/events/kmem/kmalloc/enable
	# Read the trace only a few times, because reading the trace adds records.
	freed=1
	for _ in 1 2 3 4 5; do
		hashes_are_freed && freed=0 && break
		sleep 0.5
	done
	put 0 "$tracing"/events/kmem/kfree/enable
	echo >"$tracing"/trace
	if ! grep -q "^kmalloc" /tmp/hashes; then
		skip "$name" "the kmalloc events of this kernel do not show ftrace's hashes"
		return
	fi
	[ "$code" -eq 0 ] && [ "$freed" -eq 0 ]
	result $? "$name"
}

# expedite_grace_periods 0/1: with 1, expedite RCU grace periods; with 0, end the expediting. A
# kernel with PREEMPT_RT sets rcu_normal at boot, which has to be cleared first.
expedite_grace_periods() {
	[ "$1" = 0 ] || put 0 /sys/kernel/rcu_normal
	put "$1" /sys/kernel/rcu_expedited
}

# loaded MODULE: succeeds if the module is loaded
loaded() {
	grep -q "^$1 " /proc/modules
}

# reference_count MODULE: print the reference count of the module
reference_count() {
	sed -n "s/^$1 [0-9]* \([0-9]*\) .*/\1/p" /proc/modules
}

# example_probe_was_called COUNT: succeeds if the probe of example_probe was called at least COUNT
# times
example_probe_was_called() {
	[ "$(cat /sys/module/example_probe/parameters/count)" -ge "$1" ]
}

# no_vmalloc_area_of MODULE: succeeds if the module is loaded and no area in /proc/vmallocinfo was
# allocated by one of its functions; fails if that file does not show the callers
no_vmalloc_area_of() {
	loaded "$1" && grep -q "+0x[0-9a-f]*/0x[0-9a-f]* " /proc/vmallocinfo &&
		! grep -q "\[$1\]" /proc/vmallocinfo
}

# is_preempted COMMAND: succeeds if a busy task on the same CPU preempts COMMAND at least 8 times,
# or at least once in each 25 ms that COMMAND runs, on average. On a fast machine COMMAND may end
# before the eighth preemption; on a busy machine, ticks of the guest are late.
is_preempted() {
	taskset 1 sh -c 'while :; do :; done' &
	busy=$!
	cat >/tmp/preempted <<-'END'
		preempted() { sed -n 's/^nonvoluntary_ctxt_switches:[^0-9]*//p' /proc/$$/status; }
		ran() { read -r ns _ </proc/$$/schedstat && echo $((ns / 1000000)); }
		before=$(preempted)
		start=$(ran)
		eval "$1"
		times=$(($(preempted) - before))
		ms=$(($(ran) - start))
		echo "# the command was preempted $times times in $ms ms"
		[ "$times" -ge 8 ] || [ $((25 * (times + 1))) -ge "$ms" ]
	END
	taskset 1 sh /tmp/preempted "$1"
	code=$?
	kill "$busy"
	wait "$busy" 2>/dev/null
	return "$code"
}

# print_memory_kib: print the size of all objects that the kernel cannot reclaim, and of its mapped
# areas, in KiB
print_memory_kib() {
	awk '/^SUnreclaim:|^VmallocUsed:/ { sum += $2 } END { print sum }' /proc/meminfo
}

# grows_less_than KIB COMMAND...: run COMMAND once, and then four times; succeeds if the kernel's
# memory grows by less than KIB KiB in the four times. Try this up to three times, because the
# kernel may also keep memory for later. If the kernel has kmemleak, which reports leaks at the end,
# do nothing: the debugging of such kernels frees memory late.
grows_less_than() {
	[ ! -e /sys/kernel/debug/kmemleak ] || return 0
	kib=$1
	shift
	"$@" || return
	for _ in 1 2 3; do
		memory=$(print_memory_kib)
		"$@" && "$@" && "$@" && "$@" || return
		grown=$(($(print_memory_kib) - memory))
		echo "# the kernel's memory has grown by $grown KiB; the limit is $kib KiB"
		[ "$grown" -ge "$kib" ] || return 0
	done
	return 1
}

load_core() {
	for module in $core; do
		insmod "/modules/$module.ko" || return 1
	done
}

# load_bench: load kmarkers_bench if it is not loaded. Only suites that need the module load it,
# because it has thousands of patch sites: the lists have a line for each site, and take long to
# read under an emulator.
load_bench() {
	loaded kmarkers_bench || insmod /modules/kmarkers_bench.ko
}

# unload_core: unload the modules that load_core loaded, and kmarkers_bench if it is loaded
unload_core() {
	! loaded kmarkers_bench || rmmod kmarkers_bench || return 1
	for module in kmarkers_entry kmarkers_sdt kmarkers_markers kmarkers_immediate kmarkers_events kmarkers_patcher; do
		rmmod "$module" || return 1
	done
}

# run_with_core NAMES: load the modules of kmarkers, run the suites NAMES, and unload the modules
run_with_core() {
	try "the modules load" load_core
	for suite in $1; do
		run_suite "$suite"
	done
	try "the modules unload" unload_core
}

# finish: print the number of tests, and exit with 0 if none has failed
finish() {
	begin_suite end
	echo "1..$number"
	[ "$failures" -eq 0 ]
	exit $?
}

# run_case NAME: run a case of the loaded module kmarkers_test; print the checks that failed
run_case() {
	put "$1" "$case_to_run"
	sed -n "s/^# $1: /# /p" "$cases/results"
	grep -q "^ok [0-9]* $1\$" "$cases/results"
}

# The numbers of batches and cycles in storms; the host sets smaller numbers for slow kernels.
# shellcheck disable=SC2034 # for the scripts that source this
batches=${KMARKERS_BATCHES:-1000}
# shellcheck disable=SC2034
cycles=${KMARKERS_CYCLES:-100}
# The number of loads and unloads of a module in tests in which each cycle waits for RCU grace
# periods: 20, or fewer under a very slow emulator.
# shellcheck disable=SC2034
reloads=$((cycles < 10 ? 2 * cycles : 20))

begin_suite boot
result 0 "the kernel logged no fault during boot"
