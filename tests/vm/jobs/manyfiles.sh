# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Measures the times to load and to unload a module, with and without its tables of sites.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

module=${KMARKERS_MODULE?}

# print_duration WHAT COMMAND...: print the duration of the command in milliseconds
print_duration() {
	what=$1
	shift
	read -r start _ </proc/uptime
	"$@" || exit 1
	read -r end _ </proc/uptime
	echo "# $what: $(((${end%.*}${end#*.} - ${start%.*}${start#*.}) * 10)) ms"
}

# wait_for_event_changes: wait until the trace events of a loaded module are added, or the trace
# events of an unloaded module are removed
wait_for_event_changes() {
	cat "$debugfs"/markers/list >/dev/null
}

for core in kmarkers_patcher kmarkers_events kmarkers_immediate kmarkers_markers; do
	insmod "/modules/$core.ko" || exit 1
done
for _ in $(seq "${KMARKERS_TURNS:-7}"); do
	print_duration "load without" insmod "/modules/$module.without.ko"
	print_duration "unload without" rmmod "$module"
	print_duration "load with" insmod "/modules/$module.ko"
	print_duration "events with" wait_for_event_changes
	sites=$(grep -c "" $debugfs/patcher/sites)
	print_duration "unload with" rmmod "$module"
	print_duration "events without" wait_for_event_changes
done
[ "$sites" -gt 1000 ]
result $? "the patcher has more than 1000 sites: $sites"
sed 's/^/# patcher /' $debugfs/patcher/stats
finish
