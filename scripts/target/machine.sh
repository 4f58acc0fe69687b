#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Prints the properties of this machine that numbers depend on, a line key=value each.

# cpuinfo FIELD: print a field of the first CPU
cpuinfo() {
	sed -n "s/^$1[[:space:]]*: //p;/^\$/q" /proc/cpuinfo
}

echo "cpu_model=$(cpuinfo 'model name')"
echo "cpu_family=$(cpuinfo 'cpu family')"
echo "microcode=$(cpuinfo microcode)"
echo "kernel=$(uname -r)"
echo "version=$(uname -v)"
echo "architecture=$(uname -m)"
echo "date=$(date -u +%Y-%m-%dT%H:%M:%SZ)"
