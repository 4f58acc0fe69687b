# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Functions for the scripts that run inside a test kernel. Results go to standard output, as KTAP.
# A test fails if the kernel logs a fault while it runs.

# Each script sources what it uses. This file is read only the first time.
[ -z "${number-}" ] || return 0

debugfs=/sys/kernel/debug/kmarkers
# shellcheck disable=SC2034 # for the scripts that source this
tracing=/sys/kernel/tracing
cases=/sys/kernel/debug/kmarkers_test
case_to_run=/sys/module/kmarkers_test/parameters/run
core="kmarkers_patcher kmarkers_immediate kmarkers_markers kmarkers_sdt kmarkers_entry"
# kmarkers_bench has thousands of sites. Each is a line of each list, so that lists take long on a
# slow emulator.
[ "${KMARKERS_BENCH:-1}" = 0 ] || core="$core kmarkers_bench"
log=/tmp/log
number=0
failures=0

# suite NAME: print the head of a suite, to which the results after it belong
suite() {
	read -r uptime _ </proc/uptime
	echo "# suite: $1"
	echo "# uptime: $uptime"
}

# run_suite NAME: source suites/NAME.sh, and call its test_NAME
run_suite() {
	suite "$1"
	must [ -r "/tests/suites/$1.sh" ] || return
	# shellcheck source=/dev/null # any of them
	. "/tests/suites/$1.sh"
	"test_$1"
}

# log_is_clean: move the kernel's log since the last call to $log; succeeds if it holds no fault.
# /etc/dirt and /etc/clean hold the patterns of faults, by which the host judges the console, too.
log_is_clean() {
	dmesg -c >"$log"
	[ -s "$log" ] || return 0
	faults=$(grep -E -f /etc/dirt "$log" | grep -v -E -f /etc/clean)
	[ -z "$faults" ] && return
	echo "$faults" | sed 's/^/# kernel log: /'
	return 1
}

# logged PATTERN: succeeds if the kernel logged a line that matches during the last test
logged() {
	grep -q "$1" "$log"
}

# say_time: print how many seconds passed since the last result, if at least 2
say_time() {
	read -r now _ </proc/uptime
	waited=$((${now%.*} - since))
	[ $waited -lt 2 ] || echo "# took $waited s"
	since=${now%.*}
}
since=0

# result CODE NAME: one KTAP line
result() {
	number=$((number + 1))
	say_time
	if log_is_clean && [ "$1" -eq 0 ]; then
		echo "ok $number $2"
	else
		echo "not ok $number $2"
		failures=$((failures + 1))
	fi
}

# skip NAME REASON
skip() {
	number=$((number + 1))
	echo "ok $number $1 # SKIP $2"
}

# try NAME COMMAND...: passes if the command succeeds
try() {
	name=$1
	shift
	"$@"
	result $? "$name"
}

# fails_with ERROR COMMAND...: succeeds if the command fails and prints that error
fails_with() {
	error=$1
	shift
	if said=$("$@" 2>&1); then
		echo "# succeeded: $*"
		return 1
	fi
	echo "$said" | grep -q "$error" && return
	echo "# said: $said"
	return 1
}

# must COMMAND...: runs a step that the suite needs; prints a failed result if the command fails
must() {
	"$@" && return
	result 1 "the suite cannot run: $*"
	return 1
}

# can_record NAME: succeeds if the compiler of this kernel can record functions; else skips the test
can_record() {
	grep -q "clang version" /proc/version || return 0
	skip "$1" "clang, which built this kernel, records no functions"
	return 1
}

# refused NAME ERROR COMMAND...: passes if the command fails and prints that error
refused() {
	name=$1
	shift
	fails_with "$@"
	result $? "$name"
}

# lacks PATTERN FILE: succeeds if the file can be read and no line of it matches
lacks() {
	[ -r "$2" ] && ! grep -q "$1" "$2"
}

# put TEXT FILE: write a line to a file
put() {
	echo "$1" >"$2"
}

