// SPDX-License-Identifier: GPL-2.0-only
/*
 * function-entry: the cost of a call of a small function.  The variants differ in the code at the
 * entry or exit of the function: no additional code, a nop that could be patched to a call, or a
 * call of a hook.  Profilers and tracers of 2008 and 2015 had such hooks and nops.
 *
 * The compiler inserts the call of a hook like mcount() at an entry.  A hook of this kind must
 * preserve all registers, so it has the attribute no_caller_saved_registers here.  The hooks that
 * -finstrument-functions calls are ordinary functions with two arguments; their calls are written
 * here as the compiler would insert them.
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "nops.h"
#include "ops.h"

/* GENERAL limits a function to general-purpose registers.  Kernel code uses no others. */
#ifdef __KERNEL__
#define GENERAL
#else
#define GENERAL	__attribute__((target("general-regs-only")))
#endif
#define KEEPS	__attribute__((no_caller_saved_registers))
#define HOOK	GENERAL KEEPS noinline notrace

static HOOK void return_from_hook(void)
{
	asm volatile("");
}

static HOOK void return_from_hook_after_nop(void)
{
	asm volatile("nop");
}

/* Data of a profiler: number of calls by call site, and TSC ticks from entry to exit. */
#define ARCS	64

static struct {
	u32 calls[ARCS];
	u64 entered;
	u64 ticks;
	u32 lock;
} profile;

static GENERAL __always_inline u64 read_unordered_tsc(void)
{
	u32 low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high));
	return low | (u64)high << 32;
}

static GENERAL __always_inline void record_profile_entry(unsigned long caller)
{
	profile.calls[caller / 16 % ARCS]++;
	profile.entered = read_unordered_tsc();
}

static GENERAL __always_inline void record_profile_exit(void)
{
	profile.ticks += read_unordered_tsc() - profile.entered;
}

/* Take the profiler's lock, which is never contended. */
static GENERAL __always_inline void lock_profile(void)
{
	u32 one = 1;

	do
		asm volatile("xchgl %0, %1" : "+r" (one), "+m" (profile.lock) : : "memory");
	while (unlikely(one));
}

static GENERAL __always_inline void unlock_profile(void)
{
	barrier();
	WRITE_ONCE(profile.lock, 0);
}

static HOOK void profile_entry(void)
{
	record_profile_entry((unsigned long)__builtin_return_address(0));
}

static HOOK void profile_exit(void)
{
	record_profile_exit();
}

static HOOK void profile_entry_locked(void)
{
	lock_profile();
	record_profile_entry((unsigned long)__builtin_return_address(0));
	unlock_profile();
}

static HOOK void profile_exit_locked(void)
{
	lock_profile();
	record_profile_exit();
	unlock_profile();
}

/* Empty hooks, called as -finstrument-functions calls __cyg_profile_func_enter() and _exit(). */
static BENCH_EXTERNAL notrace void empty_entry_hook(void *function, void *caller)
{
	asm volatile("# entry" : : "r" (function), "r" (caller) : "memory");
}

static BENCH_EXTERNAL notrace void empty_exit_hook(void *function, void *caller)
{
	asm volatile("# exit" : : "r" (function), "r" (caller) : "memory");
}

static u32 result;

#define BODY()		WRITE_ONCE(result, number * 3)

/*
 * Define a function with code before and after its body, and the variant that calls it.  The
 * comment in the assembly makes the functions differ, because the compiler merges equal functions.
 */
#define FUNCTION(id, before, after)					\
static noinline notrace void function_##id(u32 number)			\
{									\
	asm volatile("# " #id);						\
	before;								\
	BODY();								\
	after;								\
}									\
									\
BENCH_OPS(entry_##id, function_##id(i))

#define NOTHING()	(void)0
#define P6()		asm volatile(".byte 0x0f, 0x1f, 0x44, 0, 0")
#define CALLER()	__builtin_return_address(0)

FUNCTION(none, NOTHING(), NOTHING())
FUNCTION(clone, NOTHING(), NOTHING())
FUNCTION(nop_p6, P6(), NOTHING())
FUNCTION(nop_ds_lea, asm volatile(".byte 0x3e, 0x48, 0x8d, 0x76, 0"), NOTHING())
FUNCTION(nops_both, P6(), P6())
FUNCTION(frame, asm volatile("push %%rbp\n\tmov %%rsp, %%rbp" : : : "memory"),
	 asm volatile("pop %%rbp" : : : "memory"))
FUNCTION(ret, return_from_hook(), NOTHING())
FUNCTION(nop_ret, return_from_hook_after_nop(), NOTHING())
FUNCTION(mcount, profile_entry(), NOTHING())
FUNCTION(mexitcount, NOTHING(), profile_exit())
FUNCTION(mcount_smp, profile_entry_locked(), NOTHING())
FUNCTION(mexitcount_smp, NOTHING(), profile_exit_locked())
FUNCTION(instrument, empty_entry_hook(function_instrument, CALLER()),
	 empty_exit_hook(function_instrument, CALLER()))

#ifndef __KERNEL__
/* A hook that returns by "ret 0".  Kernel functions may return through thunks instead. */
static HOOK void return_from_hook_by_ret_0(void)
{
	asm volatile(".byte 0xc2, 0, 0");
}

FUNCTION(ret_0, return_from_hook_by_ret_0(), NOTHING())
#endif

static const struct bench_variant entry_variants[] = {
	BENCH_ROW("none", entry_none),
	BENCH_ROW("none-clone", entry_clone),
	BENCH_ROW("recorded-nop", entry_nop_p6),
	BENCH_ROW("recorded-nop-ds-lea", entry_nop_ds_lea),
	BENCH_ROW("recorded-nop-and-exit", entry_nops_both),
	BENCH_ROW("frame-pointer", entry_frame),
	BENCH_ROW("hook-ret", entry_ret),
	BENCH_ROW("hook-nop-ret", entry_nop_ret),
#ifndef __KERNEL__
	BENCH_ROW("hook-ret-0", entry_ret_0),
#endif
	BENCH_ROW("mcount", entry_mcount),
	BENCH_ROW("mexitcount", entry_mexitcount),
	BENCH_ROW("mcount-smp", entry_mcount_smp),
	BENCH_ROW("mexitcount-smp", entry_mexitcount_smp),
	BENCH_ROW("finstrument-functions", entry_instrument),
};

const struct bench_group bench_function_entry = {
	.name = "function-entry",
	.variants = entry_variants,
	.nr_variants = ARRAY_SIZE(entry_variants),
};
