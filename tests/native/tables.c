// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of kmarkers tables that this file makes at run time, with wrong headers, and with sites
 * that do not read an immediate value.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include <kmarkers/branch.h>
#include <kmarkers/immediate.h>
#include <kmarkers/marker.h>
#include <kmarkers/opcodes.h>
#include <kmarkers/patcher.h>
#include <kmarkers/sdt.h>
#include <kmarkers/typed.h>

#include "../../immediate/load.h"
#include "../../markers/stubs.h"
#include "../../markers/tables.h"
#include "../../patcher/text.h"
#include "../../sdt/pattern.h"
#include "../../sdt/registry.h"
#include "../../sdt/sets.h"
#include "../../sdt/tables.h"
#include "nomem.h"
#include "tables.h"

/* Compiled clients contain these structures: a new layout requires a new KMARKERS_TABLE_VERSION. */
static_assert(KMARKERS_TABLE_VERSION == 5, "the sizes below belong to version 5");
static_assert(sizeof(struct marker) == 72, "struct marker");
static_assert(sizeof(struct marker_tp) == 112, "struct marker_tp");
static_assert(sizeof(struct marker_typed) == 136, "struct marker_typed");
static_assert(sizeof(struct patcher_site) == 12, "struct patcher_site");
static_assert(sizeof(struct sdt_target) == 16, "struct sdt_target");

#define NAME(label)	extern u8 tables_##label[];
#define SITE(label, code)	"tables_" #label ":\n\t" code "\n"

NAME(jne_near) NAME(mov1) NAME(mov4) NAME(mov8) NAME(nop) NAME(jump) NAME(jne) NAME(mov2) NAME(end)
NAME(mov_short) NAME(mov_wide) NAME(mov_end)
NAME(cmp1) NAME(cmp1_al) NAME(cmp1_bh) NAME(cmp4) NAME(cmp4_eax)
NAME(cmp_short) NAME(cmp8) NAME(cmp2) NAME(cmp_rex) NAME(cmp_memory) NAME(add4) NAME(test4)
NAME(cmp_end)

/* Instructions for sites, which are changed but never executed. */
static __used noinline void contain_instructions(void)
{
	asm volatile(SITE(jne_near, ".byte 0x0f, 0x85, 0, 0, 0, 0")
		     SITE(mov1, "movb $1, %al")
		     SITE(mov4, "movl $2, %r9d")
		     SITE(mov8, "movabs $3, %rdx")
		     SITE(nop, ".byte 0x0f, 0x1f, 0x44, 0, 0")
		     SITE(jump, ".byte 0xe9, 0, 0, 0, 0")
		     SITE(jne, ".byte 0x75, 0")
		     SITE(mov2, ".byte 0x66, 0xb8, 0, 0")
		     SITE(end, ""));
	/*
	 * Mov instructions that do not end at the next label, because the operand is shorter or
	 * longer.
	 */
	asm volatile(SITE(mov_short, ".byte 0xb8, 0, 0, 0, 0, 0, 0, 0, 0")
		     SITE(mov_wide, ".byte 0x48, 0xb8, 0, 0, 0, 0")
		     SITE(mov_end, ".byte 0, 0, 0, 0"));
	asm volatile(SITE(cmp1, ".byte 0x41, 0x80, 0xf9, 1")
		     SITE(cmp1_al, ".byte 0x3c, 1")
		     SITE(cmp1_bh, ".byte 0x80, 0xff, 1")
		     SITE(cmp4, ".byte 0x41, 0x81, 0xf9, 1, 2, 3, 4")
		     SITE(cmp4_eax, ".byte 0x3d, 1, 2, 3, 4")
		     SITE(cmp_short, ".byte 0x83, 0xf8, 1")
		     SITE(cmp8, ".byte 0x48, 0x81, 0xf8, 1, 2, 3, 4")
		     SITE(cmp2, ".byte 0x66, 0x3d, 1, 2")
		     SITE(cmp_rex, ".byte 0x44, 0x81, 0xf8, 1, 2, 3, 4")
		     SITE(cmp_memory, ".byte 0x81, 0x3b, 1, 2, 3, 4")
		     SITE(add4, ".byte 0x81, 0xc3, 1, 2, 3, 4")
		     SITE(test4, "testl $-1, %eax")
		     SITE(cmp_end, ""));
}

/* A header and records in the layout that the assembler emits, with space for three records. */
static struct {
	struct kmarkers_chunk head;
	struct patcher_site sites[3];
} __aligned(8) chunk;

static u64 variable;

/*
 * An invalid pointer, passed as the module to which the test's table belongs.  No other table has
 * this module, so imv_unregister_module_sites(MODULE) removes only the test's table.
 */
#define MODULE	((struct module *)1)

static void fill_chunk_header(unsigned int bytes, unsigned int record)
{
	chunk.head = (struct kmarkers_chunk) {
		.bytes = bytes, .record = record, .version = KMARKERS_TABLE_VERSION,
		.first = (long)chunk.sites - (long)&chunk.head.first,
	};
}

/* Add a table with the instruction from @addr to @end as its only site, and drop the table. */
static int add_and_drop_table(const u8 *addr, const u8 *end, u8 size, u16 flags)
{
	struct kmarkers_span span = { NULL };
	int err;

	fill_chunk_header(sizeof(chunk.sites[0]), sizeof(chunk.sites[0]));
	chunk.sites[0] = (struct patcher_site) { .len = end - addr, .size = size, .flags = flags };
	chunk.sites[0].addr = (long)addr - (long)&chunk.sites[0].addr;
	chunk.sites[0].key = (long)&variable - (long)&chunk.sites[0].key;
	err = kmarkers_join_chunk(&span, &chunk.head, sizeof(chunk.sites[0])) ?:
	      imv_register_module_sites(MODULE, &span);
	if (!err)
		imv_unregister_module_sites(MODULE);
	return err;
}

