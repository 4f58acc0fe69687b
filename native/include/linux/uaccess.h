/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_UACCESS_H
#define NATIVE_UACCESS_H
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

/* Read the memory by a system call, so that an invalid address is an error and not a fault. */
static inline long copy_from_kernel_nofault(void *to, const void *from, size_t size)
{
	struct iovec here = { to, size }, there = { (void *)from, size };

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == size ? 0 : -EFAULT;
}
#endif
