// SPDX-License-Identifier: GPL-2.0-only
/*
 * planted: instructions of known cost, with which `kmarkers bench --self-test` tests measurement
 * and analysis, from the timed windows to the verdict.  The baseline executes a chain of CHAIN
 * dependent instructions, which take one core cycle each.  A variant adds one instruction to the
 * chain, or four nops.  scripts/kmtools/method/selftest.py has the expected costs.
 *
 * The result of the chain is zero, so that the variant "load" can use the register as an offset.
 * The chain begins with `and $0`, which waits for the earlier value of its register.  `xor` and
 * `sub` of a register with itself would not wait.  No instruction of the chain adds a small
 * constant, because some cores eliminate such additions.
 */
#include <linux/kernel.h>
#include <linux/stringify.h>

#include <kmarkers/bench.h>
#include "planted.h"

/*
 * Length of the chain, in instructions of one cycle.  One more add instruction adds 1 % to the
 * baseline, which is exactly the equivalence margin of the verdict.
 */
#define CHAIN		100
#define NOP		".byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n\t"

static unsigned long zero;

#define LINKS(more)							\
	asm volatile("and $0, %%ecx\n\t"				\
		     ".rept " __stringify(CHAIN) " - 1\n\t"		\
		     "add %%ecx, %%ecx\n\t"				\
		     ".endr\n\t" more : : "i" (&zero) : "rcx", "cc")

BENCH_OPS(chain, LINKS(""))
BENCH_OPS(chain_clone, LINKS(""))
BENCH_OPS(add, LINKS("add %%ecx, %%ecx\n\t"))
BENCH_OPS(lea, LINKS("lea (%%rcx, %%rcx), %%rcx\n\t"))
BENCH_OPS(imul, LINKS("imul %%ecx, %%ecx\n\t"))
BENCH_OPS(load, LINKS("mov %c0(%%rcx), %%rcx\n\t"))
BENCH_OPS(nops, LINKS(NOP NOP NOP NOP))

static const struct bench_variant variants[] = {
	BENCH_ROW("chain", chain),
	BENCH_ROW("chain-clone", chain_clone),
	BENCH_ROW("add", add),
	BENCH_ROW("lea", lea),
	BENCH_ROW("imul", imul),
	BENCH_ROW("load", load),
	BENCH_ROW("nops", nops),
};

const struct bench_group native_planted = {
	.name = "planted",
	.variants = variants,
	.nr_variants = ARRAY_SIZE(variants),
};