/* Check that sites that read a value are accepted, and are patched to the variable's value. */
static const char *tables_of_reading_sites_are_accepted(void)
{
	u32 operand;

	variable = 0;
	EXPECT(!add_and_drop_table(tables_mov1, tables_mov4, 1, 0));
	EXPECT(tables_mov1[1] == 0);
	EXPECT(!add_and_drop_table(tables_mov4, tables_mov8, 4, 0));
	EXPECT(!add_and_drop_table(tables_mov4, tables_mov8, 2, 0));
	EXPECT(!add_and_drop_table(tables_mov4, tables_mov8, 1, 0));
	variable = 77;
	EXPECT(!add_and_drop_table(tables_mov8, tables_nop, 8, 0));
	memcpy(&operand, tables_mov8 + 2, sizeof(operand));
	EXPECT(operand == 77);
	EXPECT(!add_and_drop_table(tables_jne, tables_mov2, 1, IMV_FLIP));
	EXPECT(!add_and_drop_table(tables_jne_near, tables_mov1, 1, IMV_FLIP));
	EXPECT(tables_jne[0] == 0x74 && tables_jne_near[0] == 0x0f && tables_jne_near[1] == 0x84);
	variable = 0;
	EXPECT(!add_and_drop_table(tables_jne, tables_mov2, 1, IMV_FLIP));
	EXPECT(!add_and_drop_table(tables_jne_near, tables_mov1, 1, IMV_FLIP));
	EXPECT(tables_jne[0] == 0x75 && tables_jne_near[0] == 0x0f && tables_jne_near[1] == 0x85);
	return NULL;
}

static const char *tables_of_comparisons_are_accepted(void)
{
	static const u8 four[] = { 0x41, 0x81, 0xf9, 0x80, 0xff, 0, 0 };
	static const u8 extended[] = { 0x41, 0x81, 0xf9, 0x80, 0xff, 0xff, 0xff };
	static const u8 byte[] = { 0x41, 0x81, 0xf9, 0x80, 0, 0, 0 };
	static const u8 eax[] = { 0x3d, 0x80, 0xff, 0, 0 };

	variable = 0xff80;
	EXPECT(!add_and_drop_table(tables_cmp1, tables_cmp1_al, 1, IMV_COMPARE));
	EXPECT(tables_cmp1[3] == 0x80);
	EXPECT(!add_and_drop_table(tables_cmp1_al, tables_cmp1_bh, 1, IMV_COMPARE));
	EXPECT(tables_cmp1_al[1] == 0x80);
	EXPECT(!add_and_drop_table(tables_cmp1_bh, tables_cmp4, 1, IMV_COMPARE));
	EXPECT(!add_and_drop_table(tables_cmp4, tables_cmp4_eax, 4, IMV_COMPARE));
	EXPECT(!memcmp(tables_cmp4, four, sizeof(four)));
	EXPECT(!add_and_drop_table(tables_cmp4_eax, tables_cmp_short, 2, IMV_COMPARE));
	EXPECT(!memcmp(tables_cmp4_eax, eax, sizeof(eax)));
	EXPECT(!add_and_drop_table(tables_cmp4, tables_cmp4_eax, 2, IMV_COMPARE | IMV_SIGNED));
	EXPECT(!memcmp(tables_cmp4, extended, sizeof(extended)));
	EXPECT(!add_and_drop_table(tables_cmp4, tables_cmp4_eax, 1, IMV_COMPARE));
	EXPECT(!memcmp(tables_cmp4, byte, sizeof(byte)));
	return NULL;
}

static const char *tables_of_other_comparisons_are_refused(void)
{
	const u8 *const refused[] = {
		tables_cmp_short, tables_cmp8, tables_cmp2, tables_cmp_rex, tables_cmp_memory,
		tables_add4, tables_test4, tables_cmp_end,
	};
	unsigned int i, size;
	u8 before[64], bytes = tables_cmp_end - tables_cmp_short;

	EXPECT(bytes <= sizeof(before));
	memcpy(before, tables_cmp_short, bytes);
	variable = 0;
	for (i = 0; i + 1 < ARRAY_SIZE(refused); i++)
		for (size = 1; size <= 8; size *= 2)
			EXPECT(add_and_drop_table(refused[i], refused[i + 1], size,
						  IMV_COMPARE) == -EINVAL);
	EXPECT(!memcmp(before, tables_cmp_short, bytes));
	/* Comparisons and moves with wrong sizes or flags are refused. */
	EXPECT(add_and_drop_table(tables_cmp4, tables_cmp4_eax, 8, IMV_COMPARE) == -EINVAL);
	EXPECT(add_and_drop_table(tables_cmp1, tables_cmp1_al, 4, IMV_COMPARE) == -EINVAL);
	EXPECT(add_and_drop_table(tables_cmp1, tables_cmp1_al, 2, IMV_COMPARE) == -EINVAL);
	EXPECT(add_and_drop_table(tables_cmp4, tables_cmp4_eax, 4, IMV_SIGNED) == -EINVAL);
	EXPECT(add_and_drop_table(tables_cmp4, tables_cmp4_eax, 4, 0) == -EINVAL);
	EXPECT(add_and_drop_table(tables_cmp4, tables_cmp4_eax, 1, IMV_COMPARE | IMV_FLIP) ==
	       -EINVAL);
	EXPECT(add_and_drop_table(tables_mov4, tables_mov8, 4, IMV_COMPARE) == -EINVAL);
	EXPECT(add_and_drop_table(tables_mov8, tables_nop, 8, IMV_COMPARE) == -EINVAL);
	EXPECT(add_and_drop_table(tables_mov1, tables_mov4, 1, IMV_COMPARE) == -EINVAL);
	return NULL;
}

static const char *tables_of_other_instructions_are_refused(void)
{
	u8 before[5];

	memcpy(before, tables_nop, sizeof(before));
	EXPECT(add_and_drop_table(tables_nop, tables_jump, 4, 0) == -EINVAL);
	EXPECT(add_and_drop_table(tables_jump, tables_jne, 4, 0) == -EINVAL);
	EXPECT(add_and_drop_table(tables_jne, tables_mov2, 1, 0) == -EINVAL);
	EXPECT(add_and_drop_table(tables_mov2, tables_end, 2, 0) == -EINVAL);
	EXPECT(add_and_drop_table(tables_mov8, tables_nop, 4, 0) == -EINVAL);
	EXPECT(add_and_drop_table(tables_mov4, tables_mov8, 8, 0) == -EINVAL);
	EXPECT(add_and_drop_table(tables_mov1, tables_mov4, 3, 0) == -EINVAL);
	EXPECT(add_and_drop_table(tables_mov1, tables_mov4, 1, IMV_FLIP) == -EINVAL);
	EXPECT(add_and_drop_table(tables_mov1, tables_mov4, 1, IMV_BRANCH) == -EINVAL);
	EXPECT(add_and_drop_table(tables_mov4, tables_mov8, 4, PATCHER_SITE_RUN) == -EINVAL);
	EXPECT(add_and_drop_table((u8 *)&variable, (u8 *)&variable + 5, 4, 0) == -EPERM);
	EXPECT(!memcmp(before, tables_nop, sizeof(before)));
	variable = 0;
	EXPECT(add_and_drop_table(tables_mov_short, tables_mov_wide, 8, 0) == -EINVAL);
	EXPECT(add_and_drop_table(tables_mov_wide, tables_mov_end, 4, 0) == -EINVAL);
	return NULL;
}

