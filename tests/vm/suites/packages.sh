# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Modules as the packages install them: loaded with their dependencies, idle, used and unloaded.
# modprobe and /lib/modules are those of the Debian release in which the packages were installed.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

LIMIT_KIB=400
# Time limit in seconds from modprobe to the first event. Together with the limit of the
# installation, this is 3 minutes.
EVENT_SECONDS=10

# run_modprobe WORD...: run modprobe of the distribution
run_modprobe() {
	/usr/sbin/modprobe "$@"
}

# print_seconds_since_boot: print the seconds since the boot
print_seconds_since_boot() {
	cut -d " " -f 1 /proc/uptime
}

# size_of_modules: print the memory that the modules of kmarkers use, in KiB
size_of_modules() {
	awk '/^kmarkers_/ { sum += $2 } END { print int(sum / 1024) }' /proc/modules
}

# tick_is_traced: succeeds if the event of the example is in the trace
tick_is_traced() {
	grep -q "example_tick: " "$tracing/trace"
}

# run_prerm: run the package's script prerm, as dpkg does before it removes the package
run_prerm() {
	sh /prerm remove
}

# list_undescribed: print the parameters of loaded modules that have no description
list_undescribed() {
	for file in /sys/module/kmarkers_*/parameters/*; do
		module=${file#/sys/module/}
		module="${module%%/*} ${file##*/}"
		grep -qx "$module" "$installed/described" || echo "$module"
	done
}

# start_function_tracer: let the function tracer record calls of the functions of kmarkers; fails if
# it can trace fewer than 50 of them
start_function_tracer() {
	put "" "$tracing/set_ftrace_filter"
	sed -n 's/^\(kmarkers_[a-z_]*\) .*/\1/p' /proc/modules | while read -r module; do
		echo "*:mod:$module" >>"$tracing/set_ftrace_filter"
	done
	[ "$(grep -c "\[kmarkers_" "$tracing/set_ftrace_filter")" -gt 50 ] || return
	put function "$tracing/current_tracer"
	put "" "$tracing/trace"
}

# count_recorded_calls: print the number of calls of functions of kmarkers that were recorded
count_recorded_calls() {
	grep -c " <-" "$tracing/trace"
}

# stop_function_tracer: stop the function tracer
stop_function_tracer() {
	put nop "$tracing/current_tracer"
	put "" "$tracing/set_ftrace_filter"
}

# unload_all: unload the modules of kmarkers, those without references first
unload_all() {
	while unused=$(sed -n 's/^\(kmarkers_[a-z_]*\) [0-9]* 0 .*/\1/p' /proc/modules) && [ "$unused" ]; do
		run_modprobe -r "$(echo "$unused" | head -n 1)" || break
	done
	! grep -q ^kmarkers_ /proc/modules
}

# load_examples: install modprobe.conf of the package's examples, and load the modules in
# modules-load.conf as systemd does at boot
load_examples() {
	mkdir -p /etc/modprobe.d
	cp "$installed/examples/modprobe.conf" /etc/modprobe.d/kmarkers.conf
	sed '/^#/d' "$installed/examples/modules-load.conf" | while read -r module; do
		[ ! "$module" ] || run_modprobe "$module" || return
	done
}

# options_are_used: succeeds if every option of the example is the value of its parameter
options_are_used() {
	sed -n 's/^options //p' /etc/modprobe.d/kmarkers.conf >/tmp/options
	[ -s /tmp/options ] || return
	while read -r module option; do
		[ "$(cat "/sys/module/$module/parameters/${option%%=*}")" = "${option#*=}" ] || return
	done </tmp/options
}

test_packages() {
	installed=$(echo /lib/modules/*)
	if [ "$KMARKERS_PART" = refused ]; then
		refused "a module whose key is not enrolled cannot be loaded" "Key was rejected\|Required key not available" run_modprobe example_client
		! grep -q ^kmarkers_ /proc/modules
		result $? "no module of kmarkers is loaded after the refusal"
		return
	fi
	began=$(print_seconds_since_boot)
	try "modprobe loads a client and its dependencies" run_modprobe example_client
	loading=$(echo "$(print_seconds_since_boot) $began" | awk '{ print $1 - $2 }')
	try "modprobe loads SDT probes" run_modprobe kmarkers_sdt
	for module in kmarkers_patcher kmarkers_events kmarkers_immediate kmarkers_markers example_client; do
		loaded "$module"
		result $? "$module is loaded"
	done
	taken=$(size_of_modules)
	echo "# idle modules take $taken KiB"
	[ "$taken" -le "$LIMIT_KIB" ]
	result $? "idle modules take at most $LIMIT_KIB KiB"
	batches=$(grep '^batches' "$debugfs"/patcher/stats 2>/dev/null)
	! grep -h '^kmarkers' /proc/[0-9]*/comm
	result $? "idle modules have no kernel thread"
	same "idle modules make no batch of changes" "$(grep '^batches' "$debugfs"/patcher/stats 2>/dev/null)" "$batches"
	try "the function tracer is started for the modules" start_function_tracer
	sleep 5
	same "no function of an idle module is called in 5 s" "$(count_recorded_calls)" 0
	began=$(print_seconds_since_boot)
	try "the event of the client is switched on" put 1 "$tracing/events/kmarkers/example_tick/enable"
	within 20 tick_is_traced
	result $? "the event is in the trace"
	took=$(echo "$(print_seconds_since_boot) $began $loading" | awk '{ print $1 - $2 + $3 }')
	echo "# from modprobe to the first event: $took s, of which loading took $loading s"
	[ "${took%.*}" -lt "$EVENT_SECONDS" ]
	result $? "the first event is traced within $EVENT_SECONDS s of modprobe"
	[ "$(count_recorded_calls)" -gt 0 ]
	result $? "the function tracer recorded calls while the event was enabled"
	stop_function_tracer
	try "the event is switched off" put 0 "$tracing/events/kmarkers/example_tick/enable"
	refused "the package cannot be removed while modules are loaded" "kmarkers_patcher.*unload them first" run_prerm
	try "modprobe unloads the client and its dependencies" run_modprobe -r example_client
	try "modprobe unloads SDT probes" run_modprobe -r kmarkers_sdt
	try "all modules are unloaded after the use" unload_all

	try "modules are loaded as the examples for the boot say" load_examples
	loaded kmarkers_markers
	result $? "kmarkers_markers of the example is loaded"
	for module in $core kmarkers_bench; do
		run_modprobe "$module" || break
	done
	same "every parameter has a description" "$(list_undescribed)" ""
	try "parameters have the values of the example" options_are_used
	rm /etc/modprobe.d/kmarkers.conf
	try "all modules are unloaded after the examples" unload_all

	[ -d "$installed/next" ] || return 0
	must run_modprobe kmarkers_patcher || return
	! insmod "$installed/next/kmarkers_immediate.ko"
	result $? "a module of a later version is refused"
	logged "module kmarkers_immediate has version .*, but version .* of kmarkers is loaded: unload all modules of kmarkers first"
	result $? "the log names both versions"
	try "the module of the older version is unloaded" unload_all
	try "modules of the later version are loaded without older ones" insmod "$installed/next/kmarkers_patcher.ko"
	try "modules of the later version are unloaded" unload_all
}
