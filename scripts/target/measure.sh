#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Measures on a machine of a fleet and writes the samples to FOLDER/raw.tar. A guard process in a
# session of its own runs the measurement. If this script ends early, even by SIGKILL or a broken
# connection, the guard stops the measurement, restores the original code of the kernel, and unloads
# the modules that the guard loaded. If the guard was killed, the command "clean" does the same.
# FOLDER/left lists modules that could not be unloaded.
#
# usage: measure.sh native FOLDER BLOCKS PROCESSES SEED [BENCHMARK...]
#        measure.sh modules FOLDER BLOCKS 1 SEED [BENCHMARK...]
#        measure.sh clean FOLDER
#   native   runs FOLDER/kmbench
#   modules  runs FOLDER/bench.sh, which loads the modules in FOLDER/modules, measures, and unloads
#            the modules
#   clean    stops and cleans up an earlier call with FOLDER, and waits until that is done
# Exit codes: 0 done, 1 a step failed, 2 nothing was started.

# Maximum number of attempts to end the job or to unload the modules: ten per second for a minute.
max_tries=600

die() {
	echo "measure: $1" >&2
	exit "$2"
}

# read_start_time PROCESS: set $since to the start time of the process in clock ticks since the
# boot; empty if the process has ended
read_start_time() {
	since=
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return
	# Skip the name of the program, which may contain spaces and parentheses.
	# shellcheck disable=SC2086 # $stat is split into words
	set -- ${stat##*) }
	[ "$1" = Z ] || since=${20}
}

# record_process FILE: write the process ID and the start time of this shell to FILE
record_process() {
	read_start_time $$
	echo "$$ $since" >"$folder/$1"
}

# is_running FILE: succeed if the process whose ID and start time record_process() wrote to FILE
# still runs
is_running() {
	{ read -r process began <"$folder/$1"; } 2>/dev/null || return
	read_start_time "$process"
	[ "$since" ] && [ "$since" = "$began" ]
}

# list_loaded_modules: print the loaded modules of kmarkers, the last loaded first
list_loaded_modules() {
	sed -n 's/^\(kmarkers_[a-z0-9_]*\) .*/\1/p' /proc/modules
}

# end_job: end all processes of the job: send them SIGTERM, and after 5 seconds SIGKILL
end_job() {
	{ read -r process began <"$folder/job"; } 2>/dev/null || return 0
	read_start_time "$process"
	# The process ID may have been reused.
	if [ -z "$since" ] || [ "$since" = "$began" ]; then
		kill -s TERM -- "-$process" 2>/dev/null
		tries=0
		while kill -s CONT -- "-$process" 2>/dev/null && [ $tries -lt $max_tries ]; do
			[ $tries -ne 50 ] || kill -s KILL -- "-$process"
			sleep 0.1
			tries=$((tries + 1))
		done
	fi
	rm -f "$folder/job"
}

# clean_up: stop the job, restore the original code of the kernel, and unload the modules
clean_up() {
	end_job
	[ -e "$folder/loading" ] || return 0
	control=/sys/module/kmarkers_bench/parameters/control
	tries=0
	while [ -n "$(list_loaded_modules)" ] && [ $tries -lt $max_tries ]; do
		[ $tries -eq 0 ] || sleep 0.1
		if [ -w $control ]; then
			echo stop >$control
			echo "getppid-live original" >$control
		fi 2>/dev/null
		for module in $(list_loaded_modules); do
			rmmod "$module" 2>/dev/null
		done
		tries=$((tries + 1))
	done
	list_loaded_modules >"$folder/left"
	[ ! -s "$folder/left" ] && rm -f "$folder/loading"
}

# run_job COMMAND...: run a command as the job, in a session of its own, and return its exit code.
# The job is ended if the script in the foreground ends or "clean" is called.
run_job() {
	setsid sh "$0" job "$folder" "$@" &
	child=$!
	while read_start_time $child && [ "$since" ]; do
		{ [ ! -e "$folder/over" ] && is_running front; } || end_job
		sleep 0.2
	done
	wait $child
	code=$?
	rm -f "$folder/job"
	return $code
}

measure_native() {
	number=1
	while [ "$number" -le "$processes" ]; do
		run_job "$folder/kmbench" run --blocks "$blocks" --seed $((seed + number - 1)) \
			--out "$folder/raw/process-$number" "$@" || return 1
		number=$((number + 1))
	done
}

measure_modules() {
	{
		echo "blocks $blocks"
		echo "seed $seed"
		[ $# -eq 0 ] || echo "start $*"
	} >"$folder/bench.conf"
	export MODULES="$folder/modules" RESULTS="$folder/raw" CONFIG="$folder/bench.conf"
	: >"$folder/loading"
	run_job sh "$folder/bench.sh"
}

# run_guard COMMAND...: make this shell the guard: run a command, clean up, and exit with 0 if both
# succeeded
run_guard() {
	# Catch these signals instead of ignoring them: children inherit ignored signals, not traps.
	trap : HUP INT TERM
	record_process alive
	"$@"
	code=$?
	clean_up || code=1
	rm -f "$folder/alive"
	exit $code
}

who=front
[ "${1-}" != guard ] || { who=guard && shift; }
kind=${1-} folder=${2-}
case $kind in
native | modules) ;;
job)
	record_process job
	shift 2
	exec "$@"
	;;
clean)
	[ -d "$folder" ] || die "there is no folder '$folder'" 2
	: >"$folder/over"
	tries=0
	while is_running alive && [ $tries -lt $((3 * max_tries)) ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	clean_up || die "modules cannot be unloaded: $(tr '\n' ' ' <"$folder/left")" 1
	exit 0
	;;
*) die "unknown command '$kind'; the commands are native, modules and clean" 2 ;;
esac
[ $# -ge 5 ] || die "usage: measure.sh native|modules FOLDER BLOCKS PROCESSES SEED [BENCHMARK...]" 2
blocks=$3 processes=$4 seed=$5
for number in "$blocks" "$processes" "$seed"; do
	case $number in
	'' | *[!0-9]* | 0?*) die "bad number '$number': give a decimal number without zeros in front" 2 ;;
	esac
done
if [ $who = guard ]; then
	shift 5
	run_guard "measure_$kind" "$@"
fi
case $kind in
native) [ -x "$folder/kmbench" ] || die "$folder/kmbench does not exist or is not executable" 2 ;;
modules)
	[ "$(id -u)" = 0 ] || die "loading modules needs root: run this script as root" 2
	found=$(list_loaded_modules)
	[ -z "$found" ] || die "modules are already loaded, not by this script: $(echo "$found" | tr '\n' ' ')" 2
	;;
esac
command -v setsid >/dev/null || die "setsid is missing: install the package util-linux" 2
rm -rf "$folder/raw" "$folder/raw.tar" "$folder/over" "$folder/left"
mkdir -p "$folder/raw" && record_process front || exit 1
trap 'die "the measurement in $folder was interrupted, perhaps at its time limit" 1' HUP INT TERM
setsid sh "$0" guard "$@" </dev/null >"$folder/log" 2>&1 &
wait $!
code=$?
cat "$folder/log" >&2
[ ! -s "$folder/left" ] || die "modules cannot be unloaded: $(tr '\n' ' ' <"$folder/left")" 1
[ $code -eq 0 ] || die "the measurement in $folder failed" 1
{ sh "$folder/machine.sh" >"$folder/raw/machine" && tar -C "$folder/raw" -cf "$folder/raw.tar" .; } || {
	rm -f "$folder/raw.tar"
	die "the samples in $folder/raw cannot be packed" 1
}
