# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Kprobes on the sites of a marker and of an immediate value in modules, and changes of these sites.
# shellcheck source=tests/vm/lib_core.sh
. /tests/lib_core.sh

tick_probe=/sys/kernel/debug/kmarkers/markers/example_tick/probe
marker_control=/sys/module/kmarkers_markers/parameters/control
prof_step=/sys/kernel/debug/kmarkers/immediate/values/example_profile.prof_step
prof_hits=/sys/module/example_profile/parameters/hits

# print_site_offset FUNCTION MODULE: print the offset of the first site in the function
print_site_offset() {
	sed -n "s/^immediate $1+\(0x[0-9a-f]*\)\/.*\[$2\].*/\1/p" "$debugfs"/patcher/sites | head -n 1
}

# print_site_bytes FUNCTION OFFSET MODULE: print the bytes of the site at that offset
print_site_bytes() {
	sed -n "s/^immediate $1+$2\/.*\[$3\] //p" "$debugfs"/patcher/sites
}

print_tick_bytes() {
	print_site_bytes tick "$tick_offset" example_client
}

print_step_bytes() {
	print_site_bytes profile_hit "$step_offset" example_profile
}

# step_jumps: succeeds if the bytes of the value's site are a jump, as of an optimised kprobe
step_jumps() {
	case $(print_step_bytes) in
	e9*) ;;
	*) return 1 ;;
	esac
}

# allow_optimisation 0/1: 1 allows the kernel to optimise kprobes, 0 forbids it
allow_optimisation() {
	put "$1" /proc/sys/debug/kprobes-optimization
}

# register_site_kprobe KIND: register a disabled or armed kprobe on the marker's site, where the
# kernel does not optimise kprobes
register_site_kprobe() {
	add_probe site example_client:tick "$tick_offset" || return
	[ "$1" = disabled ] || enable_probe site
}

# register_step_kprobe KIND: register a disabled, armed or optimised kprobe on the immediate value's
# site
register_step_kprobe() {
	add_probe site example_profile:profile_hit "$step_offset" || return
	case $1 in
	armed) allow_optimisation 0 && enable_probe site ;;
	optimised) allow_optimisation 1 && enable_probe site && within 5 step_jumps ;;
	esac
}

# remove_site_kprobe KIND: remove the kprobe that register_site_kprobe or register_step_kprobe
# registered
remove_site_kprobe() {
	[ "$1" = disabled ] || disable_probe site || return
	remove_probe site
}

site_kprobe_hits() {
	[ "$(probe_hits site)" -gt 0 ]
}

test_kprobe_on_site() {
	try "$1 kprobe: the kernel registers it on a marker that is off" register_site_kprobe "$1"
	refused "$1 kprobe: switching the marker on is refused" "busy" put trace "$tick_probe"
	logged "change refused: a kprobe is registered at tick+"
	result $? "$1 kprobe: the log names the kprobe as the reason when the marker stays off"
	[ "$1" = disabled ] || try "$1 kprobe: the kprobe is hit while the marker is off" within 5 site_kprobe_hits
	try "$1 kprobe: the kprobe is removed from a marker that is off" remove_site_kprobe "$1"
	same "$1 kprobe: the site has the bytes of a site that is off" "$(print_tick_bytes)" "$off_bytes"

	try "$1 kprobe: the marker is switched on after the kprobe is removed" put trace "$tick_probe"
	on_bytes=$(print_tick_bytes)
	try "$1 kprobe: the kernel registers it on a marker that is on" register_site_kprobe "$1"
	# The probe is disconnected, but the site stays on until the kprobe is removed.
	try "$1 kprobe: the probe of the marker is disconnected" put none "$tick_probe"
	logged "change refused: a kprobe is registered at tick+"
	result $? "$1 kprobe: the log names the kprobe as the reason when the site stays on"
	[ "$1" = disabled ] || try "$1 kprobe: the kprobe is hit while the site is on" within 5 site_kprobe_hits
	try "$1 kprobe: the kprobe is removed from a site that is on" remove_site_kprobe "$1"
	same "$1 kprobe: the site has the bytes of a site that is on" "$(print_tick_bytes)" "$on_bytes"
	try "$1 kprobe: the marker is switched on after the kprobe was on an enabled site" put trace "$tick_probe"
	try "$1 kprobe: the marker is switched off after the kprobe was on an enabled site" put none "$tick_probe"
	same "$1 kprobe: the site has the bytes of a site that is off again" "$(print_tick_bytes)" "$off_bytes"
}

