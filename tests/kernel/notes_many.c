// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ten thousand notes in a hundred functions.  Each note has a probe of its own, nmany:::p0000 to
 * nmany:::p9999.  A note is an SDT site without an instruction of its own.  If N is written to the
 * parameter "pass", each note is hit N times.  Twenty more notes, of the probe nmany:::lost, are at
 * the end of a function, where notes cannot be armed.
 */
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include <kmarkers/sdt.h>

#include "each.h"
#include "many_probes.h"
#include "note_at.h"

SDT_PROVIDER_DEFINE(nmany);
SDT_PROBE_DEFINE0(nmany, , , lost);

MANY_PROBES("sdt_provider_nmany");

/* Define a function with a hundred notes like the note of SDT_PROBE1(nmany, , , p0000, value). */
#define PASS(n)								\
static noinline void pass_##n(int value)				\
{									\
	asm volatile("	.set many_n, (1" #n " - 100) * 100\n"		\
		     "	.rept 100\n"					\
		     "1:\n"						\
		     NOTE_AT("1b", MANY_PROBE, "1", "	.byte -4\n	movq %%rbx, %%rax\n") \
		     /* A nop of 5 bytes, which the kernel can replace by a jump. */ \
		     "	.byte 0x0f, 0x1f, 0x44, 0x00, 0x00\n"		\
		     "	.set many_n, many_n + 1\n"			\
		     "	.endr\n"					\
		     : : "b" (value));					\
}

#define HUNDRED(n)	EACH_2(PASS, n)

EACH_1(HUNDRED)

asm(".pushsection .text, \"ax\"\n"
	"	.type notes_lost, @function\n"
	"notes_lost:\n"
	"	jmp notes_lost\n"
	"1:	.size notes_lost, . - notes_lost\n"
	"	.skip 16, 0xcc\n"
	"	.rept 20\n"
	NOTE_AT("1b", "sdt_nmany___lost", "0", "")
	"	.endr\n"
	".popsection\n");

#define NAME(n)		pass_##n,
#define NAMES(n)	EACH_2(NAME, n)

static void (*const passes[])(int value) = {
	EACH_1(NAMES)
};

static int run_passes_on_write(const char *text, const struct kernel_param *unused)
{
	unsigned int i, times;
	int err = kstrtouint(text, 0, &times);

	for (; !err && times; times--)
		for (i = 0; i < ARRAY_SIZE(passes); i++)
			passes[i](times);
	return err;
}

static const struct kernel_param_ops pass_ops = {
	.set = run_passes_on_write,
};
module_param_cb(pass, &pass_ops, NULL, 0200);
MODULE_PARM_DESC(pass, "write N to hit each note N times");

MODULE_DESCRIPTION("Ten thousand SDT probes of the flavour note");
MODULE_AUTHOR("kmarkers developers");
MODULE_LICENSE("GPL");
