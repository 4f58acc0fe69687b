/* SPDX-License-Identifier: GPL-2.0-only */
/* The one binary search. */
#ifndef KMARKERS_SEARCH_H
#define KMARKERS_SEARCH_H

#include <linux/compiler.h>

/**
 * kmarkers_lower_bound() - the first element whose key is not below a given one
 * @array: elements in the order of their keys
 * @nr: how many
 * @key: the given key
 * @key_at: the key of the element of that index; always inline where the caller may
 *	call nothing, as the breakpoint handler
 *
 * Return: its index; @nr if all are below.
 */
static __always_inline unsigned int
kmarkers_lower_bound(const void *array, unsigned int nr, unsigned long key,
		     unsigned long (*key_at)(const void *array, unsigned int index))
{
	unsigned int low = 0, high = nr;

	while (low < high) {
		unsigned int middle = low + (high - low) / 2;

		if (key_at(array, middle) < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

#endif /* KMARKERS_SEARCH_H */
