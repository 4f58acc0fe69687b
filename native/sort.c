// SPDX-License-Identifier: GPL-2.0-only
/*
 * sort() for programs: a heapsort that calls a swap function, as the kernel's sort() does.  qsort()
 * calls no swap function.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/sort.h>

struct sorter {
	char *base;
	size_t size;
	int (*compare)(const void *, const void *);
	void (*swap)(void *, void *, int);
};

static void sift_down(const struct sorter *s, size_t root, size_t nr)
{
	size_t child;

	while ((child = 2 * root + 1) < nr) {
		char *a = s->base + root * s->size, *b = s->base + child * s->size;

		if (child + 1 < nr && s->compare(b, b + s->size) < 0)
			b += s->size;
		if (s->compare(a, b) >= 0)
			return;
		s->swap(a, b, s->size);
		root = (b - s->base) / s->size;
	}
}

void native_sort(void *base, size_t nr, size_t size, int (*compare)(const void *, const void *),
		 void (*swap)(void *, void *, int))
{
	struct sorter s = { base, size, compare, swap };
	size_t i;

	if (!swap) {
		qsort(base, nr, size, compare);
		return;
	}
	for (i = nr / 2; i-- > 0;)
		sift_down(&s, i, nr);
	for (i = nr; i-- > 1;) {
		swap(s.base, s.base + i * size, size);
		sift_down(&s, 0, i);
	}
}
