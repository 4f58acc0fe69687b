# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Every conversion, flag, width, length and kind of pointer in the format of a marker, as the
# kernel, trace-cmd, perf and bpftrace print it, and as it is stored in the record.
# tests/kernel/readers.h has the table. A sentinel behind each conversion shows whether the
# conversion consumed the right number of arguments.
# shellcheck source=tests/vm/lib_fields.sh
. /tests/lib_fields.sh

export PATH=$PATH:/usr/bin
readers=/sys/module/kmarkers_test_readers/parameters
hit_readers="echo 1 >$readers/hit"
tab=$(printf '\t')

# print_texts FILE: print name and text of each row's record in the output of a tracer, separated by
# a tab. The bar in front of a text is left out.
print_texts() {
	sed -n "s/^.*[ :]rd_\([A-Za-z0-9_]*\): *|\(.*\)/\1$tab\2/p" "$1"
}

# print_page_table: print conversion, text of the kernel and text of the tracers from the table in
# tracing.md
print_page_table() {
	awk -F '|' '/^\| `/ { for (i = 2; i < 5; i++) { sub(/^ *`?/, "", $i); sub(/`? *$/, "", $i) }
		print $2 "\t" $3 "\t" $4 }' /tracing.md
}

# list_row_values: print name and value of the rows of readers.h that have a value
list_row_values() {
	awk -F '\t' '$3 { print $1 "\t" $3 }' /tmp/rows
}

# check_texts NAME REPORT: a test that passes if the tracer whose output is in REPORT prints for
# each row the same text as the kernel, or the different text that tracing.md documents
check_texts() {
	print_texts "$2" >/tmp/texts
	awk -F '\t' '
		# Returns whether the text matches the pattern, in which a star stands for any
		# characters.
		function like(text, pattern,    at) {
			at = index(pattern, "*")
			if (!at)
				return text == pattern
			if (substr(text, 1, at - 1) != substr(pattern, 1, at - 1))
				return 0
			pattern = substr(pattern, at + 1)
			return substr(text, length(text) - length(pattern) + 1) == pattern
		}
		FILENAME == "/tmp/page" { conversion[++pages] = $1; kernel[pages] = $2; other[pages] = $3; next }
		FILENAME == "/tmp/rows" { of[$1] = $2; order[++rows] = $1; next }
		FILENAME == "/tmp/kernel" { said[$1] = $2; next }
		{ shown[$1] = $2; times[$1]++ }
		END {
			for (i = 1; i <= rows; i++) {
				name = order[i]
				text = shown[name]
				if (times[name] != 1)
					print "# " name ": " times[name] + 0 " records"
				wanted = said[name]
				for (j = 1; j <= pages; j++) {
					tail = " sentinel 4711"
					if (conversion[j] == of[name] && like(said[name], kernel[j] tail))
						wanted = other[j] tail
				}
				if (!like(text, wanted))
					print "# " name " " of[name] ": \"" text "\", wanted \"" wanted "\""
			}
		}' /tmp/page /tmp/rows /tmp/kernel /tmp/texts >/tmp/wrong
	head -n 40 /tmp/wrong
	[ -s /tmp/texts ] && [ ! -s /tmp/wrong ]
	result $? "$1"
}

# check_page: a test that passes if readers.h has a row for each conversion in the table of
# tracing.md
check_page() {
	awk -F '\t' '
		FILENAME == "/tmp/rows" { known[$2] = 1; next }
		!known[$1] { print "# no row of readers.h tests " $1 ", which is in tracing.md" }' /tmp/rows /tmp/page >/tmp/wrong
	cat /tmp/wrong
	[ -s /tmp/page ] && [ ! -s /tmp/wrong ]
	result $? "each conversion in tracing.md is tested by a row"
}

# switch_rows 0/1: disable or enable the events of all rows
switch_rows() {
	for enable in "$own"/r[dl]_*/enable; do
		echo "$1" >"$enable"
	done
}

