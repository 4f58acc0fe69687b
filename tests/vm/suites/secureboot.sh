# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
# The effects of Secure Boot on the kernel and on modules. The modules in /modules are signed with a
# key whose certificate is enrolled in the firmware; those in /unsigned are the same without a
# signature.
# shellcheck source=tests/vm/lib.sh
. /tests/lib.sh

first=kmarkers_patcher.ko

# taints BIT: succeeds if that bit of the kernel's taint flags is set
taints() {
	[ $(($(cat /proc/sys/kernel/tainted) >> $1 & 1)) = 1 ]
}

# print_file_size FILE: print the size of the file in bytes
print_file_size() {
	stat -c %s "$1"
}

# make_changed: write /tmp/changed.ko, a signed module in which one byte before the signature was
# changed
make_changed() {
	cp "/modules/$first" /tmp/changed.ko
	printf X | dd of=/tmp/changed.ko bs=1 seek=$(($(print_file_size "/unsigned/$first") / 2)) conv=notrunc 2>/dev/null
	! cmp -s "/modules/$first" /tmp/changed.ko && [ "$(print_file_size "/modules/$first")" = "$(print_file_size /tmp/changed.ko)" ]
}

test_secureboot() {
	# $log still has the messages of the boot.
	logged "[Ss]ecure boot enabled"
	result $? "the kernel finds Secure Boot enabled"
	[ -e /sys/kernel/security/lockdown ] || mount -t securityfs securityfs /sys/kernel/security
	same "the kernel is locked down because of Secure Boot" "$(cat /sys/kernel/security/lockdown)" "none [integrity] confidentiality"
	grep -q "asymmetri kmarkers test of Secure Boot: " /proc/keys
	result $? "the kernel has the certificate enrolled in the firmware"
	# Linux 5.10 refuses the module because of lockdown, later kernels because it is not signed.
	refused "a module without a signature is refused" "Key was rejected\|not permitted" insmod "/unsigned/$first"
	logged "unsigned module is rejected\|unsigned module loading is restricted"
	result $? "the log says that the module is not signed"
	must make_changed || return
	refused "a module that was changed after it was signed is refused" "Key was rejected" insmod /tmp/changed.ko
	! loaded kmarkers_patcher
	result $? "neither of the refused modules is loaded"
	head -c "$(print_file_size "/unsigned/$first")" "/modules/$first" | cmp -s - "/unsigned/$first"
	result $? "the signed module is the unsigned one with a signature appended"
	try "the signed module loads" insmod "/modules/$first"
	taints 12 && ! taints 13
	result $? "the kernel has the taint of an out-of-tree module, and not that of an unsigned one"
	try "the signed module unloads" rmmod kmarkers_patcher
}
