# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Kprobes on sites in modules, a marker's and a value's: before, while and after they are changed.
# shellcheck source=tests/vm/lib_core.sh
. /tests/lib_core.sh

tick_probe=/sys/kernel/debug/kmarkers/markers/example_tick/probe
prof_step=/sys/kernel/debug/kmarkers/immediate/values/example_profile.prof_step
prof_hits=/sys/module/example_profile/parameters/hits

# offset_of FUNCTION MODULE: where its first site is
offset_of() {
	sed -n "s/^immediate $1+\(0x[0-9a-f]*\)\/.*\[$2\].*/\1/p" "$debugfs"/patcher/sites | head -n 1
}

# bytes_of FUNCTION OFFSET MODULE: what a site holds
bytes_of() {
	sed -n "s/^immediate $1+$2\/.*\[$3\] //p" "$debugfs"/patcher/sites
}

tick_bytes() {
	bytes_of tick "$tick_offset" example_client
}

step_bytes() {
	bytes_of profile_hit "$step_offset" example_profile
}

step_jumps() {
	case $(step_bytes) in
	e9*) ;;
	*) return 1 ;;
	esac
}

# optimise 0/1: may kprobes become jumps?
optimise() {
	put "$1" /proc/sys/debug/kprobes-optimization
}

# site_kprobe KIND: on the marker's site, which no kernel optimises a kprobe on
site_kprobe() {
	add_probe site example_client:tick "$tick_offset" || return
	[ "$1" = disabled ] || enable_probe site
}

# step_kprobe KIND: on the value's
step_kprobe() {
	add_probe site example_profile:profile_hit "$step_offset" || return
	case $1 in
	armed) optimise 0 && enable_probe site ;;
	optimised) optimise 1 && enable_probe site && within 5 step_jumps ;;
	esac
}

no_site_kprobe() {
	[ "$1" = disabled ] || disable_probe site || return
	remove_probe site
}

site_kprobe_hits() {
	[ "$(probe_hits site)" -gt 0 ]
}

test_kprobe_on_site() {
	try "$1 kprobe on a site" site_kprobe "$1"
	refused "$1 kprobe: the marker stays off" "busy" put trace "$tick_probe"
	logged "change refused: a kprobe at tick+"
	result $? "$1 kprobe: the log names it"
	[ "$1" = disabled ] || try "$1 kprobe works" within 5 site_kprobe_hits
	try "$1 kprobe goes" no_site_kprobe "$1"
	same "$1 kprobe: bytes as before" "$(tick_bytes)" "$off_bytes"

	try "the marker goes on" put trace "$tick_probe"
	on_bytes=$(tick_bytes)
	try "$1 kprobe on a site that is on" site_kprobe "$1"
	# The probe is disconnected; the site waits.
	try "$1 kprobe: off as far as it goes" put none "$tick_probe"
	logged "change refused: a kprobe at tick+"
	result $? "$1 kprobe on a site that is on: the log names it"
	[ "$1" = disabled ] || try "$1 kprobe works" within 5 site_kprobe_hits
	try "$1 kprobe goes" no_site_kprobe "$1"
	same "$1 kprobe: bytes as before" "$(tick_bytes)" "$on_bytes"
	try "the marker goes on again" put trace "$tick_probe"
	try "the marker goes off" put none "$tick_probe"
	same "bytes of one that is off" "$(tick_bytes)" "$off_bytes"
}

# step_is STEP: does each hit count that much?
step_is() {
	first=$(cat "$prof_hits")
	within 5 step_moves "$first" || return
	[ $((($(cat "$prof_hits") - first) % $1)) -eq 0 ]
}

step_moves() {
	[ "$(cat "$prof_hits")" != "$1" ]
}