static void fill_site_record(unsigned int i, const u8 *addr, const u8 *end, u8 size)
{
	chunk.sites[i] = (struct patcher_site) { .len = end - addr, .size = size };
	chunk.sites[i].addr = (long)addr - (long)&chunk.sites[i].addr;
	chunk.sites[i].key = (long)&variable - (long)&chunk.sites[i].key;
}

/* Check that no site of a table is patched if one of the sites does not read a value. */
static const char *tables_with_a_wrong_site_change_nothing(void)
{
	struct kmarkers_span span = {
		.first = chunk.sites, .end = chunk.sites + 2, .bytes = 2 * sizeof(chunk.sites[0]),
		.chunks = 1,
	};
	u8 before[6];

	memcpy(before, tables_mov4, sizeof(before));
	variable = 0x12345678;
	fill_site_record(0, tables_mov4, tables_mov8, 4);
	fill_site_record(1, tables_nop, tables_jump, 4);
	EXPECT(imv_register_module_sites(MODULE, &span) == -EINVAL);
	EXPECT(!memcmp(before, tables_mov4, sizeof(before)));
	fill_site_record(0, tables_mov1, tables_mov4, 1);
	fill_site_record(1, tables_mov4, tables_mov8, 4);
	EXPECT(!imv_register_module_sites(MODULE, &span));
	imv_unregister_module_sites(MODULE);
	EXPECT(tables_mov1[1] == 0x78 && !memcmp(tables_mov4 + 2, &variable, 4));
	return NULL;
}

static int set_variable(u64 value, unsigned int size)
{
	struct imv_change change = { .var = &variable, .value = value, .size = size };

	return imv_set_many(&change, 1);
}

/*
 * Set the variable while the SIGTRAP handler of kmarkers is not installed: no site may be patched.
 */
static int set_variable_without_handler(u64 value, unsigned int size)
{
	struct sigaction other = { .sa_handler = SIG_DFL }, ours;
	int err = sigaction(SIGTRAP, &other, &ours);

	err = err ?: set_variable(value, size);
	sigaction(SIGTRAP, &ours, NULL);
	return err;
}

/* Write one byte of code without the patcher's checks. */
static int write_code_byte(u8 *addr, u8 byte)
{
	struct patcher_poke poke = { .addr = addr, .len = 1 };
	struct patcher_text_alias alias;
	int err = patcher_text_map(&alias, &poke, 1);

	if (err)
		return err;
	WRITE_ONCE(*poke.alias, byte);
	patcher_text_unmap(&alias);
	return 0;
}

/*
 * Sites, each with a fault: if the byte at the offset @at is replaced by @byte, the site holds no
 * instruction that reads a value.
 */
static const struct {
	u8 *start, *end;
	u8 size, at, byte;
	u16 flags;
} changed[] = {
	{ tables_cmp1, tables_cmp1_al, 1, 1, 0x81, IMV_COMPARE },
	{ tables_cmp1_al, tables_cmp1_bh, 1, 0, 0xb0, IMV_COMPARE },
	{ tables_cmp1_bh, tables_cmp4, 1, 0, 0x82, IMV_COMPARE },
	{ tables_cmp4, tables_cmp4_eax, 4, 1, 0x83, IMV_COMPARE },
	{ tables_cmp4, tables_cmp4_eax, 4, 2, 0xf1, IMV_COMPARE },
	{ tables_cmp4, tables_cmp4_eax, 4, 0, 0xcc, IMV_COMPARE },
	{ tables_cmp4_eax, tables_cmp_short, 4, 0, 0xb8, IMV_COMPARE },
	{ tables_cmp4_eax, tables_cmp_short, 2, 0, 0xe9, IMV_COMPARE },
	{ tables_mov1, tables_mov4, 1, 0, 0x3c, 0 },
	{ tables_mov4, tables_mov8, 4, 1, 0x81, 0 },
	{ tables_mov8, tables_nop, 8, 1, 0xb0, 0 },
	{ tables_jne, tables_mov2, 1, 0, 0x72, IMV_FLIP },
	{ tables_jne_near, tables_mov1, 1, 0, 0x0e, IMV_FLIP },
	{ tables_jne_near, tables_mov1, 1, 1, 0x82, IMV_FLIP },
};

static const char *check_changed_site(unsigned int i)
{
	struct kmarkers_span span = {
		.first = chunk.sites, .end = chunk.sites + 1, .bytes = sizeof(chunk.sites[0]),
		.chunks = 1,
	};
	u8 size = changed[i].size, *at = changed[i].start + changed[i].at, byte;

	variable = 1;
	fill_site_record(0, changed[i].start, changed[i].end, size);
	chunk.sites[0].flags = changed[i].flags;
	EXPECT(!imv_register_module_sites(MODULE, &span));
	byte = *at;
	EXPECT(!write_code_byte(at, changed[i].byte));
	EXPECT(set_variable(0, size) == -EILSEQ);
	EXPECT(variable == 1 && *at == changed[i].byte);
	EXPECT(!write_code_byte(at, byte));
	EXPECT(set_variable_without_handler(0, size) == -ENOLINK && variable == 1);
	EXPECT(!set_variable(0, size) && !variable);
	imv_unregister_module_sites(MODULE);
	return NULL;
}

/*
 * Check that a value is not set if a site of the value holds another instruction (-EILSEQ), or if
 * the SIGTRAP handler is missing (-ENOLINK).
 */
static const char *tables_with_changed_sites_keep_the_value(void)
{
	const char *failed = NULL;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(changed) && !failed; i++)
		failed = check_changed_site(i);
	if (failed)
		printf("# row %u\n", i - 1);
	return failed;
}

