/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_SLAB_H
#define NATIVE_SLAB_H
#include <stdlib.h>
#include <string.h>
#define GFP_KERNEL			0
#define __GFP_RETRY_MAYFAIL		0
#define __GFP_NOWARN			0
#define kzalloc(size, gfp)		calloc(1, size)
#define kvcalloc(n, size, gfp)		calloc(n, size)
#define kfree(ptr)			free((void *)(ptr))
#define kvfree(ptr)			free((void *)(ptr))
#define kstrdup(text, gfp)		strdup(text)
#endif
