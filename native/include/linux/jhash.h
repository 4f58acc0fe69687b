/* SPDX-License-Identifier: GPL-2.0-only */
/* FNV-1a instead of jhash(): callers work with any hash function. */
#ifndef NATIVE_JHASH_H
#define NATIVE_JHASH_H
#include <linux/types.h>

static inline u32 jhash(const void *key, u32 length, u32 seed)
{
	const u8 *byte = key;
	u32 hash = seed ^ 2166136261u;

	while (length--)
		hash = (hash ^ *byte++) * 16777619u;
	return hash;
}
#endif
