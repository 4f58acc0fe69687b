#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Prints the properties of this machine that affect benchmark results, as lines key=value.

# print_cpuinfo FIELD: print a field of the first CPU
print_cpuinfo() {
	sed -n "s/^$1[[:space:]]*: //p;/^\$/q" /proc/cpuinfo
}

echo "cpu_model=$(print_cpuinfo 'model name')"
echo "cpu_family=$(print_cpuinfo 'cpu family')"
echo "microcode=$(print_cpuinfo microcode)"
echo "kernel=$(uname -r)"
echo "version=$(uname -v)"
echo "architecture=$(uname -m)"
echo "date=$(date -u +%Y-%m-%dT%H:%M:%SZ)"