# put_raw FORMAT FILE: write the output of printf for FORMAT and the number 0, in a single write
put_raw() {
	# shellcheck disable=SC2059 # it is a format
	printf "$1" 0 >/tmp/raw
	dd if=/tmp/raw of="$2" bs=1M conv=notrunc 2>/tmp/said && return
	cat /tmp/said
	return 1
}

# same NAME GOT WANTED: passes if both texts are the same
same() {
	[ "$2" = "$3" ] || echo "# got '$2', wanted '$3'"
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

# stat_of NAME: print a number from patcher/stats
stat_of() {
	sed -n "s/^$1 //p" "$debugfs"/patcher/stats
}

# expedite 0/1: 1 makes grace periods of RCU short, 0 ends that. A kernel with PREEMPT_RT has set
# rcu_normal at boot, which forbids it.
expedite() {
	[ "$1" = 0 ] || put 0 /sys/kernel/rcu_normal
	put "$1" /sys/kernel/rcu_expedited
}

# loaded MODULE: succeeds if the module is loaded
loaded() {
	grep -q "^$1 " /proc/modules
}

# uses_of MODULE: print how many references there are to it
uses_of() {
	sed -n "s/^$1 [0-9]* \([0-9]*\) .*/\1/p" /proc/modules
}

# ticked COUNT: succeeds if the probe of example_probe was called at least COUNT times
ticked() {
	[ "$(cat /sys/module/example_probe/parameters/count)" -ge "$1" ]
}

# no_area_of MODULE: succeeds if the module is loaded, the list of memory areas names the functions
# that asked for them, and none of these functions is in the module
no_area_of() {
	loaded "$1" && grep -q "+0x[0-9a-f]*/0x[0-9a-f]* " /proc/vmallocinfo &&
		! grep -q "\[$1\]" /proc/vmallocinfo
}

# gives_way COMMAND: succeeds if a busy task on the same CPU runs several times while a shell carries
# out COMMAND
gives_way() {
	taskset 1 sh -c 'while :; do :; done' &
	busy=$!
	cat >/tmp/gives_way <<-'END'
		preempted() { sed -n 's/^nonvoluntary_ctxt_switches:[^0-9]*//p' /proc/$$/status; }
		before=$(preempted)
		eval "$1"
		times=$(($(preempted) - before))
		echo "# preempted $times times"
		[ "$times" -ge 8 ]
	END
	taskset 1 sh /tmp/gives_way "$1"
	gave=$?
	kill "$busy"
	wait "$busy" 2>/dev/null
	return "$gave"
}

load_core() {
	for module in $core; do
		insmod "/modules/$module.ko" || return 1
	done
}

unload_core() {
	for module in kmarkers_bench kmarkers_entry kmarkers_sdt kmarkers_markers kmarkers_immediate kmarkers_patcher; do
		case " $core " in
		*" $module "*) rmmod "$module" || return 1 ;;
		esac
	done
}

# run_with_core NAMES: load our modules, run these suites, unload the modules
run_with_core() {
	try "the modules load" load_core
	for suite in $1; do
		run_suite "$suite"
	done
	try "the modules unload" unload_core
}

finish() {
	suite end
	echo "1..$number"
	[ "$failures" -eq 0 ]
	exit $?
}

# run_case NAME: run a case of kmarkers_test, which is loaded; prints the checks that failed
run_case() {
	put "$1" "$case_to_run"
	sed -n "s/^# $1: /# /p" "$cases/results"
	grep -q "^ok [0-9]* $1\$" "$cases/results"
}

# The numbers of batches and cycles in storms; the host sets smaller ones for slow kernels.
# shellcheck disable=SC2034 # for the scripts that source this
batches=${KMARKERS_BATCHES:-1000}
# shellcheck disable=SC2034
cycles=${KMARKERS_CYCLES:-100}
# The number of loads and unloads of a module in tests where each turn waits for grace periods: 20,
# and fewer under a very slow emulator.
# shellcheck disable=SC2034
comings=$((cycles < 10 ? 2 * cycles : 20))

suite boot
result 0 "the kernel's log of the boot has no fault"
