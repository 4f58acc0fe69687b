# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Modules as the packages install them: loaded with all that they need, idle, used, unloaded. The
# program modprobe is that of the Debian they were installed in, as is /lib/modules.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

LIMIT_KIB=400

# probe WORD...: modprobe of the distribution
probe() {
	/usr/sbin/modprobe "$@"
}

# size_of_modules: print how much memory our modules take
size_of_modules() {
	awk '/^kmarkers_/ { sum += $2 } END { print int(sum / 1024) }' /proc/modules
}

# tick_is_traced: succeeds if the event of the example is in the trace
tick_is_traced() {
	grep -q "example_tick: " "$tracing/trace"
}

# prerm: what dpkg runs before it removes the package
prerm_removes() {
	sh /prerm remove
}

test_packages() {
	if [ "$KMARKERS_PART" = refused ]; then
		refused "modules whose key is not enrolled" "Key was rejected\|Required key not available" probe example_client
		! grep -q ^kmarkers_ /proc/modules
		result $? "none of the modules is loaded"
		return
	fi
	try "modprobe loads SDT probes" probe kmarkers_sdt
	try "modprobe loads a client and all that it needs" probe example_client
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
	try "the event of the client is switched on" put 1 "$tracing/events/kmarkers/example_tick/enable"
	within 20 tick_is_traced
	result $? "an event appears"
	read -r now _ </proc/uptime
	echo "# first event at $now s of uptime"
	try "the event is switched off" put 0 "$tracing/events/kmarkers/example_tick/enable"
	refused "removing the package while modules are loaded" "kmarkers_patcher.*unload them first" prerm_removes
	try "modprobe unloads the client and all that it needed" probe -r example_client
	try "modprobe unloads SDT probes" probe -r kmarkers_sdt
	# Those that nobody uses come first.
	while unused=$(sed -n 's/^\(kmarkers_[a-z_]*\) [0-9]* 0 .*/\1/p' /proc/modules) && [ "$unused" ]; do
		probe -r "$(echo "$unused" | head -n 1)" || break
	done
	! grep -q ^kmarkers_ /proc/modules
	result $? "no module stays"
}
