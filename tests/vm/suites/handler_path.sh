# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Functions that run between a breakpoint and the patcher's handler, as found with the function
# tracer. A breakpoint in one of them would cause endless recursion, so none of them may be a site.
# shellcheck source=tests/vm/lib_core.sh
. /tests/lib_core.sh

# trace_path SIZE: print the functions that were traced in breakpoint context, with trace buffers of
# SIZE KiB. The trace shows this context as an NMI: "z" or "Z" among the flags of a line.
trace_path() {
	put 0 "$tracing"/tracing_on
	put "$1" "$tracing"/buffer_size_kb
	put function "$tracing"/current_tracer
	for case in patcher_storm_of_jumps imv_storm; do
		put 1 "$tracing"/tracing_on
		put $case "$case_to_run"
		put 0 "$tracing"/tracing_on
		awk '$3 ~ /[zZ]/ && $6 ~ /^<-/ && !seen[$5]++ { print $5 }' "$tracing"/trace
		put "" "$tracing"/trace
	done | sort -u
	put nop "$tracing"/current_tracer
	put 1 "$tracing"/tracing_on
}

# keep_kernel_functions FILE: print those functions listed in the file that are in the kernel itself
keep_kernel_functions() {
	awk 'NR == FNR { known[$3]; next } $1 in known' /tmp/symbols "$1"
}

test_handler_path() {
	must insmod /modules/kmarkers_test_core.ko || return
	must insmod /modules/kmarkers_test.ko batches=80 || return
	read_symbols
	# The buffers keep only the last calls. If these include no breakpoint, try larger
	# buffers.
	for size in 100 200 400 800; do
		trace_path $size >/tmp/path
		! grep -q patcher_handle_int3 /tmp/path || break
	done
	keep_kernel_functions /tmp/path >/tmp/kernel_path
	echo "# $(tr '\n' ' ' </tmp/path)"
	grep -q patcher_handle_int3 /tmp/path
	result $? "the trace shows the patcher's breakpoint handler"
	[ "$(wc -l </tmp/kernel_path)" -ge 2 ]
	result $? "the trace shows at least 2 functions of the kernel in breakpoint context"
	while read -r function; do
		refused "a site in $function is refused" "not permitted" command_core site "$function" 5 5
		logged "patcher: change of function $function refused: the breakpoint handler uses it"
		result $? "the log says that the breakpoint handler uses $function"
	done </tmp/kernel_path
	rmmod kmarkers_test
	rmmod kmarkers_test_core
}