/* Check that the missing SIGTRAP handler is reported instead of the changed site. */
static const char *tables_report_the_missing_handler_first(void)
{
	struct kmarkers_span span = {
		.first = chunk.sites, .end = chunk.sites + 1, .bytes = sizeof(chunk.sites[0]),
		.chunks = 1,
	};

	fill_site_record(0, tables_jne, tables_mov2, 1);
	chunk.sites[0].flags = IMV_FLIP;
	EXPECT(!imv_register_module_sites(MODULE, &span));
	EXPECT(!write_code_byte(tables_jne, 0x72));
	EXPECT(set_variable_without_handler(1, 1) == -ENOLINK);
	EXPECT(!write_code_byte(tables_jne, 0x75));
	return NULL;
}

static void drop_value_sites(void)
{
	imv_unregister_module_sites(MODULE);
}

/* Check that setting a value changes the bytes of its variable, and no byte behind the variable. */
static const char *tables_of_reading_sites_change_only_their_variable(void)
{
	static const struct {
		u8 *start, *end;
		u8 size;
	} sites[] = {
		{ tables_mov1, tables_mov4, 1 }, { tables_mov4, tables_mov8, 2 },
		{ tables_mov4, tables_mov8, 4 }, { tables_mov8, tables_nop, 8 },
	};
	struct kmarkers_span span = {
		.first = chunk.sites, .end = chunk.sites + 1, .bytes = sizeof(chunk.sites[0]),
		.chunks = 1,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sites); i++) {
		unsigned int size = sites[i].size;

		variable = ~0ULL;
		fill_site_record(0, sites[i].start, sites[i].end, size);
		EXPECT(!imv_register_module_sites(MODULE, &span));
		EXPECT(!set_variable(0, size));
		EXPECT(variable == (size < 8 ? ~0ULL << 8 * size : 0));
		imv_unregister_module_sites(MODULE);
	}
	return NULL;
}

/* The length in bytes of an SDT site of each flavour. */
static const u8 sdt_lengths[] = {
	[SDT_JUMP] = 7, [SDT_BREAKPOINT] = 7, [SDT_NOP] = 1, [SDT_SPLIT] = 3,
};

static int register_sdt_sites(unsigned int flavour, unsigned int len, u16 flags)
{
	struct kmarkers_span targets = { NULL }, span = {
		.first = chunk.sites, .end = chunk.sites + 2, .bytes = sizeof(chunk.sites[0]) * 2,
		.chunks = 1,
	};

	memset(chunk.sites, 0, sizeof(chunk.sites));
	chunk.sites[1] = (struct patcher_site) { .len = len, .size = flavour, .flags = flags };
	chunk.sites[0] = (struct patcher_site) { .len = 1, .size = SDT_NOP };
	return sdt_register_sites(MODULE, &span, &targets);
}

/*
 * Check that SDT sites are refused if their flavour, length, flags or number of arguments is wrong.
 */
static const char *tables_of_wrong_sdt_sites_are_refused(void)
{
	unsigned int flavour, len, flag;

	for (flavour = 0; flavour < 256; flavour++)
		for (len = 0; len < 256; len++)
			if (flavour >= ARRAY_SIZE(sdt_lengths) || len != sdt_lengths[flavour])
				EXPECT(register_sdt_sites(flavour, len, 0) == -EINVAL);
	for (flag = 1; flag < 1 << SDT_ARGS_SHIFT; flag *= 2)
		EXPECT(register_sdt_sites(SDT_NOP, 1, flag) == -EINVAL);
	for (flag = SDT_MAX_ARGS + 1; flag < 256; flag++)
		EXPECT(register_sdt_sites(SDT_NOP, 1, flag << SDT_ARGS_SHIFT) == -EINVAL);
	return NULL;
}

NAME(from_a) NAME(from_b) NAME(to_a) NAME(to_b) NAME(to_c) NAME(to_d) NAME(both_a) NAME(both_b)
NAME(lone_a) NAME(lone_b) NAME(both_c) NAME(pair)

#define FUNCTION(label, code)							\
	".type tables_" #label ", @function\n" SITE(label, code)		\
	".size tables_" #label ", . - tables_" #label "\n"

/*
 * Functions with sites, functions with targets, and functions with both.  Each jump leads to a nop
 * in front of a target.
 */
asm(".pushsection .text\n"
	FUNCTION(from_a, KMARKERS_BRANCH("tables_to_a") "\n\tret")
	FUNCTION(from_b, KMARKERS_BRANCH("tables_to_b") "\n\tret")
	FUNCTION(to_a, "nop\n\tret")
	FUNCTION(to_b, "nop\n\tret")
	FUNCTION(to_c, "nop\n\tret")
	FUNCTION(to_d, "nop\n\tret")
	FUNCTION(both_a, KMARKERS_BRANCH("tables_both_a + 8") "\n\tret\n\tnop\n\tret")
	FUNCTION(both_b, KMARKERS_BRANCH("tables_both_b + 8") "\n\tret\n\tnop\n\tret")
	FUNCTION(lone_a, KMARKERS_BRANCH("tables_lone_a + 8") "\n\tret\n\tnop\n\tret")
	FUNCTION(lone_b, KMARKERS_BRANCH("tables_lone_b + 8") "\n\tret\n\tnop\n\tret")
	FUNCTION(both_c, KMARKERS_BRANCH("tables_both_c + 8") "\n\tret\n\tnop\n\tret")
	FUNCTION(pair, KMARKERS_BRANCH("tables_pair + 15") "\n\t"
		 KMARKERS_BRANCH("tables_pair + 20") "\n\tret\n\tendbr64\n\tret\n\tret")
	".popsection\n");

static const struct sdt_provider grouped_provider = { "tables" };
static struct sdt_probe grouped = {
	.provider = &grouped_provider, .module = "", .function = "", .name = "grouped", .types = "",
};
static struct sdt_origin grouped_origin = { &grouped };
static struct sdt_target grouped_targets[4];

static void fill_grouped_site(unsigned int i, const u8 *addr)
{
	chunk.sites[i] = (struct patcher_site) { .len = 7, .size = SDT_JUMP };
	chunk.sites[i].addr = (long)addr - (long)&chunk.sites[i].addr;
	chunk.sites[i].key = (long)&grouped_origin - (long)&chunk.sites[i].key;
}

