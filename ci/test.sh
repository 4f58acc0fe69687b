#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Runs one part of the tests in continuous integration, after scripts/setup has installed its tools.
# tests-github.yml and tests-gitlab.yml call this script, which can also be called by hand.
#
# usage: ci/test.sh lint|native|vm [KERNEL]
#   lint     run all linters
#   native   run the C test cases in user space, also under three sanitizers
#   vm       run the tests inside a test kernel (default: the first of kernels.txt); needs root
# Exit codes: 0 all passed, 1 a test failed, 2 a test cannot run here.

case ${1-} in
-h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0" && exit ;;
esac
unset CDPATH
cd -P -- "$(dirname -- "$0")/.." || exit 2
PATH=$PWD/build/venv/bin:$PATH

# print_kernel_name [NAME]: print NAME, or by default the name of the first kernel in kernels.txt
print_kernel_name() {
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
	name=$(print_kernel_name "${2-}")
	scripts/setup "$name" || exit
	exec scripts/kmarkers check matrix --kernel "$name"
	;;
esac
echo "usage: ci/test.sh lint|native|vm [KERNEL]" >&2
exit 2
