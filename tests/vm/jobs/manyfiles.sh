# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Measures the times to load and to unload a module, with its tables of sites and without them.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

module=${KMARKERS_MODULE?}

# timed WHAT COMMAND...: print the duration of the command in milliseconds
timed() {
	what=$1
	shift
	read -r start _ </proc/uptime
	"$@" || exit 1
	read -r end _ </proc/uptime
	echo "# $what: $(((${end%.*}${end#*.} - ${start%.*}${start#*.}) * 10)) ms"
}

# settle_events: wait until the trace events of a loaded module are added, or those of an unloaded
# module removed
settle_events() {
	cat "$debugfs"/markers/list >/dev/null
}

for core in kmarkers_patcher kmarkers_events kmarkers_immediate kmarkers_markers; do
	insmod "/modules/$core.ko" || exit 1
done
for _ in $(seq "${KMARKERS_TURNS:-7}"); do
	timed "load without" insmod "/modules/$module.without.ko"
	timed "unload without" rmmod "$module"
	timed "load with" insmod "/modules/$module.ko"
	timed "events with" settle_events
	sites=$(grep -c "" $debugfs/patcher/sites)
	timed "unload with" rmmod "$module"
	timed "events without" settle_events
done
[ "$sites" -gt 1000 ]
result $? "the patcher has more than 1000 sites: $sites"
sed 's/^/# patcher /' $debugfs/patcher/stats
finish
