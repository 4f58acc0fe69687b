#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Downloads the probe definitions of a Debian source package with apt, generates headers from them
# with SystemTap's dtrace, and compiles a use of each probe with the <sys/sdt.h> of kmarkers.
#
# usage: tests/usdt/headers.sh postgresql-15|python3.11|libvirt|qemu

case ${1-} in
-h | --help | '') sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" && exit ;;
esac

set -euo pipefail
include=$(realpath "$(dirname "$0")/../../include/usdt")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
apt-get -q source --download-only "$1" >apt.log 2>&1 || { tail -n 5 apt.log >&2; exit 1; }

# unpack PATTERN...: extract files from the source archive
unpack() {
	tar -xf "$(find . -name '*.orig.tar.*' ! -name '*.asc')" --strip-components=1 --wildcards "$@"
}

options=(-h)
case $1 in
postgresql-*)
	unpack '*/src/backend/utils/probes.d'
	options=(-C -h)
	;;
python3.*) unpack '*/Include/pydtrace.d' ;;
libvirt) unpack '*_probes.d' ;;
qemu)
	# The definitions of qemu are in qemu's own language, which tracetool.py translates.
	unpack '*/trace-events' '*/scripts/tracetool*' '*/qapi'
	python3 scripts/tracetool.py --format=d --backends=dtrace --group=all \
		--probe-prefix qemu trace-events qemu.d
	;;
esac

# print_probe_uses HEADER: print a use of each probe of a header, with numbers as arguments
print_probe_uses() {
	sed -n 's/^#define \([A-Za-z0-9_]*\)\((\(arg[0-9]*,\{0,1\} *\)*)\) *\\$/\1\2;/p' "$1" | sed 's/arg\([0-9]*\)/number + \1/g'
}

nr=0
for definitions in $(find . -name '*.d' | LC_ALL=C sort); do
	header=${definitions%.d}_probes.h
	dtrace "${options[@]}" -s "$definitions" -o "$header"
	print_probe_uses "$header" >uses
	nr=$((nr + $(wc -l <uses)))
	{
		printf '#include "%s"\nint main(int number, char **unused)\n{\n\t(void)unused;\n' "$header"
		cat uses
		printf '\treturn number;\n}\n'
	} >uses.c
	for compiler in 'gcc -std=gnu11' 'gcc -std=c99 -Wpedantic' 'g++ -x c++'; do
		# shellcheck disable=SC2086 # word splitting is intended
		$compiler -O2 -Wall -Wextra -Werror -I"$include" -c uses.c -o uses.o
		notes=$(readelf -n uses.o | grep -c 'Provider:' || true)
		[[ $notes -eq $(wc -l <uses) ]] || { echo "$definitions: $compiler made $notes notes for $(wc -l <uses) probes, not one for each probe" >&2; exit 1; }
	done
done
[[ $nr -gt 0 ]] || { echo "$1: no probe was found" >&2; exit 1; }
echo "$1: $nr probes compile"
