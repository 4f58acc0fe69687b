# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Modules as the packages install them: loaded with all that they need, idle, used, unloaded. The
# program modprobe is that of the Debian they were installed in, as is /lib/modules.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

LIMIT_KIB=400
# The time limit for the event, such that it and the limit of the installation are 3 minutes.
EVENT_SECONDS=10

# probe WORD...: run modprobe of the distribution
probe() {
	/usr/sbin/modprobe "$@"
}

# seconds_up: print the seconds since the boot
seconds_up() {
	cut -d " " -f 1 /proc/uptime
}

# size_of_modules: print how much memory our modules take
size_of_modules() {
	awk '/^kmarkers_/ { sum += $2 } END { print int(sum / 1024) }' /proc/modules
}

# tick_is_traced: succeeds if the event of the example is in the trace
tick_is_traced() {
	grep -q "example_tick: " "$tracing/trace"
}

# prerm_removes: run the script prerm as dpkg does before it removes the package
prerm_removes() {
	sh /prerm remove
}

# undescribed: print the parameters of loaded modules that no text describes
undescribed() {
	for file in /sys/module/kmarkers_*/parameters/*; do
		module=${file#/sys/module/}
		module="${module%%/*} ${file##*/}"
		grep -qx "$module" "$installed/described" || echo "$module"
	done
}

# watch_functions: have the function tracer record the calls of functions of our modules; succeeds if
# it can
watch_functions() {
	put "" "$tracing/set_ftrace_filter"
	sed -n 's/^\(kmarkers_[a-z_]*\) .*/\1/p' /proc/modules | while read -r module; do
		echo "*:mod:$module" >>"$tracing/set_ftrace_filter"
	done
	[ "$(grep -c "\[kmarkers_" "$tracing/set_ftrace_filter")" -gt 50 ] || return
	put function "$tracing/current_tracer"
	put "" "$tracing/trace"
}

# calls_recorded: print how many calls of functions of our modules were recorded
calls_recorded() {
	grep -c " <-" "$tracing/trace"
}

# end_watching: have no function recorded
end_watching() {
	put nop "$tracing/current_tracer"
	put "" "$tracing/set_ftrace_filter"
}

# unload_all: unload our modules; those that nobody uses come first
unload_all() {
	while unused=$(sed -n 's/^\(kmarkers_[a-z_]*\) [0-9]* 0 .*/\1/p' /proc/modules) && [ "$unused" ]; do
		probe -r "$(echo "$unused" | head -n 1)" || break
	done
	! grep -q ^kmarkers_ /proc/modules
}

# load_examples: do at boot what the examples of the package say, as systemd does
load_examples() {
	mkdir -p /etc/modprobe.d
	cp "$installed/examples/modprobe.conf" /etc/modprobe.d/kmarkers.conf
	sed '/^#/d' "$installed/examples/modules-load.conf" | while read -r module; do
		[ ! "$module" ] || probe "$module" || return
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
		refused "modules whose key is not enrolled" "Key was rejected\|Required key not available" probe example_client
		! grep -q ^kmarkers_ /proc/modules
		result $? "none of the modules is loaded"
		return
	fi
	began=$(seconds_up)
	try "modprobe loads a client and all that it needs" probe example_client
	loading=$(echo "$(seconds_up) $began" | awk '{ print $1 - $2 }')
	try "modprobe loads SDT probes" probe kmarkers_sdt
	for module in kmarkers_patcher kmarkers_immediate kmarkers_markers example_client; do
		loaded "$module"
		result $? "$module is loaded"
	done
	taken=$(size_of_modules)
	echo "# idle modules take $taken KiB"
	[ "$taken" -le "$LIMIT_KIB" ]
	result $? "idle modules take at most $LIMIT_KIB KiB"
	batches=$(grep '^batches' "$debugfs"/patcher/stats 2>/dev/null)
	! grep -h '^kmarkers' /proc/[0-9]*/comm
	result $? "idle modules have no thread"
	same "idle modules change nothing" "$(grep '^batches' "$debugfs"/patcher/stats 2>/dev/null)" "$batches"
	try "calls of functions of the modules are recorded" watch_functions
	sleep 5
	same "idle modules call no function in 5 s" "$(calls_recorded)" 0
	began=$(seconds_up)
	try "the event of the client is switched on" put 1 "$tracing/events/kmarkers/example_tick/enable"
	within 20 tick_is_traced
	result $? "an event appears"
	took=$(echo "$(seconds_up) $began $loading" | awk '{ print $1 - $2 + $3 }')
	echo "# from modprobe to the first event: $took s, of which loading took $loading s"
	[ "${took%.*}" -lt "$EVENT_SECONDS" ]
	result $? "the first event appears within $EVENT_SECONDS s of modprobe"
	[ "$(calls_recorded)" -gt 0 ]
	result $? "calls of functions were recorded then"
	end_watching
	try "the event is switched off" put 0 "$tracing/events/kmarkers/example_tick/enable"
	refused "removing the package while modules are loaded" "kmarkers_patcher.*unload them first" prerm_removes
	try "modprobe unloads the client and all that it needed" probe -r example_client
	try "modprobe unloads SDT probes" probe -r kmarkers_sdt
	try "no module stays" unload_all

	try "modules are loaded at boot as the examples say" load_examples
	loaded kmarkers_markers
	result $? "the module of the example is loaded"
	for module in $core; do
		probe "$module" || break
	done
	same "every parameter is described" "$(undescribed)" ""
	try "parameters are those of the example" options_are_used
	rm /etc/modprobe.d/kmarkers.conf
	try "all modules are unloaded" unload_all

	[ -d "$installed/next" ] || return 0
	must probe kmarkers_patcher || return
	! insmod "$installed/next/kmarkers_immediate.ko"
	result $? "a module of a later version is refused"
	logged "kmarkers_immediate is version .*, but version .* is loaded: unload all modules of kmarkers first"
	result $? "the log says which versions do not fit"
	try "the module of the older version is unloaded" unload_all
	try "modules of the later version are loaded without older ones" insmod "$installed/next/kmarkers_patcher.ko"
	try "modules of the later version are unloaded" unload_all
}
