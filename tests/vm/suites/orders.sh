# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Every order of loading and unloading. The sets of modules that can be loaded together form
# a graph, whose steps are single insmods and rmmods; an order is a path in it. Each set is
# reached once, and from it each step is taken, legal or not.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

modules="$core ${KMARKERS_ORDERS-example_client example_probe kmarkers_test}"

# read_needs: write to /tmp/needs/ what each module depends on, as its file says
read_needs() {
	mkdir -p /tmp/needs
	for module in $modules; do
		grep -ao -m 1 "depends=[a-z_,]*" "/modules/$module.ko" | sed 's/depends=//' | tr ',' ' ' \
			>"/tmp/needs/$module"
	done
}

# needs MODULE: print the modules that it depends on
needs() {
	read -r words <"/tmp/needs/$1"
	echo "$words"
}

# has SET MODULE: succeeds if the module is in the set
has() {
	case " $1 " in
	*" $2 "*) ;;
	*) return 1 ;;
	esac
}

# may_load SET MODULE: succeeds if the module can be loaded while the set is loaded
may_load() {
	for need in $(needs "$2"); do
		has "$1" "$need" || return 1
	done
}

# may_unload SET MODULE: succeeds if the module can be unloaded while the set is loaded
may_unload() {
	for other in $1; do
		has "$(needs "$other")" "$2" && return 1
	done
	return 0
}

load() {
	insmod "/modules/$1.ko"
}

# steps SET MODULE: take each step, insmod or rmmod of the module, that does not end in a larger set
steps() {
	if ! has "$1" "$2"; then
		fails_with "No such file" rmmod "$2" || return
		may_load "$1" "$2" || fails_with "nknown symbol" load "$2"
	elif may_unload "$1" "$2"; then
		fails_with "File exists" load "$2" && rmmod "$2" && load "$2"
	else
		fails_with "File exists" load "$2" && fails_with "temporarily unavailable" rmmod "$2"
	fi
}

all_steps() {
	for module in $modules; do
		steps "$1" "$module" || return
	done
}

# with SET MODULE: print the set with the module added, in the order of $modules
with() {
	set_with=
	for each in $modules; do
		if has "$1 $2" "$each"; then set_with="$set_with $each"; fi
	done
	echo "${set_with# }"
}

explore() {
	local module larger
	all_steps "$1"
	result $? "each insmod and rmmod from the set {$1} works or is refused, as it must"
	for module in $modules; do
		has "$1" "$module" || ! may_load "$1" "$module" && continue
		larger=$(with "$1" "$module")
		case $seen in *"{$larger}"*) continue ;; esac
		seen="$seen{$larger}"
		load "$module" || {
			result 1 "insmod of $module into the set {$1}"
			continue
		}
		explore "$larger"
		rmmod "$module" || result 1 "rmmod of $module out of the set {$larger}"
	done
}

a_module_is_loaded() {
	grep -q -E "^(kmarkers|example)" /proc/modules
}

# The searches at the end find nothing. Here they find a module that is loaded.
test_traces_of_a_module() {
	try "kmarkers_patcher is loaded" load kmarkers_patcher
	try "/proc/modules names a loaded module of ours" a_module_is_loaded
	try "a loaded module of ours has files in debugfs" [ -e "$debugfs" ]
	try "kmarkers_patcher is unloaded" rmmod kmarkers_patcher
}

test_orders() {
	read_needs
	test_traces_of_a_module
	seen=
	expedite 1
	explore ""
	expedite 0
	! a_module_is_loaded
	result $? "no module of ours is loaded after all orders"
	[ ! -e "$debugfs" ]
	result $? "debugfs has no files of ours after all orders"
}