static void fill_grouped_target(unsigned int i, const u8 *addr)
{
	struct sdt_target *target = &grouped_targets[i];

	*target = (struct sdt_target) { .addr = (long)addr - (long)&target->addr };
	target->origin = (long)&grouped_origin - (long)&target->origin;
}

/* Register a table of the first sites and targets. */
static int add_grouped_sites(unsigned int nr, unsigned int nr_targets)
{
	struct kmarkers_span sites = {
		.first = chunk.sites, .end = chunk.sites + nr, .bytes = nr * sizeof(chunk.sites[0]),
		.chunks = 1,
	}, targets = {
		.first = grouped_targets, .end = grouped_targets + nr_targets,
		.bytes = nr_targets * sizeof(grouped_targets[0]), .chunks = 1,
	};

	return sdt_register_sites(MODULE, &sites, &targets);
}

static bool target_has_site(const struct sdt_target *target, const u8 *addr)
{
	return target->state && target->state->shown.ip == (unsigned long)addr;
}

/*
 * Check to which site a target belongs if the jumps of the sites lead to no target.  If each
 * function with a target has a site, a target belongs to the site of its function.  Otherwise all
 * sites are treated as copies of the first site, to which all targets belong.
 */
static const char *tables_find_the_site_of_each_sdt_target(void)
{
	unsigned int i;

	fill_grouped_site(0, tables_both_b);
	fill_grouped_site(1, tables_both_a);
	fill_grouped_target(0, tables_both_b + 9);
	fill_grouped_target(1, tables_both_a + 9);
	EXPECT(!add_grouped_sites(2, 2));
	EXPECT(target_has_site(&grouped_targets[0], tables_both_b));
	EXPECT(target_has_site(&grouped_targets[1], tables_both_a));
	sdt_unregister_module(MODULE, false);
	EXPECT(!grouped_targets[0].state && !grouped_targets[1].state);

	fill_grouped_site(0, tables_from_b);
	fill_grouped_site(1, tables_from_a);
	fill_grouped_target(0, tables_to_a + 1);
	fill_grouped_target(1, tables_to_b + 1);
	fill_grouped_target(2, tables_to_c + 1);
	fill_grouped_target(3, tables_to_d + 1);
	EXPECT(!add_grouped_sites(2, 4));
	for (i = 0; i < 4; i++)
		EXPECT(target_has_site(&grouped_targets[i], tables_from_a));
	return NULL;
}

/*
 * Check that two sites of one function are no copies of one site if their jumps lead to different
 * targets.  An endbr64 may precede a target.
 */
static const char *tables_find_the_targets_of_two_sdt_sites(void)
{
	fill_grouped_site(0, tables_pair);
	fill_grouped_site(1, tables_pair + 7);
	fill_grouped_target(0, tables_pair + 20);
	fill_grouped_target(1, tables_pair + 19);
	EXPECT(!add_grouped_sites(2, 2));
	EXPECT(target_has_site(&grouped_targets[0], tables_pair + 7));
	EXPECT(target_has_site(&grouped_targets[1], tables_pair));
	return NULL;
}

/* Check that sites in functions without a target are no copies of other sites. */
static const char *tables_treat_lone_sdt_sites_as_originals(void)
{
	const struct sdt_state *state;

	fill_grouped_site(0, tables_lone_a);
	fill_grouped_site(1, tables_lone_b);
	fill_grouped_site(2, tables_both_c);
	fill_grouped_target(0, tables_both_c + 9);
	EXPECT(!add_grouped_sites(3, 1));
	EXPECT(target_has_site(&grouped_targets[0], tables_both_c));
	state = grouped_targets[0].state;
	EXPECT(!state->to_first && !state->to_next);
	EXPECT(!state[-1].to_first && !state[-1].to_next);
	EXPECT(!state[-2].to_first && !state[-2].to_next);
	return NULL;
}

/* Restore the first bytes of a branch, so that a table with the branch can be registered again. */
static int restore_compiled_branch(u8 *addr)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < KMARKERS_BRANCH_HEAD && !err; i++)
		err = write_code_byte(addr + i, KMARKERS_BRANCH_COMPILED[i]);
	return err;
}

#define TIMES	100

static int add_and_drop_grouped_sites_repeatedly(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < TIMES && !err; i++) {
		err = restore_compiled_branch(tables_both_a) ?:
		      restore_compiled_branch(tables_both_b) ?: add_grouped_sites(2, 2);
		if (!err)
			sdt_unregister_module(MODULE, false);
	}
	return err;
}

/* Check that the memory for a table of SDT sites is freed after the table is unregistered. */
static const char *tables_of_sdt_sites_free_their_memory(void)
{
	fill_grouped_site(0, tables_both_a);
	fill_grouped_site(1, tables_both_b);
	fill_grouped_target(0, tables_both_a + 9);
	fill_grouped_target(1, tables_both_b + 9);
	return check_memory_is_freed(add_and_drop_grouped_sites_repeatedly);
}

static void ignore_hit(void *private, const struct sdt_hit *hit)
{
}

/* Check that a table stays registered until the breakpoint at its site has been removed. */
static const char *tables_with_a_breakpoint_stay_registered(void)
{
	u8 nop = tables_to_c[0];

	fill_grouped_site(0, tables_to_c);
	chunk.sites[0].len = 1;
	chunk.sites[0].size = SDT_NOP;
	chunk.sites[0].key = (long)&grouped - (long)&chunk.sites[0].key;
	EXPECT(!add_grouped_sites(1, 0));
	EXPECT(!sdt_attach("tables:::grouped", ignore_hit, NULL));
	EXPECT(READ_ONCE(tables_to_c[0]) == KMARKERS_INT3);
	test_fail_nth_allocation(1);
	sdt_unregister_module(MODULE, true);
	test_disable_failing_allocations();
	EXPECT(READ_ONCE(tables_to_c[0]) == KMARKERS_INT3);
	sdt_unregister_module(MODULE, true);
	EXPECT(READ_ONCE(tables_to_c[0]) == nop);
	EXPECT(!sdt_detach("tables:::grouped", ignore_hit, NULL));
	return NULL;
}

static void drop_grouped_sites(void)
{
	sdt_unregister_module(MODULE, false);
}

#define NOTES		3
#define NOTE_TABLES	4

/* Invalid pointer, passed as the module of note table @i.  MODULE is the module of note table 0. */
#define NOTE_MODULE(i)	((struct module *)((i) + 1UL))

