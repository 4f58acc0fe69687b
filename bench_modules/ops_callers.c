// SPDX-License-Identifier: GPL-2.0-only
/*
 * peer-fprobe and peer-bpf-*: the cost of a function entry or a tracepoint, with and without an
 * empty fprobe or BPF program.  A function that can be probed begins with an ftrace nop.  The
 * baseline function is notrace, so it has no ftrace nop.
 *
 * BPF programs can be loaded only by system calls, so "kmlive attach" attaches them before the
 * benchmarks run.  A benchmark is skipped if its program is not attached.  The kernel detaches the
 * programs when kmlive ends.
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "ops.h"

#ifdef COMPAT_FPROBE
#include <linux/fprobe.h>
#endif
#ifdef CONFIG_EVENT_TRACING
#include "trace.h"
#endif

/*
 * Define an empty function.  The function is __noclone because a kprobe finds it by its name: if
 * the compiler made a clone, calls of the clone would not hit the kprobe.
 */
#define CALLED_BACK(name, ...)						\
static noinline __noclone __maybe_unused __VA_ARGS__ void name(int number, void *pointer) \
{									\
	asm volatile("# " #name : : "r" (number), "r" (pointer) : "memory"); \
}

CALLED_BACK(called_alone, notrace)
CALLED_BACK(called_off)
CALLED_BACK(called_fprobe)
CALLED_BACK(kmarkers_bench_bpf_kprobe)

BENCH_OPS(alone, called_alone(1, NULL))
BENCH_OPS(alone_clone, called_alone(1, NULL))
BENCH_OPS(entry_off, called_off(1, NULL))
BENCH_OPS(fprobe, called_fprobe(1, NULL))
BENCH_OPS(bpf_kprobe, kmarkers_bench_bpf_kprobe(1, NULL))

#define CALLER(id, label, base, function, off, ...)			\
static const struct bench_variant id##_variants[] = {			\
	BENCH_ROW(base, function),					\
	BENCH_ROW(base "-clone", function##_clone),			\
	BENCH_ROW(label "-off", off),					\
	BENCH_ROW(label "-on", id),					\
};									\
									\
const struct bench_group bench_peer_##id = {				\
	.name = "peer-" label,						\
	.variants = id##_variants,					\
	.nr_variants = ARRAY_SIZE(id##_variants),			\
	.setup = setup_##id,						\
	__VA_ARGS__							\
}

#ifdef COMPAT_FPROBE
static int empty_fprobe_handler(struct fprobe *fprobe, unsigned long ip, unsigned long parent,
				struct compat_fprobe_regs *regs, void *data)
{
	return 0;
}

static struct fprobe peer_fprobe = { .entry_handler = empty_fprobe_handler };

static int setup_fprobe(void)
{
	unsigned long addr = (unsigned long)called_fprobe;

	return register_fprobe_ips(&peer_fprobe, &addr, 1);
}

static void teardown_fprobe(void)
{
	unregister_fprobe(&peer_fprobe);
}
#else
static int setup_fprobe(void)
{
	return -ENODEV;
}

static void teardown_fprobe(void)
{
}
#endif

CALLER(fprobe, "fprobe", "call", alone, entry_off,
	.teardown = teardown_fprobe,
	.lacks = "this kernel has no fprobes, or an older interface of fprobes");

#define LACKS_BPF	"no BPF program is attached: run kmlive attach"

/* Return true if a function has a probe, that is, begins with a call, a jump or an int3. */
static bool has_probe_at_entry(const void *function)
{
	const u8 *code = function;

	/*
	 * Hide from the compiler that @code is the address of a function.  Otherwise the compiler
	 * could replace the loads by constants.
	 */
	OPTIMIZER_HIDE_VAR(code);
	/* Skip ENDBR64. */
	if (READ_ONCE(*(const u32 *)code) == 0xfa1e0ff3)
		code += 4;
	return READ_ONCE(*code) == 0xe8 || READ_ONCE(*code) == 0xe9 || READ_ONCE(*code) == 0xcc;
}

static int setup_bpf_kprobe(void)
{
	return has_probe_at_entry(kmarkers_bench_bpf_kprobe) ? 0 : -ENODEV;
}

CALLER(bpf_kprobe, "bpf-kprobe", "call", alone, entry_off, .lacks = LACKS_BPF);

/*
 * A BPF program at the entry of a function (fentry) needs the BTF of the function.  A module that
 * is built against kernel headers alone has no BTF.  So the program is attached to int_sqrt() of
 * the kernel, which is exported and seldom called.  int_sqrt(1) returns 1 at once.  The functions
 * that ROOT() defines do the same, so that the costs can be compared.
 */
#define ROOT(name, ...)							\
static noinline __noclone __VA_ARGS__ unsigned long name(unsigned long x) \
{									\
	if (x <= 1)							\
		return x;						\
	asm volatile("# " #name : : : "memory");			\
	return x / 2;							\
}

ROOT(root, notrace)
ROOT(root_off)

static unsigned long one = 1;

BENCH_OPS(rooted, root(READ_ONCE(one)))
BENCH_OPS(rooted_clone, root(READ_ONCE(one)))
BENCH_OPS(rooted_off, root_off(READ_ONCE(one)))
BENCH_OPS(bpf_fentry, int_sqrt(READ_ONCE(one)))

static int setup_bpf_fentry(void)
{
	return has_probe_at_entry(int_sqrt) ? 0 : -ENODEV;
}

CALLER(bpf_fentry, "bpf-fentry", "call", rooted, rooted_off, .lacks = LACKS_BPF);

BENCH_OPS(none, (void)0)
BENCH_OPS(none_clone, (void)0)
#ifdef CONFIG_EVENT_TRACING
BENCH_OPS(bpf_off, trace_kmarkers_bench_off(1, NULL))
BENCH_OPS(bpf_raw_tracepoint, trace_kmarkers_bench_bpf(1, NULL))

static int setup_bpf_raw_tracepoint(void)
{
	return trace_kmarkers_bench_bpf_enabled() ? 0 : -ENODEV;
}
#else
BENCH_OPS(bpf_off, (void)0)
BENCH_OPS(bpf_raw_tracepoint, (void)0)

static int setup_bpf_raw_tracepoint(void)
{
	return -ENODEV;
}
#endif

CALLER(bpf_raw_tracepoint, "bpf-raw-tracepoint", "none", none, bpf_off, .lacks = LACKS_BPF);
