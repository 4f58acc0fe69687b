/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_ATOMIC_H
#define NATIVE_ATOMIC_H
#include <stdbool.h>

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	long counter;
} atomic_long_t;

#define atomic_set_release(v, i)	__atomic_store_n(&(v)->counter, i, __ATOMIC_RELEASE)
#define atomic_read_acquire(v)		__atomic_load_n(&(v)->counter, __ATOMIC_ACQUIRE)
#define atomic_dec(v)			((void)__atomic_sub_fetch(&(v)->counter, 1, __ATOMIC_RELAXED))
#define atomic_dec_return_release(v)	__atomic_sub_fetch(&(v)->counter, 1, __ATOMIC_RELEASE)
#define atomic_long_set(v, i)		__atomic_store_n(&(v)->counter, i, __ATOMIC_RELAXED)
#define atomic_long_inc(v)		((void)__atomic_add_fetch(&(v)->counter, 1, __ATOMIC_RELAXED))
#define atomic_long_read(v)		__atomic_load_n(&(v)->counter, __ATOMIC_RELAXED)

static inline bool atomic_inc_not_zero(atomic_t *v)
{
	int old = __atomic_load_n(&v->counter, __ATOMIC_RELAXED);

	while (old)
		if (__atomic_compare_exchange_n(&v->counter, &old, old + 1, true,
						__ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			return true;
	return false;
}
#endif
