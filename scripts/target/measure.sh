#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Measures on a machine of a fleet and leaves FOLDER/raw.tar. A guard process in a session of its
# own does the work. However this script ends, also by SIGKILL or a broken connection, the guard
# stops the measurement, restores the kernel's own code, and unloads the modules that it loaded. If
# the guard is killed, too, "clean" does this. FOLDER/left names modules that could not be unloaded.
#
# usage: measure.sh native FOLDER BLOCKS PROCESSES SEED [BENCHMARK...]
#        measure.sh modules FOLDER BLOCKS 1 SEED [BENCHMARK...]
#        measure.sh clean FOLDER
#   native   runs FOLDER/kmbench
#   modules  loads the modules in FOLDER/modules by FOLDER/bench.sh, which unloads them again
#   clean    ends what an earlier call with FOLDER left, and waits until that is done
# Exit codes: 0 done, 1 a step failed, 2 nothing was started.

# The maximum number of attempts of a cleaning step, ten per second.
most=600

die() {
	echo "measure: $1" >&2
	exit "$2"
}

# born PROCESS: set $since to its start time, in ticks since the boot; empty if it has ended
born() {
	since=
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return
	# The name of the program, in parentheses, may hold spaces and parentheses.
	# shellcheck disable=SC2086 # it is split into words
	set -- ${stat##*) }
	[ "$1" = Z ] || since=${20}
}

# note FILE: write the process ID and the start time of this shell to FILE
note() {
	born $$
	echo "$$ $since" >"$folder/$1"
}

# lives FILE: succeeds if the process that note() recorded in FILE still runs
lives() {
	{ read -r process began <"$folder/$1"; } 2>/dev/null || return
	born "$process"
	[ "$since" ] && [ "$since" = "$began" ]
}

# loaded: print our modules that are loaded, the last one first
loaded() {
	sed -n 's/^\(kmarkers_[a-z0-9_]*\) .*/\1/p' /proc/modules
}

# end_job: end all processes of the job
end_job() {
	{ read -r process began <"$folder/job"; } 2>/dev/null || return 0
	born "$process"
	# The process ID may have been reused.
	if [ -z "$since" ] || [ "$since" = "$began" ]; then
		kill -s TERM -- "-$process" 2>/dev/null
		tries=0
		while kill -s CONT -- "-$process" 2>/dev/null && [ $tries -lt $most ]; do
			[ $tries -ne 50 ] || kill -s KILL -- "-$process"
			sleep 0.1
			tries=$((tries + 1))
		done
	fi
	rm -f "$folder/job"
}

# clean: stop the job, restore the kernel's own code, and unload the modules
clean() {
	end_job
	[ -e "$folder/loading" ] || return 0
	control=/sys/module/kmarkers_bench/parameters/control
	tries=0
	while [ -n "$(loaded)" ] && [ $tries -lt $most ]; do
		[ $tries -eq 0 ] || sleep 0.1
		if [ -w $control ]; then
			echo stop >$control
			echo "getppid-live original" >$control
		fi 2>/dev/null
		for module in $(loaded); do
			rmmod "$module" 2>/dev/null
		done
		tries=$((tries + 1))
	done
	loaded >"$folder/left"
	[ ! -s "$folder/left" ] && rm -f "$folder/loading"
}

# run COMMAND...: run a command as the job, in a session of its own; returns its exit code. The job
# is ended if the script that waits for it ends.
run() {
	setsid sh "$0" job "$folder" "$@" &
	child=$!
	while born $child && [ "$since" ]; do
		{ [ ! -e "$folder/over" ] && lives front; } || end_job
		sleep 0.2
	done
	wait $child
	code=$?
	rm -f "$folder/job"
	return $code
}

native() {
	number=1
	while [ "$number" -le "$processes" ]; do
		run "$folder/kmbench" run --blocks "$blocks" --seed $((seed + number - 1)) \
			--out "$folder/raw/process-$number" "$@" || return 1
		number=$((number + 1))
	done
}

modules() {
	{
		echo "blocks $blocks"
		echo "seed $seed"
		[ $# -eq 0 ] || echo "start $*"
	} >"$folder/bench.conf"
	export MODULES="$folder/modules" RESULTS="$folder/raw" CONFIG="$folder/bench.conf"
	: >"$folder/loading"
	run sh "$folder/bench.sh"
}

# guard COMMAND...: run the command as the guard, which ends only after everything is cleaned up
guard() {
	# The programs that the guard runs no longer ignore these signals.
	trap : HUP INT TERM
	note alive
	"$@"
	code=$?
	clean || code=1
	rm -f "$folder/alive"
	exit $code
}

who=front
[ "${1-}" != guard ] || { who=guard && shift; }
kind=${1-} folder=${2-}
case $kind in
native | modules) ;;
job)
	note job
	shift 2
	exec "$@"
	;;
clean)
	[ -d "$folder" ] || die "there is no folder '$folder'" 2
	: >"$folder/over"
	tries=0
	while lives alive && [ $tries -lt $((3 * most)) ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	clean || die "still loaded: $(tr '\n' ' ' <"$folder/left")" 1
	exit 0
	;;
*) die "'$kind' is none of native, modules and clean" 2 ;;
esac
[ $# -ge 5 ] || die "usage: measure.sh native|modules FOLDER BLOCKS PROCESSES SEED [BENCHMARK...]" 2
blocks=$3 processes=$4 seed=$5
if [ $who = guard ]; then
	shift 5
	guard "$kind" "$@"
fi
case $kind in
native) [ -x "$folder/kmbench" ] || die "$folder/kmbench is not there" 2 ;;
modules)
	[ "$(id -u)" = 0 ] || die "loading modules needs root" 2
	found=$(loaded)
	[ -z "$found" ] || die "loaded already, by someone else: $(echo "$found" | tr '\n' ' ')" 2
	;;
esac
command -v setsid >/dev/null || die "there is no setsid (package util-linux)" 2
rm -rf "$folder/raw" "$folder/raw.tar" "$folder/over" "$folder/left"
mkdir -p "$folder/raw" && note front || exit 1
trap 'exit 1' HUP INT TERM
setsid sh "$0" guard "$@" </dev/null >"$folder/log" 2>&1 &
wait $!
code=$?
cat "$folder/log" >&2
[ ! -s "$folder/left" ] || die "still loaded: $(tr '\n' ' ' <"$folder/left")" 1
[ $code -eq 0 ] || die "measuring failed" 1
sh "$folder/machine.sh" >"$folder/raw/machine" && tar -C "$folder/raw" -cf "$folder/raw.tar" .
