// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read the sizes of the caches by CPUID.  Intel and AMD CPUs report these sizes in the same format.
 */
#include <linux/types.h>

#include "caches.h"

/* CPUID leaves that describe one cache per subleaf (Intel SDM vol. 2, AMD APM vol. 3, CPUID). */
#define LEAF_INTEL	4
#define LEAF_AMD	0x8000001d
#define LEAF_LARGEST	0x80000000
#define MOST_CACHES	16

enum kind {
	KIND_END,
	KIND_DATA,
	KIND_CODE,
	KIND_UNIFIED,
};

struct cpuid_registers {
	u32 a, b, c, d;
};

/* Default cache sizes in bytes, for CPUs that do not report their cache sizes by CPUID. */
static const struct bench_caches unknown = { 32 << 10, 1 << 20, 32 << 20 };

static struct cpuid_registers read_cpuid(u32 leaf, u32 subleaf)
{
	struct cpuid_registers registers;

	asm volatile("cpuid"
		     : "=a" (registers.a), "=b" (registers.b), "=c" (registers.c),
		       "=d" (registers.d)
		     : "0" (leaf), "2" (subleaf));
	return registers;
}

/* Return ways * partitions * line size * sets, in bytes.  CPUID reports each factor minus one. */
static u64 compute_cache_bytes(const struct cpuid_registers *registers)
{
	u64 ways = (registers->b >> 22) + 1, partitions = (registers->b >> 12 & 0x3ff) + 1;
	u64 line = (registers->b & 0xfff) + 1, sets = (u64)registers->c + 1;

	return ways * partitions * line * sets;
}

static u64 pick_larger_size(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* Read the cache sizes that a CPUID leaf reports.  Return false if the leaf describes no cache. */
static bool read_cache_sizes_of_leaf(u32 leaf, struct bench_caches *caches)
{
	u32 subleaf;

	for (subleaf = 0; subleaf < MOST_CACHES; subleaf++) {
		struct cpuid_registers registers = read_cpuid(leaf, subleaf);
		u32 kind = registers.a & 0x1f, level = registers.a >> 5 & 7;
		u64 bytes = compute_cache_bytes(&registers);

		if (kind == KIND_END)
			break;
		if (kind == KIND_CODE)
			caches->code = pick_larger_size(caches->code, bytes);
		else if (level == 2)
			caches->middle = bytes;
		if (kind != KIND_CODE && level >= 2)
			caches->last = pick_larger_size(caches->last, bytes);
	}
	return subleaf > 0;
}

/**
 * bench_read_caches() - read the sizes of the caches
 * @caches: filled in; sizes that the CPU does not report are set to defaults
 */
void bench_read_caches(struct bench_caches *caches)
{
	*caches = (struct bench_caches) { 0 };
	if (!(read_cpuid(0, 0).a >= LEAF_INTEL && read_cache_sizes_of_leaf(LEAF_INTEL, caches)) &&
	    read_cpuid(LEAF_LARGEST, 0).a >= LEAF_AMD)
		read_cache_sizes_of_leaf(LEAF_AMD, caches);
	caches->code = caches->code ?: unknown.code;
	caches->middle = caches->middle ?: unknown.middle;
	caches->last = caches->last ?: unknown.last;
}

/* Return log2 of @bytes, rounded up. */
unsigned int bench_round_up_log2(u64 bytes)
{
	unsigned int order = 0;

	while (1ULL << order < bytes)
		order++;
	return order;
}
