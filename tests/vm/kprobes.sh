# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Kprobes on a marker's site in a module: before, on and after it is switched.

tick_probe=/sys/kernel/debug/kmarkers/markers/example_tick/probe

# What the site holds.
tick_bytes() {
	sed -n "s/^immediate tick+$tick_offset.*\[example_client\] //p" "$debugfs"/patcher/sites
}

# site_kprobe KIND: on the site
site_kprobe() {
	add_probe site example_client:tick "$tick_offset" || return
	[ "$1" = disabled ] && return
	put "$([ "$1" = armed ] && echo 0 || echo 1)" /proc/sys/debug/kprobes-optimization
	enable_probe site || return
	[ "$1" = armed ] || sleep 0.3
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
	result $? "$1 kprobe: and the log names it"
	[ "$1" = disabled ] || try "$1 kprobe works" within 5 site_kprobe_hits
	try "$1 kprobe goes" no_site_kprobe "$1"
	same "$1 kprobe: bytes as before" "$(tick_bytes)" "$off_bytes"

	try "the marker goes on" put trace "$tick_probe"
	on_bytes=$(tick_bytes)
	try "$1 kprobe on a site that is on" site_kprobe "$1"
	# The probe is disconnected; the site waits.
	put none "$tick_probe" 2>/dev/null
	result 0 "$1 kprobe: switched off as far as it goes"
	[ "$1" = disabled ] || try "$1 kprobe works" within 5 site_kprobe_hits
	try "$1 kprobe goes" no_site_kprobe "$1"
	same "$1 kprobe: bytes as before" "$(tick_bytes)" "$on_bytes"
	try "the marker goes on again" put trace "$tick_probe"
	try "and off" put none "$tick_probe"
	same "bytes of one that is off" "$(tick_bytes)" "$off_bytes"
}

test_kprobes() {
	insmod /modules/example_client.ko || return
	put 1 /sys/module/example_client/parameters/period_ms
	tick_offset=$(sed -n 's/^immediate tick+\(0x[0-9a-f]*\)\/.*\[example_client\].*/\1/p' \
		"$debugfs"/patcher/sites | head -n 1)
	off_bytes=$(tick_bytes)
	for kind in disabled armed optimised; do
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
	try "and off" put none "$tick_probe"
	same "bytes of one that is off" "$(tick_bytes)" "$off_bytes"

	insmod /modules/example_typed.ko
	# shellcheck disable=SC2013 # a name is one word
	for stub in $(sed -n 's/.* \(__marker_stub_[a-z_]*\)\t\[example_typed\]/\1/p' /proc/kallsyms); do
		! echo "p:kmarkers/stub example_typed:$stub" 2>/dev/null >>"$tracing"/kprobe_events
		result $? "no kprobe on $stub"
	done
	rmmod example_typed
	try "marked module leaves" rmmod example_client
}