test_kprobe_on_value() {
	bytes=$(step_bytes)
	try "$1 kprobe on a value" step_kprobe "$1"
	refused "$1 kprobe: the value stays" "busy" put 7 "$prof_step"
	logged "change refused: a kprobe at profile_hit+"
	result $? "$1 kprobe on a value: the log names it"
	same "$1 kprobe: the value is as before" "$(cat "$prof_step")" 500
	try "$1 kprobe: hits count by the value as before" step_is 500
	[ "$1" = disabled ] || try "$1 kprobe works" within 5 site_kprobe_hits
	try "$1 kprobe goes" no_site_kprobe "$1"
	same "$1 kprobe: bytes as before" "$(step_bytes)" "$bytes"

	try "the value changes" put 7 "$prof_step"
	changed=$(step_bytes)
	try "$1 kprobe on a changed value" step_kprobe "$1"
	try "$1 kprobe: what is counted" step_is 7
	[ "$1" = disabled ] || try "$1 kprobe works" within 5 site_kprobe_hits
	refused "$1 kprobe: the value stays" "busy" put 500 "$prof_step"
	try "$1 kprobe goes" no_site_kprobe "$1"
	same "$1 kprobe: bytes as changed" "$(step_bytes)" "$changed"

	try "$1 kprobe that comes and goes" kprobe_comes_and_goes "$1"
	try "the value changes back" put 500 "$prof_step"
	same "bytes as before" "$(step_bytes)" "$bytes"
	try "hits count by the old value again" step_is 500
}

# While values change; what is refused is refused because of it, and some of it is not.
kprobe_comes_and_goes() {
	: >/tmp/during
	while [ -e /tmp/during ]; do
		step_kprobe "$1"
		no_site_kprobe "$1"
		sleep 0.05
	done 2>/dev/null &
	changes=0
	for turn in $(seq 60); do
		if said=$( (put $((turn + 1)) "$prof_step") 2>&1); then
			changes=$((changes + 1))
		else
			case $said in
			*busy* | *"Illegal byte"* | *"Invalid or incomplete"*) ;;
			*)
				echo "# $said"
				changes=-1000
				;;
			esac
		fi
	done
	rm /tmp/during
	wait
	echo "# $changes of 60 changes made"
	[ "$changes" -gt 0 ]
}

test_kprobes_on_values() {
	must insmod /modules/example_profile.ko || return
	put 1 /sys/kernel/debug/kmarkers/immediate/values/example_profile.prof_on
	put 500 "$prof_step"
	step_offset=$(offset_of profile_hit example_profile)
	for kind in disabled armed optimised; do
		test_kprobe_on_value $kind
	done
	try "module with values leaves" rmmod example_profile
}

test_kprobes() {
	must insmod /modules/example_client.ko || return
	put 1 /sys/module/example_client/parameters/period_ms
	tick_offset=$(offset_of tick example_client)
	off_bytes=$(tick_bytes)
	for kind in disabled armed; do
		test_kprobe_on_site $kind
	done
	try "marked module leaves" rmmod example_client

	# One that waits for the module comes after we have looked at it.
	try "kprobe on a site to come" add_probe site example_client:tick "$tick_offset"
	try "enabled" enable_probe site
	try "marked module comes" insmod /modules/example_client.ko
	put 1 /sys/module/example_client/parameters/period_ms
	try "the kprobe works" within 5 site_kprobe_hits
	refused "the marker stays off" "busy" put trace "$tick_probe"
	try "the kprobe goes" no_site_kprobe armed
	try "the marker goes on" put trace "$tick_probe"
	try "the marker goes off" put none "$tick_probe"
	same "bytes of one that is off" "$(tick_bytes)" "$off_bytes"

	insmod /modules/example_typed.ko
	# What comes first in the function is ftrace's, or the instruction for indirect branches.
	try "a kprobe on a function of the module of the stubs" add_probe stub example_typed:request 0
	remove_probe stub
	stubs=$(sed -n 's/.* \(__marker_stub_[a-z_]*\)\t\[example_typed\]/\1/p' /proc/kallsyms)
	[ "$stubs" ]
	result $? "the module has stubs"
	for stub in $stubs; do
		! add_probe stub "example_typed:$stub" 0 2>/dev/null
		result $? "no kprobe on $stub"
	done
	rmmod example_typed
	try "marked module leaves" rmmod example_client
	test_kprobes_on_values
}
