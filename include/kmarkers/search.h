/* SPDX-License-Identifier: GPL-2.0-only */
/* Binary search in a sorted array. */
#ifndef KMARKERS_SEARCH_H
#define KMARKERS_SEARCH_H

#include <linux/compiler.h>

/**
 * kmarkers_lower_bound() - find the first element whose key is not below a given key
 * @array: elements in the order of their keys
 * @nr: number of elements
 * @key: the given key
 * @key_at: function that returns the key of the element at an index; must be __always_inline if the
 *	caller, such as the breakpoint handler, must not call functions
 *
 * Return: the index of the element; @nr if all keys are below @key.
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
