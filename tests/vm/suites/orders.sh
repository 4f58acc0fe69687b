# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Every order of loading and unloading modules. The sets of modules that can be loaded together are
# the nodes of a graph, and single insmods and rmmods are the edges; an order is a path in this
# graph. Each set is reached once, and each insmod and rmmod is tried from it, those that must fail
# included.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

modules="$core kmarkers_bench ${KMARKERS_ORDERS-example_client example_probe kmarkers_test}"

# read_needs: write the dependencies of each module, from its file, to /tmp/needs/MODULE
read_needs() {
	mkdir -p /tmp/needs
	for module in $modules; do
		grep -ao -m 1 "depends=[a-z_,]*" "/modules/$module.ko" | sed 's/depends=//' | tr ',' ' ' \
			>"/tmp/needs/$module"
	done
}

# print_needs MODULE: print the modules that MODULE depends on
print_needs() {
	read -r words <"/tmp/needs/$1"
	echo "$words"
}

# set_has SET MODULE: succeeds if the module is in the set
set_has() {
	case " $1 " in
	*" $2 "*) ;;
	*) return 1 ;;
	esac
}

# may_load SET MODULE: succeeds if the module can be loaded while the set is loaded
may_load() {
	for need in $(print_needs "$2"); do
		set_has "$1" "$need" || return 1
	done
}

# may_unload SET MODULE: succeeds if the module can be unloaded while the set is loaded
may_unload() {
	for other in $1; do
		set_has "$(print_needs "$other")" "$2" && return 1
	done
	return 0
}

load_module() {
	insmod "/modules/$1.ko"
}

# try_steps SET MODULE: try insmod and rmmod of the module, except an insmod that would enlarge the
# set; fails if a command that must succeed fails, or one that must fail succeeds
try_steps() {
	if ! set_has "$1" "$2"; then
		fails_with "No such file" rmmod "$2" || return
		may_load "$1" "$2" || fails_with "nknown symbol" load_module "$2"
	elif may_unload "$1" "$2"; then
		fails_with "File exists" load_module "$2" && rmmod "$2" && load_module "$2"
	else
		fails_with "File exists" load_module "$2" && fails_with "temporarily unavailable" rmmod "$2"
	fi
}

# try_all_steps SET: call try_steps for each module
try_all_steps() {
	for module in $modules; do
		try_steps "$1" "$module" || return
	done
}

# add_to_set SET MODULE: print the set with the module added, ordered as in $modules
add_to_set() {
	set_with=
	for each in $modules; do
		if set_has "$1 $2" "$each"; then set_with="$set_with $each"; fi
	done
	echo "${set_with# }"
}

# explore SET: try all steps from the set, which is loaded, and explore each larger set not seen
# before
explore() {
	local module larger
	try_all_steps "$1"
	result $? "from the loaded set {$1}, each insmod and rmmod succeeds or fails as it must"
	for module in $modules; do
		set_has "$1" "$module" || ! may_load "$1" "$module" && continue
		larger=$(add_to_set "$1" "$module")
		case $seen in *"{$larger}"*) continue ;; esac
		seen="$seen{$larger}"
		load_module "$module" || {
			result 1 "insmod of $module with the set {$1} loaded succeeds"
			continue
		}
		explore "$larger"
		rmmod "$module" || result 1 "rmmod of $module with the set {$larger} loaded succeeds"
	done
}

a_module_is_loaded() {
	grep -q -E "^(kmarkers|example)" /proc/modules
}

# Checks that the searches at the end of the suite find a module that is loaded.
test_traces_of_a_module() {
	try "kmarkers_patcher is loaded" load_module kmarkers_patcher
	try "/proc/modules names a loaded module of kmarkers" a_module_is_loaded
	try "a loaded module of kmarkers has files in debugfs" [ -e "$debugfs" ]
	try "kmarkers_patcher is unloaded" rmmod kmarkers_patcher
}

test_orders() {
	read_needs
	test_traces_of_a_module
	seen=
	expedite_grace_periods 1
	explore ""
	expedite_grace_periods 0
	! a_module_is_loaded
	result $? "no module of kmarkers is loaded after all orders"
	[ ! -e "$debugfs" ]
	result $? "debugfs has no directory of kmarkers after all orders"
}
