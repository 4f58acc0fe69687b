/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Definitions of ten thousand SDT probes, p0000 to p9999, for modules with one site of each probe.
 */
#ifndef TESTS_KERNEL_MANY_PROBES_H
#define TESTS_KERNEL_MANY_PROBES_H

#include <linux/build_bug.h>
#include <linux/stddef.h>

#include <kmarkers/sdt.h>

static_assert(sizeof(struct sdt_probe) == 48 && offsetof(struct sdt_probe, nr) == 40);

/*
 * Define the same data as SDT_PROBE_DEFINE1(provider, , , p0000, "int") and so on to p9999.  The
 * assembler repeats the data of one probe, which is much faster than compiling each definition.
 */
#define MANY_PROBES(provider)						\
asm(".pushsection .data, \"aw\", @progbits\n"				\
	".Lmany_types:	.asciz \"int\"\n"				\
	".Lmany_empty:	.asciz \"\"\n"					\
	".Lmany_names:\n"						\
	"	.set many_n, 0\n"					\
	"	.rept 10000\n"						\
	"	.byte 'p', '0' + many_n / 1000, '0' + many_n / 100 % 10\n" \
	"	.byte '0' + many_n / 10 % 10, '0' + many_n % 10, 0\n"	\
	"	.set many_n, many_n + 1\n"				\
	"	.endr\n"						\
	"	.balign 8\n"						\
	".Lmany_probes:\n"						\
	"	.set many_n, 0\n"					\
	"	.rept 10000\n"						\
	"	.quad " provider ", .Lmany_empty, .Lmany_empty\n"	\
	"	.quad .Lmany_names + 6 * many_n, .Lmany_types, 1\n"	\
	"	.set many_n, many_n + 1\n"				\
	"	.endr\n"						\
	".popsection\n")

/* Address of the struct sdt_probe number many_n, where many_n is an assembler symbol. */
#define MANY_PROBE	".Lmany_probes + 48 * many_n"

#endif /* TESTS_KERNEL_MANY_PROBES_H */