static struct sdt_note_record note_records[NOTE_TABLES][NOTES];
static struct sdt_table *note_tables[NOTE_TABLES];

/*
 * Register note table @table with @nr notes, at most NOTES.  The notes in the bit mask
 * @unarmable_notes cannot be armed.
 */
static int register_notes(unsigned int table, unsigned int nr, unsigned int unarmable_notes)
{
	struct sdt_note_record *records = note_records[table];
	struct sdt_table *notes = sdt_alloc_table(NOTE_MODULE(table), &records[0].site, nr);
	unsigned int i;
	int err;

	if (!notes)
		return -ENOMEM;
	notes->notes = kvcalloc(nr, sizeof(*notes->notes), GFP_KERNEL);
	for (i = 0; i < nr && notes->notes; i++) {
		struct patcher_site *site = &records[i].site;

		*site = (struct patcher_site) { .size = SDT_NOTE };
		site->addr = (long)(tables_from_a + i) - (long)&site->addr;
		site->key = (long)&grouped - (long)&site->key;
		notes->notes[i].reason = unarmable_notes & 1 << i ? "test" : NULL;
	}
	note_tables[table] = notes;
	err = notes->notes ? sdt_register_table(notes) : -ENOMEM;
	if (err)
		sdt_free_table(notes);
	return err;
}

/* Register a table of three notes.  The notes in the bit mask @unarmable_notes cannot be armed. */
static int register_note_table(unsigned int unarmable_notes)
{
	return register_notes(0, NOTES, unarmable_notes);
}

static void drop_note_tables(void)
{
	unsigned int i;

	for (i = 0; i < NOTE_TABLES; i++)
		sdt_unregister_module(NOTE_MODULE(i), false);
}

/* Register note table @table with @nr notes.  Return the number of the first note, or -1. */
static int register_and_number_notes(unsigned int table, unsigned int nr)
{
	return register_notes(table, nr, 0) ? -1 : (int)note_tables[table]->number;
}

/*
 * Check that notes of different tables have different numbers, and that a new table gets the
 * numbers of an unregistered table only if they suffice for all of its notes.
 */
static const char *tables_of_notes_have_different_numbers(void)
{
	EXPECT(register_and_number_notes(0, 3) == 0);
	EXPECT(register_and_number_notes(1, 2) == 3);
	EXPECT(register_and_number_notes(2, 3) == 5);
	sdt_unregister_module(NOTE_MODULE(1), false);
	EXPECT(register_and_number_notes(3, 3) == 8);
	EXPECT(register_and_number_notes(1, 2) == 3);
	sdt_unregister_module(NOTE_MODULE(0), false);
	EXPECT(register_and_number_notes(0, 3) == 0);
	return NULL;
}

/* Return true if a handler can be attached to a pattern.  Detach the handler again. */
static bool can_attach_to_pattern(const char *pattern)
{
	int err = sdt_attach(pattern, ignore_hit, NULL);

	return err ? err != -EINVAL : !sdt_detach(pattern, ignore_hit, NULL);
}

/* Check that a pattern is refused if it matches only notes that cannot be armed. */
static const char *tables_refuse_patterns_of_unarmable_notes(void)
{
	static const char *const patterns[NOTES] = {
		"tables::tables_from_a:grouped@+0x0", "tables::tables_from_a:grouped@+0x1",
		"tables::tables_from_a:grouped@+0x2",
	};
	unsigned int bad, i;

	for (bad = 0; bad < 1 << NOTES; bad++) {
		EXPECT(!register_note_table(bad));
		for (i = 0; i < NOTES; i++)
			EXPECT(can_attach_to_pattern(patterns[i]) == !(bad & 1 << i));
		EXPECT(can_attach_to_pattern("tables:::grouped") == (bad != (1 << NOTES) - 1));
		EXPECT(can_attach_to_pattern("tables:::another"));
		sdt_unregister_module(MODULE, false);
	}
	return NULL;
}

static unsigned int count_note_handlers(unsigned int i)
{
	return sdt_count_live_handlers(sdt_get_handler_set(&note_tables[0]->states[i]));
}

/*
 * Check that a handler can be attached to notes, although these sites stay off: a program never
 * arms notes.
 */
static const char *tables_of_notes_keep_handlers(void)
{
	static const char first[] = "tables::tables_from_a:grouped@+0x0";
	unsigned int other;

	EXPECT(!register_note_table(0));
	EXPECT(!sdt_attach(first, ignore_hit, NULL));
	EXPECT(!sdt_attach("tables:::grouped", ignore_hit, &other));
	EXPECT(count_note_handlers(0) == 2 && count_note_handlers(1) == 1);
	EXPECT(!sdt_detach("tables:::grouped", ignore_hit, &other));
	EXPECT(count_note_handlers(0) == 1 && !count_note_handlers(1));
	EXPECT(!sdt_detach(first, ignore_hit, NULL));
	EXPECT(!count_note_handlers(0));
	return NULL;
}

/* Upper limit of the number of allocations that one operation makes. */
#define FAR	1000

/* Private data of a second handler. */
static unsigned int second_handler;

/*
 * Check that a new table gets all handlers whose patterns match its notes, and is refused if an
 * allocation fails.
 */
static const char *tables_of_notes_get_all_attached_handlers(void)
{
	static const char first[] = "tables::tables_from_a:grouped@+0x0";
	bool failed = true;
	unsigned int nth;
	int err;

	EXPECT(!sdt_attach("tables:::grouped", ignore_hit, NULL));
	EXPECT(!sdt_attach(first, ignore_hit, &second_handler));
	for (nth = 1; nth < FAR && failed; nth++) {
		test_fail_nth_allocation(nth);
		err = register_note_table(0);
		failed = test_has_allocation_failed();
		test_disable_failing_allocations();
		EXPECT(err == (failed ? -ENOMEM : 0));
	}
	/* At least the table, its notes, and a set of handlers are allocated. */
	EXPECT(nth > 4 && nth < FAR);
	EXPECT(count_note_handlers(0) == 2 && count_note_handlers(1) == 1);
	EXPECT(count_note_handlers(2) == 1);
	return NULL;
}

static void drop_notes_and_handlers(void)
{
	test_disable_failing_allocations();
	drop_note_tables();
	sdt_detach("tables:::grouped", ignore_hit, NULL);
	sdt_detach("tables::tables_from_a:grouped@+0x0", ignore_hit, &second_handler);
	sdt_synchronize();
}