# step_is STEP: succeeds if the counter of hits advances in multiples of STEP
step_is() {
	first=$(cat "$prof_hits")
	within 5 hits_have_changed "$first" || return
	[ $((($(cat "$prof_hits") - first) % $1)) -eq 0 ]
}

hits_have_changed() {
	[ "$(cat "$prof_hits")" != "$1" ]
}

test_kprobe_on_value() {
	bytes=$(print_step_bytes)
	try "$1 kprobe on a value: the kernel registers it" register_step_kprobe "$1"
	refused "$1 kprobe on a value: the value cannot be set" "busy" put 7 "$prof_step"
	logged "change refused: a kprobe is registered at profile_hit+"
	result $? "$1 kprobe on a value: the log names the kprobe as the reason"
	same "$1 kprobe on a value: the value reads as before the refusal" "$(cat "$prof_step")" 500
	try "$1 kprobe on a value: hits are counted in steps of the unchanged value" step_is 500
	[ "$1" = disabled ] || try "$1 kprobe on a value: the kprobe is hit" within 5 site_kprobe_hits
	try "$1 kprobe on a value: the kprobe is removed" remove_site_kprobe "$1"
	same "$1 kprobe on a value: the site has its former bytes" "$(print_step_bytes)" "$bytes"

	try "$1 kprobe on a value: the value is set after the kprobe is removed" put 7 "$prof_step"
	changed=$(print_step_bytes)
	try "$1 kprobe on a changed value: the kernel registers it" register_step_kprobe "$1"
	try "$1 kprobe on a changed value: hits are counted in steps of the changed value" step_is 7
	[ "$1" = disabled ] || try "$1 kprobe on a changed value: the kprobe is hit" within 5 site_kprobe_hits
	refused "$1 kprobe on a changed value: the value cannot be set" "busy" put 500 "$prof_step"
	try "$1 kprobe on a changed value: the kprobe is removed" remove_site_kprobe "$1"
	same "$1 kprobe on a changed value: the site has its former bytes" "$(print_step_bytes)" "$changed"

	try "$1 kprobe is registered and removed repeatedly: the value is set, or refused because of the kprobe" set_value_beside_kprobe "$1"
	try "$1 kprobe is registered and removed repeatedly: the value is set back" put 500 "$prof_step"
	same "$1 kprobe is registered and removed repeatedly: the site has its original bytes" "$(print_step_bytes)" "$bytes"
	try "$1 kprobe is registered and removed repeatedly: hits are counted in steps of the original value" step_is 500
}

# set_value_beside_kprobe KIND: set the value repeatedly while a kprobe on its site is registered
# and removed. Some changes must succeed, and the others must fail with the errors that a kprobe
# causes.
set_value_beside_kprobe() {
	: >/tmp/during
	while [ -e /tmp/during ]; do
		register_step_kprobe "$1"
		remove_site_kprobe "$1"
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
	echo "# $changes of 60 changes were made"
	[ "$changes" -gt 0 ]
}

test_kprobes_on_values() {
	must insmod /modules/example_profile.ko || return
	put 1 /sys/kernel/debug/kmarkers/immediate/values/example_profile.prof_on
	put 500 "$prof_step"
	step_offset=$(print_site_offset profile_hit example_profile)
	for kind in disabled armed optimised; do
		test_kprobe_on_value $kind
	done
	try "example_profile unloads" rmmod example_profile
}

