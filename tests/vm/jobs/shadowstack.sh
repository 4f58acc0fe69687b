# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Runs a program with user shadow stacks, tests/native/shadow_stack.c, and prints its results.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

grep -qw user_shstk /proc/cpuinfo
result $? "processor and kernel support user shadow stacks"
/shadow-stack break
result $? "a return to another address than that on the shadow stack causes a fault"
/shadow-stack >/tmp/said
code=$?
while read -r word what; do
	case $word in
	ok) result 0 "$what" ;;
	not) result 1 "${what#ok }" ;;
	*) echo "# $word $what" ;;
	esac
done </tmp/said
result $code "the program exits with code 0"
finish