/* Make the name of a site whose probe is defined as @name.  Return true if the name is @wanted. */
static bool is_probe_shown_as(const char *name, const char *wanted)
{
	static struct sdt_table table;
	static struct sdt_probe probe;
	struct {
		struct sdt_place place;
		char guard[8];
	} made = { .guard = "guard" };

	probe = grouped;
	probe.name = name;
	chunk.sites[0] = (struct patcher_site) { .len = 1, .size = SDT_NOP };
	chunk.sites[0].addr = (long)tables_to_a - (long)&chunk.sites[0].addr;
	chunk.sites[0].key = (long)&probe - (long)&chunk.sites[0].key;
	sdt_make_site_name(&made.place, &table, &chunk.sites[0]);
	return !strcmp(made.place.part[SDT_NAME], wanted) && !strcmp(made.guard, "guard") &&
	       !strcmp(made.place.part[SDT_FUNCTION], "tables_to_a") && !made.place.offset &&
	       !strcmp(made.place.part[SDT_PROVIDER], "tables");
}

/* Check that two underscores are shown as a dash, and names of up to 127 characters completely. */
static const char *tables_show_names_with_dashes(void)
{
	char name[140], wanted[SDT_MAX_FUNCTION];
	unsigned int length;

	EXPECT(is_probe_shown_as("io__start", "io-start"));
	EXPECT(is_probe_shown_as("a_b", "a_b"));
	EXPECT(is_probe_shown_as("a___b____c__", "a-_b--c-"));
	for (length = 120; length < sizeof(name); length++) {
		memset(name, 'a', length);
		name[length] = '\0';
		memset(wanted, 'a', sizeof(wanted));
		wanted[length < sizeof(wanted) ? length : sizeof(wanted) - 1] = '\0';
		EXPECT(is_probe_shown_as(name, wanted));
		/* Two underscores of the definition are shown as one dash. */
		memcpy(name + length - 2, "__", 2);
		memset(wanted, 'a', sizeof(wanted));
		if (length - 2 < sizeof(wanted) - 1)
			memcpy(wanted + length - 2, "-", 2);
		else
			wanted[sizeof(wanted) - 1] = '\0';
		EXPECT(is_probe_shown_as(name, wanted));
	}
	return NULL;
}

/*
 * Check that sites in one function are shown with the name of this function, except a site whose
 * probe's definition names another function.
 */
static const char *tables_show_names_of_sites_in_one_function(void)
{
	static const struct sdt_probe probes[] = {
		{ .provider = &grouped_provider, .module = "", .function = "", .name = "a" },
		{ .provider = &grouped_provider, .module = "", .function = "own", .name = "b" },
		{ .provider = &grouped_provider, .module = "own", .function = "", .name = "c" },
	};
	static const char *const functions[] = { "tables_to_a", "own", "tables_to_a" };
	static struct sdt_table table;
	struct sdt_place place;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		chunk.sites[i] = (struct patcher_site) { .len = 1, .size = SDT_NOP };
		chunk.sites[i].addr = (long)tables_to_a + i - (long)&chunk.sites[i].addr;
		chunk.sites[i].key = (long)&probes[i] - (long)&chunk.sites[i].key;
	}
	sdt_make_site_name(&place, &table, &chunk.sites[0]);
	for (i = 0; i < ARRAY_SIZE(probes); i++) {
		if (i)
			sdt_make_name_in_same_function(&place, &table, &chunk.sites[i], 5 * i);
		EXPECT(!strcmp(place.part[SDT_NAME], probes[i].name) && place.offset == 5 * i);
		EXPECT(!strcmp(place.part[SDT_FUNCTION], functions[i]));
		EXPECT(!strcmp(place.part[SDT_PROVIDER], "tables"));
		EXPECT(i < 2 || !strcmp(place.part[SDT_MODULE], "own"));
	}
	return NULL;
}

static int join_one_chunk(unsigned int record)
{
	struct kmarkers_span span = { NULL };

	return kmarkers_join_chunk(&span, &chunk.head, record);
}

static const char *tables_with_wrong_headers_are_refused(void)
{
	const unsigned int site = sizeof(struct patcher_site);

	fill_chunk_header(0, site);
	EXPECT(!join_one_chunk(site));
	fill_chunk_header(2 * site, site);
	EXPECT(!join_one_chunk(site));
	chunk.head.version = 1;
	EXPECT(join_one_chunk(site) == -EINVAL);
	chunk.head.version = KMARKERS_TABLE_VERSION + 1;
	EXPECT(join_one_chunk(site) == -EINVAL);
	fill_chunk_header(2 * site, site + 1);
	EXPECT(join_one_chunk(site) == -EINVAL);
	fill_chunk_header(2 * site, site);
	EXPECT(join_one_chunk(sizeof(s32)) == -EINVAL);
	fill_chunk_header(2 * site - 1, site);
	EXPECT(join_one_chunk(site) == -EINVAL);
	return NULL;
}

/* Join two chunks of one record each, at indices @first and @second. */
static int join_two_chunks(unsigned int first, unsigned int second, struct kmarkers_span *span)
{
	const unsigned int site = sizeof(struct patcher_site);
	int err;

	memset(span, 0, sizeof(*span));
	fill_chunk_header(site, site);
	chunk.head.first += first * site;
	err = kmarkers_join_chunk(span, &chunk.head, site);
	fill_chunk_header(site, site);
	chunk.head.first += second * site;
	return err ?: kmarkers_join_chunk(span, &chunk.head, site) ?:
	       kmarkers_count_records(span, site);
}