# list_enabled_markers: print the names of the markers that are on
list_enabled_markers() {
	sed -n 's/^\([^ ]*\) on .*/\1/p' /sys/kernel/debug/kmarkers/markers/list | sort -u
}

# A command that disconnects the probes of many markers, one of which has a kprobe on its site
test_kprobe_beside_markers() {
	try "a command connects probes to the markers of two modules" put "* count" "$marker_control"
	[ "$(list_enabled_markers | wc -l)" -gt 1 ]
	result $? "the markers of two modules are on"
	register_site_kprobe disabled
	try "a command disconnects the probes beside a kprobe on one marker" put "* none" "$marker_control"
	same "the kprobe keeps no other marker on" "$(list_enabled_markers)" example_tick
	remove_site_kprobe disabled
	put count "$tick_probe"
	put none "$tick_probe"
	same "the marker is switched off after the kprobe is removed" "$(list_enabled_markers)" ""
}

# A trigger enables the event of a marker that cannot be switched on because of a kprobe.
test_trigger_beside_site_kprobe() {
	tick_event=$tracing/events/kmarkers/example_tick
	references=$(reference_count kmarkers_events)
	register_site_kprobe disabled
	try "a trigger is added to the event of a marker with a kprobe" put traceon "$tick_event"/trigger
	try "the event is enabled beside the trigger" put 1 "$tick_event"/enable
	put "!traceon" "$tick_event"/trigger
	try "a command disables an event that could not be connected" put "example_tick -trace" "$marker_control"
	same "the disabled event holds no reference to kmarkers_events" "$(reference_count kmarkers_events)" "$references"
	remove_site_kprobe disabled
}

test_kprobes() {
	must insmod /modules/example_client.ko || return
	put 1 /sys/module/example_client/parameters/period_ms
	tick_offset=$(print_site_offset tick example_client)
	off_bytes=$(print_tick_bytes)
	for kind in disabled armed; do
		test_kprobe_on_site $kind
	done
	try "example_client unloads" rmmod example_client

	# A kprobe event for a module that is not loaded yet: the kernel registers the kprobe after
	# the patcher has written the sites of the module.
	try "a kprobe event is added for a module that is not loaded" add_probe site example_client:tick "$tick_offset"
	try "the kprobe event is enabled before the module is loaded" enable_probe site
	try "the module with the pending kprobe event loads" insmod /modules/example_client.ko
	put 1 /sys/module/example_client/parameters/period_ms
	try "the kprobe is hit after its module is loaded" within 5 site_kprobe_hits
	refused "switching the marker on is refused because of the kprobe" "busy" put trace "$tick_probe"
	try "the kprobe of the loaded module is removed" remove_site_kprobe armed
	try "the marker is switched on after the pending kprobe is removed" put trace "$tick_probe"
	try "the marker is switched off after the pending kprobe is removed" put none "$tick_probe"
	same "the site has the bytes of a site that is off at the end" "$(print_tick_bytes)" "$off_bytes"

	test_trigger_beside_site_kprobe
	insmod /modules/example_typed.ko
	test_kprobe_beside_markers
	try "the kernel accepts a kprobe on a function of the module with typed markers" add_probe stub example_typed:request 0
	remove_probe stub
	stubs=$(sed -n 's/.* \(__marker_stub_[a-z_]*\)\t\[example_typed\]/\1/p' /proc/kallsyms)
	[ "$stubs" ]
	result $? "the module with typed markers has stubs"
	for stub in $stubs; do
		! add_probe stub "example_typed:$stub" 0 2>/dev/null
		result $? "the kernel accepts no kprobe on $stub"
	done
	rmmod example_typed
	try "example_client unloads" rmmod example_client
	test_kprobes_on_values
}
