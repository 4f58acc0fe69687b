/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_SORT_H
#define NATIVE_SORT_H
#include <stddef.h>
#define sort native_sort
void native_sort(void *base, size_t nr, size_t size, int (*compare)(const void *, const void *),
		 void (*swap)(void *, void *, int));
#endif
