// SPDX-License-Identifier: GPL-2.0-only
/*
 * peer-fprobe and peer-bpf-*: what the kernel calls where a function begins or at a
 * tracepoint, and which not every kernel has; off, and on with something that does
 * nothing.  Off, a function begins with a nop, which that of the baseline does not.
 *
 * BPF programs are loaded by system calls alone, so "kmlive attach" attaches them before
 * the benchmarks run.  Those that are not attached then are skipped.  They go when that
 * program ends, so none can stay.
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
 * Functions like those of ops_peers.c.  No copies are made of them: a kprobe for BPF has
 * the name of one, and what is attached to a function does not see calls of its copy.
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
static int on_entry(struct fprobe *fprobe, unsigned long ip, unsigned long parent,
		    struct compat_fprobe_regs *regs, void *data)
{
	return 0;
}

static struct fprobe peer_fprobe = { .entry_handler = on_entry };

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
	.lacks = "this kernel has no fprobe, or one of an older form");

#define LACKS_BPF	"no BPF program is attached to it"

/* Does a function begin with something other than the nop that calls back? */
static bool is_attached(const void *function)
{
	const u8 *code = function;

	/* The compiler must not know that this is a function and look into it. */
	OPTIMIZER_HIDE_VAR(code);
	/* endbr64 */
	if (READ_ONCE(*(const u32 *)code) == 0xfa1e0ff3)
		code += 4;
	return READ_ONCE(*code) == 0xe8 || READ_ONCE(*code) == 0xe9 || READ_ONCE(*code) == 0xcc;
}

static int setup_bpf_kprobe(void)
{
	return is_attached(kmarkers_bench_bpf_kprobe) ? 0 : -ENODEV;
}

CALLER(bpf_kprobe, "bpf-kprobe", "call", alone, entry_off, .lacks = LACKS_BPF);

/*
 * A program is attached to a function of the kernel, because modules that are built with
 * headers alone have no types for it.  This one is exported, seldom used, and with 1 it
 * returns at once, as the copies do that it is compared with.
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
	return is_attached(int_sqrt) ? 0 : -ENODEV;
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
