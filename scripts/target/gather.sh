#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Prints the samples of the benchmarks in debugfs as a tar archive: env, and a CSV file for each
# benchmark that ran. It does not start benchmarks or change settings. "kmarkers collect" sends this
# script to a shell on another machine, after a function machine() with the code of machine.sh.
#
# usage: gather.sh [FOLDER]     default: /sys/kernel/debug/kmarkers/bench

bench=${1-/sys/kernel/debug/kmarkers/bench}
if ! [ -r "$bench/env" ]; then
	echo "$bench/env cannot be read: load the modules and run the benchmarks, then run this script again, all as root" >&2
	exit 1
fi
state=$(cat "$bench/status")
case $state in
done*) ;;
*)
	echo "$bench/status says '$state': the benchmarks have not ended; run this script again when the file says 'done'" >&2
	exit 1
	;;
esac
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cat "$bench/env" >"$scratch/env" || exit 1
for samples in "$bench"/*/samples; do
	name=${samples%/samples}
	name=${name##*/}
	# A benchmark that cannot be measured in this kernel has no samples.
	grep -q "^$name," "$samples" || continue
	cat "$samples" >"$scratch/$name.csv" || exit 1
done
machine >"$scratch/machine"
tar -C "$scratch" -cf - .
