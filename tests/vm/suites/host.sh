# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# scripts/host in /host, with the modules as "make modules" builds them. The script loads the
# missing modules, unloads all of them at the end, and leaves none loaded when it fails or is
# interrupted.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

# call_host WORD...
call_host() {
	/usr/bin/bash /host/scripts/host "$@"
}

# none_loaded: succeeds if no module of ours is loaded
none_loaded() {
	! grep ^kmarkers_ /proc/modules
}

# write_program TEXT: write a program in place of the one that measures. The program loads all
# modules, switches getppid to the first variant that is not the kernel's own, and then runs TEXT.
write_program() {
	cat >/host/build/venv/bin/python <<-'EOF'
		#!/bin/sh
		for name in patcher immediate markers sdt bench_sites bench; do
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

# getppid_was_switched: succeeds if getppid was a variant other than the kernel's own
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

# interrupt_host FILE WORD...: call the script as the only job of a terminal; once FILE exists,
# press Ctrl-C until the script has ended
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

# load_is_interrupted: interrupt the script while it loads modules
load_is_interrupted() {
	(
		export PATH="/tmp/tools:$PATH"
		interrupt_host /tmp/reached -y load --bench
	)
}

test_host() {
	# Installed modules may be compressed; those of "make modules" are not.
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
	result $? "SDT probes are loaded and benchmarks are not"
	try "loading again does nothing" call_host -y load
	try "benchmarks are added" call_host -y load --bench
	loaded kmarkers_bench
	result $? "benchmarks are loaded"
	refused "measuring while modules are loaded" "run make unload" call_host -y -f bench
	try "the script unloads all modules" call_host -y unload
	try "no module stays after that" none_loaded
	try "unloading again does nothing" call_host -y unload
	cp /host/sdt/kmarkers_sdt.ko /tmp/whole.ko
	echo broken >/host/sdt/kmarkers_sdt.ko
	refused "a module that cannot be loaded" "kmarkers_sdt.ko cannot be loaded" call_host -y load
	try "modules that were loaded before it are unloaded" none_loaded
	cp /tmp/whole.ko /host/sdt/kmarkers_sdt.ko
	write_tools
	load_is_interrupted
	same "loading that is interrupted ends with 130" $? 130
	grep -q "^kmarkers_markers " /tmp/reached
	result $? "modules were loaded when it was interrupted"
	try "no module stays when loading was interrupted" none_loaded
	write_program 'exit 1'
	! call_host -y -f bench
	result $? "a program that fails is a failure"
	getppid_was_switched
	result $? "getppid was redirected when it failed"
	try "everything is unloaded after a failure" none_loaded
	rm -f /tmp/pid /tmp/live
	write_program 'exec sleep 1000'
	# With bash called directly, $! is the script itself.
	/usr/bin/bash /host/scripts/host -y -f bench &
	must within 60 test -s /tmp/pid || return
	# As at a shutdown, the signal is sent to both.
	kill -TERM $! "$(cat /tmp/pid)"
	! wait $!
	result $? "an interrupted program is a failure"
	getppid_was_switched
	result $? "getppid was redirected when it was interrupted"
	try "everything is unloaded after an interruption" none_loaded
	rm -f /tmp/pid /tmp/live
	interrupt_host /tmp/pid -y -f bench
	same "measuring that is interrupted by Ctrl-C ends with 130" $? 130
	getppid_was_switched
	result $? "getppid was redirected when Ctrl-C was pressed"
	try "everything is unloaded after Ctrl-C" none_loaded
}
