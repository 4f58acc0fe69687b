/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_VMALLOC_H
#define NATIVE_VMALLOC_H
#include <stdlib.h>
#include <string.h>
#define vmalloc(size)	aligned_alloc(4096, size)
#define vfree(ptr)	free(ptr)
#endif