test_kernel_texts() {
	echo >"$tracing/trace"
	sh -c "$hit_readers"
	print_texts "$tracing/trace" >/tmp/kernel
	same "the trace has a record of each row" "$(wc -l </tmp/kernel)" "$(wc -l </tmp/rows)"
	awk -F '\t' '
		FILENAME == "/tmp/rows" { text[$1] = $4; next }
		text[$1] == "?" && $2 ~ / sentinel 4711$/ { next }
		$2 != text[$1] " sentinel 4711" { print "# " $1 ": \"" $2 "\", wanted \"" text[$1] "\"" }
		' /tmp/rows /tmp/kernel >/tmp/wrong
	head -n 40 /tmp/wrong
	[ ! -s /tmp/wrong ]
	result $? "the kernel prints the text in the table of readers.h"
}

# readers_piped COUNT: succeeds if at least COUNT records were read from trace_pipe
readers_piped() {
	[ "$(grep -c ": r[dl]_" /tmp/pipe)" -ge "$1" ]
}

# Checks that all lines of trace_pipe are complete, also at the end of a page.
test_trace_pipe() {
	cat "$tracing/trace_pipe" >/tmp/pipe &
	reader=$!
	within 60 readers_piped $(($(wc -l </tmp/rows) + 41))
	result $? "trace_pipe prints all records"
	kill $reader
	wait $reader 2>/dev/null
	print_texts /tmp/pipe >/tmp/piped
	cmp -s /tmp/kernel /tmp/piped
	result $? "trace_pipe prints the same texts as the file trace"
	same "trace_pipe prints complete lines of 2,000 characters" \
		"$(grep -c ": rl_long: |nr [0-9].* sentinel 4711\$" /tmp/pipe)" 40
	same "a line longer than a page ends in dots in trace_pipe" \
		"$(grep -c ": rl_endless: |nr 1 .* 1 .*\.\.\.\$" /tmp/pipe)" 1
}

# Filters of the kernel check the values that are stored in the records.
test_values() {
	list_row_values >/tmp/values
	wrong=
	while IFS=$tab read -r name value; do
		echo "$value && sentinel == 4711" >"$own/rd_$name/filter" || wrong="$wrong $name"
	done </tmp/values
	same "filters for all values are accepted" "$wrong" ""
	echo >"$tracing/trace"
	sh -c "$hit_readers"
	print_texts "$tracing/trace" >/tmp/filtered
	cmp -s /tmp/kernel /tmp/filtered
	result $? "a filter finds each value in its record"
	for filter in "$own"/rd_*/filter; do
		echo 0 >"$filter"
	done
}

test_readers_in_trace_cmd() {
	try "trace-cmd records all rows" \
		trace-cmd record -q -o /tmp/trace.dat -e "kmarkers:rd_*" sh -c "$begun$hit_readers"
	trace-cmd report -i /tmp/trace.dat >/tmp/report 2>/tmp/errors
	head -n 5 /tmp/errors | sed 's/^/# /'
	check_texts "trace-cmd prints the texts of the kernel or those in tracing.md" /tmp/report
}

test_readers_in_perf() {
	try "perf records all rows" perf record -q -a -o /tmp/perf.data -e "kmarkers:rd_*" sh -c "$hit_readers"
	perf script -i /tmp/perf.data >/tmp/report 2>/tmp/errors
	head -n 5 /tmp/errors | sed 's/^/# /'
	check_texts "perf prints the texts of the kernel or those in tracing.md" /tmp/report
}

bpftrace_is_ready() {
	grep -q ready /tmp/report
}