/* Check that adjacent records of two chunks form one table, in any order of the chunks. */
static const char *tables_of_translation_units_are_joined(void)
{
	struct kmarkers_span span = { NULL };

	EXPECT(!kmarkers_count_records(&span, sizeof(s32)));
	EXPECT(join_two_chunks(0, 1, &span) == 2 && span.first == &chunk.sites[0]);
	EXPECT(span.chunks == 2);
	EXPECT(join_two_chunks(1, 0, &span) == 2 && span.first == &chunk.sites[0]);
	EXPECT(span.end == &chunk.sites[2]);
	EXPECT(join_two_chunks(0, 2, &span) == -EINVAL);
	EXPECT(join_two_chunks(2, 0, &span) == -EINVAL);
	EXPECT(imv_register_module_sites(MODULE, &span) == -EINVAL);
	EXPECT(marker_tables_register_module(MODULE, &span) == -EINVAL);
	EXPECT(marker_stubs_register_module(MODULE, &span) == -EINVAL);
	/* Two chunks with the same record are refused. */
	EXPECT(join_two_chunks(1, 1, &span) == -EINVAL);
	/* A chunk without records has no effect on the table. */
	fill_chunk_header(0, sizeof(struct patcher_site));
	EXPECT(join_two_chunks(1, 2, &span) == 2);
	chunk.head.bytes = 0;
	chunk.head.first = 0;
	EXPECT(!kmarkers_join_chunk(&span, &chunk.head, sizeof(struct patcher_site)));
	EXPECT(kmarkers_count_records(&span, sizeof(struct patcher_site)) == 2);
	EXPECT(span.first == &chunk.sites[1] && span.chunks == 3);
	return NULL;
}

#define OTHERS		100000
#define OTHER_LEN	2
#define SETS		100
#define TRIES		5

NAME(others)

static __used noinline void contain_other_instructions(void)
{
	asm volatile("tables_others:\n\t"
		     ".rept " __stringify(OTHERS) "\n\t"
		     "movb $0, %al\n\t"
		     ".endr");
}

static struct patcher_site others[OTHERS];
/* The test sets scaled[1], which the site in read_scaled() reads.  Other sites read scaled[0]. */
static DEFINE_IMV(u8, scaled)[2];

static noinline u8 read_scaled(void)
{
	u8 value;

	asm volatile(__IMV_SITE("movl $0, %k0", "1", "1", "0")
		     : "=r" (value) : "i" (&scaled__imv[1]));
	return value;
}

/*
 * Measure the time to set the value of read_scaled() SETS times.  Return the minimum of several
 * tries in ns, or 0 on error.
 */
static u64 measure_set_time(void)
{
	struct imv_change change = { .var = &scaled__imv[1], .size = 1 };
	u64 start, least = ~0ULL;
	unsigned int i, try;

	for (try = 0; try < TRIES; try++) {
		start = ktime_get_ns();
		for (i = 0; i < SETS; i++) {
			change.value = i;
			if (imv_set_many(&change, 1) || read_scaled() != i)
				return 0;
		}
		start = ktime_get_ns() - start;
		least = start < least ? start : least;
	}
	return least;
}

static int add_other_sites(void)
{
	struct kmarkers_span span = { others, others + OTHERS, sizeof(others), 1 };
	unsigned int i;

	for (i = 0; i < OTHERS; i++) {
		others[i] = (struct patcher_site) { .len = OTHER_LEN, .size = 1 };
		others[i].addr = (long)(tables_others + i * OTHER_LEN) - (long)&others[i].addr;
		others[i].key = (long)&scaled__imv[0] - (long)&others[i].key;
	}
	return imv_register_module_sites(MODULE, &span);
}

/* Check that the time to set a value does not depend on the number of sites of other values. */
static const char *imv_set_duration_is_independent_of_other_sites(void)
{
	u64 alone = measure_set_time(), among;

	EXPECT(alone);
	EXPECT(!add_other_sites());
	among = measure_set_time();
	EXPECT(among);
	EXPECT(among < 3 * alone);
	return NULL;
}

static void drop_other_sites(void)
{
	imv_unregister_module_sites(MODULE);
}

const struct test_case table_cases[] = {
	{ "tables_of_reading_sites_are_accepted", tables_of_reading_sites_are_accepted, NULL },
	{ "tables_of_other_instructions_are_refused", tables_of_other_instructions_are_refused,
	  NULL },
	{ "tables_with_a_wrong_site_change_nothing", tables_with_a_wrong_site_change_nothing,
	  NULL },
	{ "tables_of_comparisons_are_accepted", tables_of_comparisons_are_accepted, NULL },
	{ "tables_of_other_comparisons_are_refused", tables_of_other_comparisons_are_refused,
	  NULL },
	{ "tables_with_changed_sites_keep_the_value", tables_with_changed_sites_keep_the_value,
	  drop_value_sites },
	{ "tables_report_the_missing_handler_first", tables_report_the_missing_handler_first,
	  drop_value_sites },
	{ "tables_of_reading_sites_change_only_their_variable",
	  tables_of_reading_sites_change_only_their_variable,
	  drop_value_sites },
	{ "tables_of_wrong_sdt_sites_are_refused", tables_of_wrong_sdt_sites_are_refused, NULL },
	{ "tables_find_the_site_of_each_sdt_target", tables_find_the_site_of_each_sdt_target,
	  drop_grouped_sites },
	{ "tables_find_the_targets_of_two_sdt_sites", tables_find_the_targets_of_two_sdt_sites,
	  drop_grouped_sites },
	{ "tables_treat_lone_sdt_sites_as_originals", tables_treat_lone_sdt_sites_as_originals,
	  drop_grouped_sites },
	{ "tables_of_sdt_sites_free_their_memory", tables_of_sdt_sites_free_their_memory,
	  drop_grouped_sites },
	{ "tables_with_a_breakpoint_stay_registered", tables_with_a_breakpoint_stay_registered,
	  drop_grouped_sites },
	{ "tables_refuse_patterns_of_unarmable_notes", tables_refuse_patterns_of_unarmable_notes,
	  drop_grouped_sites },
	{ "tables_of_notes_keep_handlers", tables_of_notes_keep_handlers, drop_grouped_sites },
	{ "tables_of_notes_get_all_attached_handlers", tables_of_notes_get_all_attached_handlers,
	  drop_notes_and_handlers },
	{ "tables_of_notes_have_different_numbers", tables_of_notes_have_different_numbers,
	  drop_note_tables },
	{ "tables_show_names_with_dashes", tables_show_names_with_dashes, NULL },
	{ "tables_show_names_of_sites_in_one_function", tables_show_names_of_sites_in_one_function,
	  NULL },
	{ "tables_with_wrong_headers_are_refused", tables_with_wrong_headers_are_refused, NULL },
	{ "tables_of_translation_units_are_joined", tables_of_translation_units_are_joined, NULL },
	{ "imv_set_duration_is_independent_of_other_sites",
	  imv_set_duration_is_independent_of_other_sites,
	  drop_other_sites },
};

const unsigned int table_nr_cases = ARRAY_SIZE(table_cases);
