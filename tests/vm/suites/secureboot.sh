# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The effects of Secure Boot on a kernel and on modules. The modules in /modules are signed with a
# key whose certificate the firmware has. The same modules are in /unsigned without a signature.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

first=kmarkers_patcher.ko

# taints BIT: succeeds if that taint of the kernel is set
taints() {
	[ $(($(cat /proc/sys/kernel/tainted) >> $1 & 1)) = 1 ]
}

# size FILE
size() {
	stat -c %s "$1"
}

# changed: make a signed module of which one byte of the unsigned part was changed afterwards
changed() {
	cp "/modules/$first" /tmp/changed.ko
	printf X | dd of=/tmp/changed.ko bs=1 seek=$(($(size "/unsigned/$first") / 2)) conv=notrunc 2>/dev/null
	! cmp -s "/modules/$first" /tmp/changed.ko && [ "$(size "/modules/$first")" = "$(size /tmp/changed.ko)" ]
}

test_secureboot() {
	# The log still has the messages of the boot.
	logged "[Ss]ecure boot enabled"
	result $? "the kernel finds Secure Boot enabled"
	[ -e /sys/kernel/security/lockdown ] || mount -t securityfs securityfs /sys/kernel/security
	same "the kernel is locked down by that" "$(cat /sys/kernel/security/lockdown)" "none [integrity] confidentiality"
	grep -q "asymmetri kmarkers test of Secure Boot: " /proc/keys
	result $? "the kernel has the firmware's certificate"
	# Linux 5.10 refuses it because of lockdown, later kernels because they must have signatures.
	refused "a module without a signature" "Key was rejected\|not permitted" insmod "/unsigned/$first"
	logged "unsigned module is rejected\|unsigned module loading is restricted"
	result $? "the log says that it is not signed"
	must changed || return
	refused "a signed module that was changed afterwards" "Key was rejected" insmod /tmp/changed.ko
	! loaded kmarkers_patcher
	result $? "neither was loaded"
	head -c "$(size "/unsigned/$first")" "/modules/$first" | cmp -s - "/unsigned/$first"
	result $? "the signed module is the other one and a signature"
	try "the signed module" insmod "/modules/$first"
	taints 12 && ! taints 13
	result $? "the kernel is tainted by a module from elsewhere, and by none without a signature"
	try "the signed module unloads" rmmod kmarkers_patcher
}