# Runs one bpftrace program for each row of readers.h that has a value; strings are read with str().
# Rows with strings are left out if bpftrace misreads the strings of all events, as version 0.23
# does.
test_readers_in_bpftrace() {
	list_row_values >/tmp/values
	bpftrace_reads %s "str(args->filename)" /bin/busybox || sed -i '/"/d' /tmp/values
	echo 'BEGIN { printf("ready\n"); }' >/tmp/rows.bt
	while IFS=$tab read -r name value; do
		value=$(echo "$value" | sed 's/arg[0-9]/args->&/g; s/^ip /args->&/; s/\(args->arg[0-9]\) == "/str(\1) == "/g')
		echo "tracepoint:kmarkers:rd_$name /$value && args->sentinel == 4711/ { printf(\"is $name\\n\"); }"
	done </tmp/values >>/tmp/rows.bt
	bpftrace /tmp/rows.bt >/tmp/report 2>&1 &
	tracer=$!
	within 300 bpftrace_is_ready
	result $? "bpftrace accepts a program for each row"
	sh -c "$hit_readers"
	within 20 grep -q -x "is p" /tmp/report
	end_tracer $tracer
	sed -n 's/^is //p' /tmp/report | sort >/tmp/found
	cut -f 1 /tmp/values | sort >/tmp/wanted
	cmp -s /tmp/found /tmp/wanted || diff /tmp/wanted /tmp/found | sed 's/^/# /'
	cmp -s /tmp/found /tmp/wanted
	result $? "bpftrace reads the value of each row"
}

# Checks how the tracers show an SDT probe whose arguments have const types, and the entry of a
# recorded function (built with entry.mk).
test_other_sources() {
	try "the event of an SDT probe with seven arguments is added" put "readers:::all event" "$debugfs/sdt/control"
	shown="arg1 -3 arg2 200 arg3 -300 arg4 3000000000 arg5 text arg6 [^ ]* arg7 4711"
	put 1 "$tracing/events/sdt_readers/all/enable"
	echo >"$tracing/trace"
	sh -c "$hit_readers"
	put 0 "$tracing/events/sdt_readers/all/enable"
	same "the trace shows the SDT probe with its arguments" "$(grep -c ": all: .*$shown\$" "$tracing/trace")" 1
	trace-cmd record -q -o /tmp/trace.dat -e sdt_readers:all sh -c "$begun$hit_readers"
	trace-cmd report -i /tmp/trace.dat >/tmp/report 2>&1
	same "trace-cmd shows the SDT probe with its arguments" "$(grep -c " all: .*$shown\$" /tmp/report)" 1
	perf record -q -a -o /tmp/perf.data -e sdt_readers:all sh -c "$hit_readers"
	perf script -i /tmp/perf.data >/tmp/report 2>&1
	same "perf shows the SDT probe with its arguments" "$(grep -c ":all: .*$shown\$" /tmp/report)" 1
	try "the event of the SDT probe is removed" put "readers:::all -event" "$debugfs/sdt/control"
	can_record "tracers show recorded functions" || return
	must insmod /modules/kmarkers_test_entry.ko || return
	try "the entries of a function are recorded by an event" put "kmarkers_test_entry:te_cold:entry event" "$debugfs/entry/control"
	pass="echo 1 >/sys/module/kmarkers_test_entry/parameters/pass"
	trace-cmd record -q -o /tmp/trace.dat -e kmarkers_function:entry sh -c "$begun$pass"
	trace-cmd report -i /tmp/trace.dat >/tmp/report 2>&1
	same "trace-cmd shows a recorded function and its caller" \
		"$(grep -c "entry: *function te_cold caller te_" /tmp/report)" 1
	perf record -q -a -o /tmp/perf.data -e kmarkers_function:entry sh -c "$pass"
	perf script -i /tmp/perf.data >/tmp/report 2>&1
	same "perf shows the entry of a recorded function" "$(grep -c "entry: function [^ ]* caller " /tmp/report)" 1
	try "the action event is removed from the function" put "kmarkers_test_entry:te_cold:entry -event" "$debugfs/entry/control"
	rmmod kmarkers_test_entry
}

test_readers() {
	must insmod /modules/kmarkers_test_readers.ko || return
	cat "$debugfs/markers/list" >/dev/null
	cat "$readers"/rows_* >/tmp/rows
	print_page_table >/tmp/page
	check_page
	switch_rows 1
	test_kernel_texts
	test_trace_pipe
	test_values
	switch_rows 0
	test_readers_in_trace_cmd
	test_readers_in_perf
	! bpftrace_reads_events "bpftrace reads the value of each row" || test_readers_in_bpftrace
	test_other_sources
	rmmod kmarkers_test_readers
}
