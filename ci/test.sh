#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# A job of continuous integration: sets up what it needs, and runs one part of the tests. The
# templates and a shell call it alike.
#
# usage: ci/test.sh lint|native|vm [KERNEL]
#   lint     all linters
#   native   the cases in user space, also under three sanitizers
#   vm       the tests inside one test kernel (default: the first of kernels.txt); needs root
# Exit codes: 0 all passed, 1 something failed, 2 it cannot be done.

case ${1-} in
-h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" && exit ;;
esac
cd "$(dirname "$0")/.." || exit 2
PATH=$PWD/build/venv/bin:$PATH

# kernel [NAME]: print the name, or that of the default kernel
kernel() {
	[ -z "$1" ] || { echo "$1" && return; }
	sed -n '/^[^#]/{s/ .*//p;q;}' kernels.txt
}

case "$#:${1-}" in
1:lint)
	scripts/setup --lint || exit
	exec scripts/kmarkers check lint
	;;
1:native)
	scripts/setup --native || exit
	exec scripts/kmarkers check native
	;;
1:vm | 2:vm)
	name=$(kernel "${2-}")
	scripts/setup "$name" || exit
	exec scripts/kmarkers check matrix --kernel "$name"
	;;
esac
echo "usage: ci/test.sh lint|native|vm [KERNEL]" >&2
exit 2
