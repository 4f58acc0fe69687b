# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Tests the modules of DKMS packages, which were built twice: unchanged, and with markers added to
# their source. Each module that loads unchanged must also load with markers; then its markers must
# be traced and switched, and the module must unload and load again. /dkms has a folder for each
# package. In this folder, the folder "unmarked" has the unchanged modules, the folder "marked" has
# the modules with markers, the file "order" has the names of the modules, and the file "stock" has
# the names of the kernel's own modules that they need.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# print_module_name FILE: print the module name of a file
print_module_name() {
	basename "${1%.ko}" | tr - _
}

# insert_file FILE: load a module; the text of an error is in /tmp/said. A driver's init function
# may wait for its device for ever, and cannot be killed. So insert_file waits for at most a minute,
# then sets $waiting and fails.
insert_file() {
	rm -f /tmp/code
	(
		insmod "$1" >/tmp/said 2>&1
		echo $? >/tmp/code
	) &
	if ! within 60 [ -s /tmp/code ]; then
		waiting=yes
		echo "the init function has not ended after 60 s" >/tmp/said
		# The kernel would warn of the waiting task later, in the middle of other tests.
		echo 0 >/proc/sys/kernel/hung_task_timeout_secs
		return 1
	fi
	read -r code </tmp/code
	return "$code"
}

# load_files KIND FILES: load the FILES of the package's folder KIND (marked or unmarked); set
# $there to the files that were loaded, the last file first
load_files() {
	there=
	waiting=
	for file in $2; do
		if insert_file "$dir/$1/$file"; then
			there="$file${there:+ $there}"
		else
			echo "# $package: $file: $(cat /tmp/said)"
			[ -z "$waiting" ] || return
		fi
	done
}

# unload_files: unload the modules in $there
unload_files() {
	for file in $there; do
		rmmod "$(print_module_name "$file")" || return 1
	done
}

# switch_functions COMMAND: apply a command of entry/control to all functions of the modules in
# $there
switch_functions() {
	for file in $there; do
		put "$(print_module_name "$file"): $1" "$debugfs/entry/control" || return 1
	done
}

# hit_parameters: hit the markers of all modules by writing to their parameters
hit_parameters() {
	for parameter in /sys/module/*/parameters/km_*; do
		put 5 "$parameter" || return 1
	done
}

# hits_are_traced: succeeds if the trace shows the hits that hit_parameters caused in each module
hits_are_traced() {
	nr=$(echo /sys/module/*/parameters/km_* | wc -w)
	for expected in "_inline: number 1" "_inline: number 2" "_runs: limit 3"; do
		[ "$(grep -c "km_[a-zA-Z0-9_]*$expected" "$tracing/trace")" -eq "$nr" ] && continue
		echo "# $package: the trace lacks records with '$expected'"
		grep -v "^#" "$tracing/trace" | head -n 5 | sed 's/^/# trace: /'
		return 1
	done
}

# hits_are_counted: succeeds if a call of each function that sets a parameter was counted
hits_are_counted() {
	[ "$(grep -c ":km_[a-zA-Z0-9_]*_set:entry on count [1-9]" "$debugfs/entry/list")" -eq "$nr" ]
}

# switch_20_times: switch all markers and functions off and on 20 times
switch_20_times() {
	for _ in $(seq 20); do
		put 'km_* -trace' "$debugfs/markers/control" && put 'km_* trace' "$debugfs/markers/control" &&
			switch_functions -count && switch_functions count || return 1
	done
}

# check_marked_modules: test the package's modules with markers
check_marked_modules() {
	wanted=$there
	load_files marked "$(cat "$dir/order")"
	same "$package: the modules that load without markers also load with markers" "$there" "$wanted"
	try "$package: its markers are switched on" put 'km_* trace' "$debugfs/markers/control"
	try "$package: its functions are switched on" switch_functions count
	put "" "$tracing/trace"
	try "$package: its markers are hit" hit_parameters
	hits_are_traced
	result $? "$package: its markers are traced"
	hits_are_counted
	result $? "$package: its functions are counted"
	try "$package: its markers and functions are switched 20 times" switch_20_times
	switch_functions -count
	put 'km_* none' "$debugfs/markers/control"
	try "$package: its modules unload" unload_files
	load_files marked "$(cat "$dir/order")"
	same "$package: its modules load again" "$there" "$wanted"
	try "$package: its modules unload again" unload_files
}

# log_foreign_code begins|ends: write a line to the kernel's log. The host ignores faults that the
# kernel logs between these two lines, because modules that do not use kmarkers cause these faults.
log_foreign_code() {
	echo "<5>kmarkers-job: foreign code $1" >/dev/kmsg
}

# test_package_modules: load and unload the package's unchanged modules; if that succeeds, test the
# modules with markers
test_package_modules() {
	while read -r file; do
		loaded "$(print_module_name "$file")" || insmod "/stock/$file"
	done <"$dir/stock"
	dmesg -c >/dev/null
	log_foreign_code begins
	load_files unmarked "$(cat "$dir/order")"
	unload_files
	unloaded=$?
	log_foreign_code ends
	if [ -n "$waiting" ]; then
		skip "$package" "the init function of one of its modules does not end"
	elif [ -z "$there" ]; then
		skip "$package" "none of its modules loads"
	elif [ $unloaded != 0 ]; then
		skip "$package" "its modules do not unload, even without markers"
	elif ! log_is_clean; then
		skip "$package" "its modules make the kernel warn, even without markers"
	else
		check_marked_modules
	fi
	log_is_clean
}

begin_suite load
# Enlarge the trace buffer, which at first has space for only a few dozen events of each CPU.
echo 1408 >"$tracing/buffer_size_kb"
try "the modules load" load_core
for dir in /dkms/*; do
	package=${dir##*/}
	begin_suite "$package"
	test_package_modules
done
begin_suite unload
try "the modules unload" unload_core
finish
