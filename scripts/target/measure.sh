#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Measures on a machine of a fleet and leaves FOLDER/raw.tar. However it ends, also by SIGKILL or a
# connection that breaks, a guard stops what runs. It also tries to unload the modules that this script
# loaded; FOLDER/left names those that stay.
#
# usage: measure.sh native FOLDER BLOCKS PROCESSES SEED [BENCHMARK...]
#        measure.sh modules FOLDER BLOCKS 1 SEED [BENCHMARK...]
#   native   runs FOLDER/kmbench
#   modules  loads the modules in FOLDER/modules by FOLDER/bench.sh, which unloads them again
# Exit codes: 0 done, 1 a step failed, 2 nothing was started.

die() {
	echo "measure: $1" >&2
	exit "$2"
}

# loaded: print our modules that are loaded, the last one first
loaded() {
	sed -n 's/^\(kmarkers_[a-z_]*\) .*/\1/p' /proc/modules
}

# clean: stop what runs, put the kernel's own code back, and unload
clean() {
	control=/sys/module/kmarkers_bench/parameters/control
	if [ -s "$folder/child" ]; then
		kill "$(cat "$folder/child")" 2>/dev/null
		rm -f "$folder/child"
	fi
	[ "$kind" = modules ] || return 0
	if [ -w $control ]; then
		echo stop >$control
		echo "getppid-live original" >$control
	fi 2>/dev/null
	tries=0
	while [ -n "$(loaded)" ] && [ $tries -lt 100 ]; do
		for module in $(loaded); do
			rmmod "$module" 2>/dev/null
		done
		[ -z "$(loaded)" ] || sleep 0.1
		tries=$((tries + 1))
	done
	loaded >"$folder/left"
	[ ! -s "$folder/left" ]
}

# lives: succeeds if the measuring shell runs; one that ended and was not waited for does not
lives() {
	read -r _ _ state _ <"/proc/$$/stat" && [ "$state" != Z ]
}

# guard: wait until the measuring shell is done or has ended, then clean. No pipe tells that: some
# shells leave its end open in the programs that they start.
guard() {
	trap '' HUP INT TERM
	while [ ! -e "$folder/over" ] && lives; do
		sleep 0.2
	done
	clean
	rm -f "$folder/alive"
	: >"$folder/guarded"
}

# job COMMAND...: run a command as the child that the guard may end; returns its exit code
job() {
	"$@" &
	child=$!
	echo $child >"$folder/child"
	wait $child
	code=$?
	rm -f "$folder/child"
	return $code
}

native() {
	number=1
	while [ "$number" -le "$processes" ]; do
		job "$folder/kmbench" run --blocks "$blocks" --seed $((seed + number - 1)) \
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
	job sh "$folder/bench.sh"
}

[ $# -ge 5 ] || die "usage: measure.sh native|modules FOLDER BLOCKS PROCESSES SEED [BENCHMARK...]" 2
kind=$1 folder=$2 blocks=$3 processes=$4 seed=$5
shift 5
case $kind in
native) [ -x "$folder/kmbench" ] || die "$folder/kmbench is not there" 2 ;;
modules)
	[ "$(id -u)" = 0 ] || die "loading modules needs root" 2
	found=$(loaded)
	[ -z "$found" ] || die "loaded already, by someone else: $(echo "$found" | tr '\n' ' ')" 2
	;;
*) die "'$kind' is neither native nor modules" 2 ;;
esac
rm -rf "$folder/raw" "$folder/raw.tar" "$folder/guarded" "$folder/over"
mkdir -p "$folder/raw" && : >"$folder/alive" || exit 1
guard </dev/null >/dev/null 2>&1 &
trap 'exit 1' HUP INT TERM
"$kind" "$@"
code=$?
: >"$folder/over"
wait
[ $code -eq 0 ] || die "measuring failed" 1
[ ! -s "$folder/left" ] || die "still loaded: $(cat "$folder/left")" 1
sh "$folder/machine.sh" >"$folder/raw/machine" && tar -C "$folder/raw" -cf "$folder/raw.tar" .
