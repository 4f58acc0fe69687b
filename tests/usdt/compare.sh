#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Builds a program with USDT probes twice, with the <sys/sdt.h> of kmarkers and with that of
# SystemTap, and compares its probes, their arguments, and how often gdb meets each.
#
# usage: tests/usdt/compare.sh memcached|tcl|perl SOURCES
# SOURCES is the unpacked source package. Exit codes: 0 the same, 1 a difference or a failed build.

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
		# Its makefile does not say that the program needs this first.
		make memcached_dtrace.h
		make -j"$(nproc)" memcached
		;;
	tcl)
		# Whether a first instruction is done depends on this variable, which Tcl does not set.
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

# Prints where the program is in its tree.
program() {
	case $name in
	memcached) echo memcached ;;
	tcl) echo unix/tclsh ;;
	perl) echo perl ;;
	esac
}

# Prints provider, name, whether there is a semaphore, and the sizes of arguments of each probe. How
# many copies of one there are is up to the compiler, which inlines by the length of code.
probes() {
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

# Prints the arguments with which the program passes many of its probes.
work() {
	case $name in
	memcached) echo "-u nobody -l 127.0.0.1 -p 11299 -A -t 1 -o no_modern" ;;
	tcl) echo "$work/work.tcl" ;;
	perl) echo "$work/work.pl" ;;
	esac
}

# Talks to the server, and ends it.
talk() {
	local line
	for _ in {1..100}; do
		{ exec 3<>/dev/tcp/127.0.0.1/11299; } 2>/dev/null && break
		sleep 0.1
	done
	for line in 'set a 0 0 1\r\nx\r\n' 'set b 0 0 2\r\nxy\r\n' 'get a\r\n' 'get b\r\n' 'get c\r\n' 'delete a\r\n' \
		'incr b 1\r\n' 'touch b 10\r\n'; do
		# shellcheck disable=SC2059 # they are formats
		printf "$line" >&3
		sleep 0.2
	done
	printf 'shutdown\r\n' >&3
	cat <&3 >/dev/null
}

# count PROGRAM PROBE...: print how often gdb meets these probes while the program does its work
count() {
	local program=$1 each nr=0 commands=()
	shift
	for each; do
		commands+=(-ex "break -probe-stap $each" -ex "ignore $((++nr)) 1000000000")
	done
	[[ $name != memcached ]] || talk &
	# shellcheck disable=SC2046 # they are words
	TCL_LIBRARY=$sources/library timeout 300 gdb -nx -batch "${commands[@]}" -ex run \
		-ex "info breakpoints" --args "$program" $(work) </dev/null 2>"$work/gdb" |
		awk -v names="$*" 'BEGIN { split(names, name) } /^[0-9]+ / { number = $1 }
			/already hit/ { print name[number], $4 }'
}

# hits PROGRAM: print that of all its probes
hits() {
	local names
	mapfile -t names < <(probes "$1" | awk '{ print $1 ":" $2 }' | sort -u)
	count "$1" "${names[@]}" | sort
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

# Both are built and run in one place, because a program may count the letters of its path.
for how in ours theirs; do
	cp -a "$sources" "$work/tree"
	flags=
	[[ $how != ours ]] || flags=-I$include
	(build "$work/tree" "$flags")
	probes "$work/tree/$(program)" >"$work/$how.probes"
	hits "$work/tree/$(program)" >"$work/$how.hits"
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
