# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# For test scripts that run inside a test kernel: KTAP on standard output.

debugfs=/sys/kernel/debug/kmarkers
core="patcher immediate markers kmarkers_bench"
number=0
failures=0

# result CODE NAME: one KTAP line
result() {
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $number $2"
	else
		echo "not ok $number $2"
		failures=$((failures + 1))
	fi
}

# try NAME COMMAND...: passes if the command succeeds
try() {
	name=$1
	shift
	"$@"
	result $? "$name"
}

# refused NAME ERROR COMMAND...: passes if the command fails and says so
refused() {
	name=$1
	error=$2
	shift 2
	if said=$("$@" 2>&1); then
		echo "# succeeded: $*"
		result 1 "$name"
	elif echo "$said" | grep -q "$error"; then
		result 0 "$name"
	else
		echo "# said: $said"
		result 1 "$name"
	fi
}

put() {
	echo "$1" >"$2"
}

# same NAME GOT WANTED
same() {
	[ "$2" = "$3" ] || echo "# got '$2', wanted '$3'"
	[ "$2" = "$3" ]
	result $? "$1"
}

stat_of() {
	sed -n "s/^$1 //p" $debugfs/patcher/stats
}

loaded() {
	grep -q "^$1 " /proc/modules
}

load_core() {
	for module in $core; do
		insmod "/modules/$module.ko" || return 1
	done
}

unload_core() {
	for module in kmarkers_bench markers immediate patcher; do
		rmmod $module || return 1
	done
}

finish() {
	echo "1..$number"
	[ $failures -eq 0 ]
	exit $?
}
