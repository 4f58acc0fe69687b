#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds a program with USDT probes twice, with the <sys/sdt.h> of kmarkers and with the <sys/sdt.h>
# of SystemTap, and compares the probes, their arguments, and their numbers of hits under gdb.
#
# usage: tests/usdt/compare.sh memcached|tcl|perl SOURCES
# SOURCES is the unpacked source package. Exit codes: 0 no difference, 1 a difference or a failed
# build.

case ${1-} in
-h | --help | '') sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" && exit ;;
esac

set -euo pipefail
name=$1 sources=$(realpath "$2")
include=$(realpath "$(dirname "$0")/../../include/usdt")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build TREE FLAGS: build the program with its probes
build() {
	cd "$1"
	case $name in
	memcached)
		./configure --enable-dtrace CPPFLAGS="$2"
		# Make this header first: the makefile does not say that the program depends on the
		# header.
		make memcached_dtrace.h
		make -j"$(nproc)" memcached
		;;
	tcl)
		# Initialise a variable on which a hit of a probe depends: Tcl leaves it uninitialised.
		sed -i 's/^    const char \*curInstName;/    const char *curInstName = NULL;/' generic/tclExecute.c
		cd unix
		./configure --enable-dtrace --disable-shared CPPFLAGS="$2"
		make -j"$(nproc)" tclsh
		;;
	perl)
		./Configure -des -Dusedtrace -Dccflags="$2"
		make -j"$(nproc)" perl
		;;
	esac >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; return 1; }
}

# print_program_path: print the path of the program in its source tree
print_program_path() {
	case $name in
	memcached) echo memcached ;;
	tcl) echo unix/tclsh ;;
	perl) echo perl ;;
	esac
}

# list_probes PROGRAM: print each probe once, as provider, name, "semaphore" or "-", and argument
# sizes. The number of sites of a probe is not printed, because it depends on how the compiler
# inlines functions.
list_probes() {
	readelf -W -n "$1" | awk '
		/Provider:/ { provider = $NF }
		/Name:/ { name = $2 }
		/Location:/ { semaphore = $NF ~ /^0x0+$/ ? "-" : "semaphore" }
		/Arguments:/ {
			sizes = ""
			for (i = 2; i <= NF; i++)
				if (match($i, /^-?[0-9]+f?@/))
					sizes = sizes " " substr($i, 1, RLENGTH - 1)
			print provider, name, semaphore sizes
		}' | sort -u
}

# print_program_arguments: print arguments with which the program hits many of its probes
print_program_arguments() {
	case $name in
	memcached) echo "-u nobody -l 127.0.0.1 -p 11299 -A -t 1 -o no_modern" ;;
	tcl) echo "$work/work.tcl" ;;
	perl) echo "$work/work.pl" ;;
	esac
}

# send_memcached_commands: send commands to memcached, and shut it down
send_memcached_commands() {
	local line
	for _ in {1..100}; do
		{ exec 3<>/dev/tcp/127.0.0.1/11299; } 2>/dev/null && break
		sleep 0.1
	done
	for line in 'set a 0 0 1\r\nx\r\n' 'set b 0 0 2\r\nxy\r\n' 'get a\r\n' 'get b\r\n' 'get c\r\n' 'delete a\r\n' \
		'incr b 1\r\n' 'touch b 10\r\n'; do
		# shellcheck disable=SC2059 # the lines are printf formats
		printf "$line" >&3
		sleep 0.2
	done
	printf 'shutdown\r\n' >&3
	cat <&3 >/dev/null
}

# count_hits PROGRAM PROBE...: print the number of hits of each probe while the program runs in gdb
count_hits() {
	local program=$1 each nr=0 commands=()
	shift
	for each; do
		commands+=(-ex "break -probe-stap $each" -ex "ignore $((++nr)) 1000000000")
	done
	[[ $name != memcached ]] || send_memcached_commands &
	# shellcheck disable=SC2046 # word splitting is intended
	TCL_LIBRARY=$sources/library timeout 300 gdb -nx -batch "${commands[@]}" -ex run \
		-ex "info breakpoints" --args "$program" $(print_program_arguments) </dev/null 2>"$work/gdb" |
		awk -v names="$*" 'BEGIN { split(names, name) } /^[0-9]+ / { number = $1 }
			/already hit/ { print name[number], $4 }'
}

# count_all_hits PROGRAM: print the number of hits of each probe of the program
count_all_hits() {
	local names
	mapfile -t names < <(list_probes "$1" | awk '{ print $1 ":" $2 }' | sort -u)
	count_hits "$1" "${names[@]}" | sort
}

cat >"$work/work.tcl" <<'T'
proc twice {n} { return [expr {$n * 2}] }
for {set i 0} {$i < 20} {incr i} { twice $i; set l [list $i [twice $i]] }
foreach w {one two three} { append s $w; string length $s }
catch { error "on purpose" }
T
cat >"$work/work.pl" <<'P'
sub twice { return 2 * shift } my @l; push @l, twice($_) for 1 .. 20; eval { die "on purpose\n" };
print scalar(@l), "\n";
P

# Build and run both programs in the same folder, because hits may depend on the length of the
# folder's path.
for how in ours theirs; do
	cp -a "$sources" "$work/tree"
	flags=
	[[ $how != ours ]] || flags=-I$include
	(build "$work/tree" "$flags")
	list_probes "$work/tree/$(print_program_path)" >"$work/$how.probes"
	count_all_hits "$work/tree/$(print_program_path)" >"$work/$how.hits"
	rm -r "$work/tree"
done
wc -l <"$work/ours.probes" | sed "s/^/# $name: probes: /"
wc -l <"$work/ours.hits" | sed "s/^/# $name: probes that were hit: /"
[[ -s $work/ours.probes && -s $work/ours.hits ]] || {
	echo "$name: no probe was hit" >&2
	exit 1
}
sed "s/^/# $name: hits: /" "$work/ours.hits"
diff -u "$work/theirs.probes" "$work/ours.probes"
diff -u "$work/theirs.hits" "$work/ours.hits"
