# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Job for a test kernel: loads the modules except the benchmarks, then the modules that the
# variable OWN lists, and runs a shell on the terminal ttyS3. The variable SIZE holds the numbers of
# rows and columns of the terminal.

for module in kmarkers_patcher kmarkers_events kmarkers_immediate kmarkers_markers kmarkers_sdt kmarkers_entry; do
	insmod "/modules/$module.ko" || exit 1
done
# Enlarge the ring buffer of ftrace, which initially holds only a few dozen events of each CPU.
echo 1408 >/sys/kernel/tracing/buffer_size_kb
# Start the shell even if a module cannot be loaded, so that the user can look for the cause. The
# shell prints the error before its first prompt.
said=$(for module in ${OWN-}; do
	insmod "$module" 2>&1 || break
done)
export SAID="$said"
export PATH=$PATH:/usr/bin TERM="${TERMINAL-vt100}" SIZE="${SIZE-24 80}" PS1='\w # '
cd /sys/kernel/debug/kmarkers || exit 1
# The first terminal that a session leader opens becomes the controlling terminal. A serial port
# loses its size when it is not open.
# shellcheck disable=SC2016 # the inner shell expands the variables
setsid sh -c 'exec </dev/ttyS3 >/dev/ttyS3 2>&1
	stty rows "${SIZE% *}" cols "${SIZE#* }"
	cat /welcome
	[ -z "$SAID" ] || { echo "$SAID"; dmesg | tail -n 3; echo; }
	exec sh -i'
exit 0
