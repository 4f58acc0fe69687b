# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The script scripts/host, which is in /host with the modules that "make modules" builds. The script
# must load the modules that are missing, unload these modules at the end, and leave none of them
# loaded if the script fails or is interrupted.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# call_host WORD...: run scripts/host with these arguments
call_host() {
	/usr/bin/bash /host/scripts/host "$@"
}

# no_kmarkers_module_is_loaded: succeeds if no module of kmarkers is loaded
no_kmarkers_module_is_loaded() {
	! grep ^kmarkers_ /proc/modules
}

# write_program TEXT: replace the program that measures by one that loads all modules, switches
# getppid to the first variant that is not the kernel's own, and then runs the shell commands TEXT
write_program() {
	cat >/host/build/venv/bin/python <<-'EOF'
		#!/bin/sh
		for name in patcher events immediate markers sdt bench_sites bench; do
			insmod /host/*/kmarkers_$name.ko || exit
		done
		file=/sys/kernel/debug/kmarkers/bench/getppid-live
		variant=$(tr -d '[]' <$file | tr ' ' '\n' | grep -v '^original' | head -n 1)
		echo "getppid-live $variant" >/sys/module/kmarkers_bench/parameters/control
		cat $file >/tmp/live
		echo $$ >/tmp/pid
	EOF
	echo "$1" >>/host/build/venv/bin/python
	chmod +x /host/build/venv/bin/python
}

# getppid_was_switched: succeeds if the program of write_program had switched getppid to a variant
getppid_was_switched() {
	[ -s /tmp/live ] && ! grep -q "\[original\]" /tmp/live
}

# write_tools: write an insmod that hangs after it has loaded kmarkers_markers, and a slow rmmod
write_tools() {
	mkdir -p /tmp/tools
	cat >/tmp/tools/insmod <<-'EOF'
		#!/bin/sh
		/bin/busybox insmod "$@" || exit
		[ "${1##*/}" = kmarkers_markers.ko ] || exit 0
		cat /proc/modules >/tmp/reached
		exec sleep 1000
	EOF
	cat >/tmp/tools/rmmod <<-'EOF'
		#!/bin/sh
		sleep 0.5
		exec /bin/busybox rmmod "$@"
	EOF
	chmod +x /tmp/tools/*mod
}

# interrupt_host FILE WORD...: run scripts/host as a job of its own; once FILE is not empty, send
# SIGINT to the job, as Ctrl-C does, until the job has ended
interrupt_host() {
	cat >/tmp/interrupt <<-'EOF'
		set -m
		file=$1
		shift
		/usr/bin/bash /host/scripts/host "$@" &
		for ((i = 0; i < 600; i++)); do
			[[ ! -s $file ]] || break
			sleep 0.1
		done
		for ((i = 0; i < 300; i++)); do
			kill -INT -- "-$!" 2>/dev/null || break
			sleep 0.1
		done
		wait $!
	EOF
	/usr/bin/bash /tmp/interrupt "$@"
}

# load_is_interrupted: interrupt scripts/host while it loads modules
load_is_interrupted() {
	(
		export PATH="/tmp/tools:$PATH"
		interrupt_host /tmp/reached -y load --bench
	)
}

test_host() {
	# Installed modules may be compressed; modules that "make modules" built are never
	# compressed.
	for file in /lib/modules/*/updates/dkms/kmarkers_*.ko* /modules/kmarkers_*.ko; do
		[ -e "$file" ] || continue
		name=$(basename "${file%.xz}" .ko)
		read_it="cat"
		[ "$file" = "${file%.xz}" ] || read_it=xzcat
		for kbuild in /host/*/Kbuild; do
			! grep -q "^obj-m.* $name\.o" "$kbuild" || $read_it "$file" >"${kbuild%/Kbuild}/$name.ko"
		done
	done
	mkdir -p /host/build/venv/bin
	try "the script loads all modules but the benchmarks" call_host -y load
	loaded kmarkers_sdt && ! loaded kmarkers_bench
	result $? "kmarkers_sdt is loaded and kmarkers_bench is not"
	try "load succeeds if all modules are loaded already" call_host -y load
	try "load --bench loads the benchmarks in addition" call_host -y load --bench
	loaded kmarkers_bench
	result $? "kmarkers_bench is loaded after load --bench"
	refused "bench is refused while modules are loaded" "run make unload" call_host -y -f bench
	try "the script unloads all modules" call_host -y unload
	try "no module is loaded after unload" no_kmarkers_module_is_loaded
	try "unload succeeds if no module is loaded" call_host -y unload
	cp /host/sdt/kmarkers_sdt.ko /tmp/whole.ko
	echo broken >/host/sdt/kmarkers_sdt.ko
	refused "load fails if a module cannot be loaded" "kmarkers_sdt.ko cannot be loaded" call_host -y load
	try "the modules that were loaded before the failure are unloaded" no_kmarkers_module_is_loaded
	cp /tmp/whole.ko /host/sdt/kmarkers_sdt.ko
	write_tools
	load_is_interrupted
	same "load that is interrupted exits with 130" $? 130
	grep -q "^kmarkers_markers " /tmp/reached
	result $? "modules were loaded when load was interrupted"
	try "no module is loaded after load was interrupted" no_kmarkers_module_is_loaded
	write_program 'exit 1'
	! call_host -y -f bench
	result $? "bench fails if the measuring program fails"
	getppid_was_switched
	result $? "getppid was redirected when the program failed"
	try "no module is loaded after the program failed" no_kmarkers_module_is_loaded
	rm -f /tmp/pid /tmp/live
	write_program 'exec sleep 1000'
	# Do not use call_host, which would run in a subshell: $! must be the process of the script.
	/usr/bin/bash /host/scripts/host -y -f bench &
	must within 60 test -s /tmp/pid || return
	# The signal is sent to the script and to the program, as at a shutdown.
	kill -TERM $! "$(cat /tmp/pid)"
	! wait $!
	result $? "bench fails if script and program are terminated"
	getppid_was_switched
	result $? "getppid was redirected when the program was terminated"
	try "no module is loaded after script and program were terminated" no_kmarkers_module_is_loaded
	rm -f /tmp/pid /tmp/live
	interrupt_host /tmp/pid -y -f bench
	same "bench that is interrupted by Ctrl-C exits with 130" $? 130
	getppid_was_switched
	result $? "getppid was redirected when Ctrl-C was pressed"
	try "no module is loaded after Ctrl-C" no_kmarkers_module_is_loaded
}
