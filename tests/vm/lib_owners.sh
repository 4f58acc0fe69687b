# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Functions for tests beside other code that patches text: kprobes, ftrace and live patches.
# shellcheck source=tests/vm/lib_core.sh
. /tests/lib_core.sh

# getppid_returns WANTED: succeeds if getppid returns WANTED; "real" stands for any valid process ID
getppid_returns() {
	pid=$(parent_pid)
	case $1 in
	real) [ "$pid" = $$ ] || [ "$pid" -lt 4000 ] ;;
	*) [ "$pid" = "$1" ] ;;
	esac || {
		echo "# getppid returned $pid, not $1"
		return 1
	}
}

# site_probe_was_hit: succeeds if the kprobe "site" was hit since the last call
site_probe_was_hit() {
	hits=$(probe_hits site)
	old_hits=${last_hits:-0}
	last_hits=$hits
	[ "${hits:-0}" -gt "$old_hits" ]
}

# make_owner KIND: register a disabled or armed kprobe on the call in getppid, or attach ftrace or a
# live patch to getppid. The kernel does not optimise a kprobe on a call.
make_owner() {
	last_hits=0
	case $1 in
	disabled) add_probe site "$getppid" "$call" ;;
	armed) add_probe site "$getppid" "$call" && enable_probe site ;;
	ftrace)
		# Several symbols have the address of the function; the first symbol is enough.
		put "$(grep -m 1 getppid "$tracing"/available_filter_functions)" \
			"$tracing"/set_ftrace_filter && put function "$tracing"/current_tracer
		;;
	livepatch) insmod /modules/kmarkers_test_livepatch.ko ;;
	esac
}

# remove_owner KIND: remove what make_owner KIND made
remove_owner() {
	case $1 in
	disabled) remove_probe site ;;
	armed)
		disable_probe site
		remove_probe site
		;;
	ftrace)
		put nop "$tracing"/current_tracer
		put "" "$tracing"/set_ftrace_filter
		;;
	livepatch)
		put 0 /sys/kernel/livepatch/kmarkers_test_livepatch/enabled
		within 20 rmmod_livepatch
		;;
	esac
}

has_livepatch() {
	[ -e /modules/kmarkers_test_livepatch.ko ]
}

rmmod_livepatch() {
	rmmod kmarkers_test_livepatch 2>/dev/null
}
