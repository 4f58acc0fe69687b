# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# A program with user shadow stacks runs, and prints its results.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

grep -qw user_shstk /proc/cpuinfo
result $? "the processor has shadow stacks"
/shadow-stack break
result $? "a return to another place than the shadow stack says is a fault"
/shadow-stack >/tmp/said
code=$?
while read -r word what; do
	case $word in
	ok) result 0 "$what" ;;
	not) result 1 "${what#ok }" ;;
	*) echo "# $word $what" ;;
	esac
done </tmp/said
result $code "the program ends"
finish
