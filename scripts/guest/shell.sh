# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# Job for a test kernel: loads the modules, all but the benchmarks, and runs a shell on the terminal,
# ttyS3. SIZE is its number of rows and of columns.

for module in kmarkers_patcher kmarkers_immediate kmarkers_markers kmarkers_sdt kmarkers_entry; do
	insmod "/modules/$module.ko" || exit 1
done
export PATH=$PATH:/usr/bin TERM="${TERMINAL-vt100}" SIZE="${SIZE-24 80}" PS1='\w # '
cd /sys/kernel/debug/kmarkers || exit 1
# The terminal of a session is the first one that its leader opens. It forgets its size when nobody
# has it open.
# shellcheck disable=SC2016 # for the other shell
setsid sh -c 'exec </dev/ttyS3 >/dev/ttyS3 2>&1
	stty rows "${SIZE% *}" cols "${SIZE#* }"
	cat /welcome
	exec sh -i'
exit 0
