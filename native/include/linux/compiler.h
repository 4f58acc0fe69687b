/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NATIVE_COMPILER_H
#define NATIVE_COMPILER_H
#undef __always_inline
#define __always_inline		inline __attribute__((always_inline))
#ifdef NATIVE_BUILD
/* This macro would break __attribute__((noinline)) in users' programs. */
#define noinline		__attribute__((__noinline__))
#endif
#define __rcu
#define notrace
#define __maybe_unused		__attribute__((unused))
#define __used		__attribute__((used))
#define __cold			__attribute__((__cold__))
#define __aligned(bytes)	__attribute__((aligned(bytes)))
#define __printf(fmt, args)	__attribute__((format(printf, fmt, args)))
#define likely(x)		__builtin_expect(!!(x), 1)
#define unlikely(x)		__builtin_expect(!!(x), 0)
#define barrier()		asm volatile("" : : : "memory")
#define OPTIMIZER_HIDE_VAR(var)	asm volatile("" : "=r" (var) : "0" (var))
#ifdef __SANITIZE_THREAD__
/* Use atomic operations, because ThreadSanitizer reports all other accesses as races. */
#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, value)	__atomic_store_n(&(x), value, __ATOMIC_RELAXED)
#else
#define READ_ONCE(x)		(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value)	(*(volatile __typeof__(x) *)&(x) = (value))
#endif
/*
 * A compiler barrier is enough, because x86 reorders neither loads with loads nor stores with
 * stores.
 */
#define smp_rmb()		barrier()
#define smp_wmb()		barrier()
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)
#endif
