#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Prints the properties of this machine that affect benchmark results, as lines key=value.

# print_cpuinfo_field FIELD: print a field of the first CPU
print_cpuinfo_field() {
	sed -n "s/^$1[[:space:]]*: //p;/^\$/q" /proc/cpuinfo
}

echo "cpu_model=$(print_cpuinfo_field 'model name')"
echo "cpu_family=$(print_cpuinfo_field 'cpu family')"
echo "microcode=$(print_cpuinfo_field microcode)"
echo "kernel=$(uname -r)"
echo "version=$(uname -v)"
echo "architecture=$(uname -m)"
echo "date=$(date -u +%Y-%m-%dT%H:%M:%SZ)"
