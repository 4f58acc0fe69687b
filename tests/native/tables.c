// SPDX-License-Identifier: GPL-2.0-only
/* Tables that this file makes at run time: wrong heads, and sites that read no value. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/timekeeping.h>

#include <kmarkers/immediate.h>
#include <kmarkers/marker.h>
#include <kmarkers/patcher.h>
#include <kmarkers/sdt.h>
#include <kmarkers/typed.h>

#include "../../immediate/load.h"
#include "../../markers/stubs.h"
#include "../../markers/tables.h"
#include "tables.h"

/* Clients contain these structures.  A new layout needs a new KMARKERS_TABLE_VERSION. */
static_assert(KMARKERS_TABLE_VERSION == 5, "the sizes below are those of version 5");
static_assert(sizeof(struct marker) == 72, "struct marker");
static_assert(sizeof(struct marker_tp) == 112, "struct marker_tp");
static_assert(sizeof(struct marker_typed) == 136, "struct marker_typed");
static_assert(sizeof(struct patcher_site) == 12, "struct patcher_site");
static_assert(sizeof(struct sdt_target) == 16, "struct sdt_target");

#define NAME(label)	extern u8 tables_##label[];
#define SITE(label, code)	"tables_" #label ":\n\t" code "\n"

NAME(mov1) NAME(mov4) NAME(mov8) NAME(nop) NAME(jump) NAME(jne) NAME(mov2) NAME(end)

/* These instructions are changed, but never executed. */
static __used noinline void instructions(void)
{
	asm volatile(SITE(mov1, "movb $1, %al")
		     SITE(mov4, "movl $2, %r9d")
		     SITE(mov8, "movabs $3, %rdx")
		     SITE(nop, ".byte 0x0f, 0x1f, 0x44, 0, 0")
		     SITE(jump, ".byte 0xe9, 0, 0, 0, 0")
		     SITE(jne, ".byte 0x75, 0")
		     SITE(mov2, ".byte 0x66, 0xb8, 0, 0")
		     SITE(end, ""));
}

/* A chunk as the assembler makes it, with room for three records. */
static struct {
	struct kmarkers_chunk head;
	struct patcher_site sites[3];
} __aligned(8) chunk;

static u64 variable;

/* The owner of the table: imv_drop_module() removes its table only. */
#define MODULE	((struct module *)1)

static void fill_head(unsigned int bytes, unsigned int record)
{
	chunk.head = (struct kmarkers_chunk) {
		.bytes = bytes, .record = record, .version = KMARKERS_TABLE_VERSION,
		.first = (long)chunk.sites - (long)&chunk.head.first,
	};
}

static int add(const u8 *addr, const u8 *end, u8 size, u16 flags)
{
	struct kmarkers_span span = { NULL };
	int err;

	fill_head(sizeof(chunk.sites[0]), sizeof(chunk.sites[0]));
	chunk.sites[0] = (struct patcher_site) { .len = end - addr, .size = size, .flags = flags };
	chunk.sites[0].addr = (long)addr - (long)&chunk.sites[0].addr;
	chunk.sites[0].key = (long)&variable - (long)&chunk.sites[0].key;
	err = kmarkers_join(&span, &chunk.head, sizeof(chunk.sites[0])) ?:
	      imv_add_table(MODULE, &span);
	if (!err)
		imv_drop_module(MODULE);
	return err;
}

/* Sites that read a value are accepted.  They get the value of the variable, 0 included. */
static const char *takes_reads(void)
{
	u32 operand;

	variable = 0;
	EXPECT(!add(tables_mov1, tables_mov4, 1, 0));
	EXPECT(tables_mov1[1] == 0);
	EXPECT(!add(tables_mov4, tables_mov8, 4, 0));
	EXPECT(!add(tables_mov4, tables_mov8, 2, 0));
	EXPECT(!add(tables_mov4, tables_mov8, 1, 0));
	variable = 77;
	EXPECT(!add(tables_mov8, tables_nop, 8, 0));
	memcpy(&operand, tables_mov8 + 2, sizeof(operand));
	EXPECT(operand == 77);
	EXPECT(!add(tables_jne, tables_mov2, 1, IMV_FLIP));
	return NULL;
}

static const char *refuses_others(void)
{
	u8 before[5];

	memcpy(before, tables_nop, sizeof(before));
	EXPECT(add(tables_nop, tables_jump, 4, 0) == -EINVAL);
	EXPECT(add(tables_jump, tables_jne, 4, 0) == -EINVAL);
	EXPECT(add(tables_jne, tables_mov2, 1, 0) == -EINVAL);
	EXPECT(add(tables_mov2, tables_end, 2, 0) == -EINVAL);
	EXPECT(add(tables_mov8, tables_nop, 4, 0) == -EINVAL);
	EXPECT(add(tables_mov4, tables_mov8, 8, 0) == -EINVAL);
	EXPECT(add(tables_mov1, tables_mov4, 3, 0) == -EINVAL);
	EXPECT(add(tables_mov1, tables_mov4, 1, IMV_FLIP) == -EINVAL);
	EXPECT(add(tables_mov1, tables_mov4, 1, IMV_BRANCH) == -EINVAL);
	EXPECT(add(tables_mov4, tables_mov8, 4, PATCHER_SITE_RUN) == -EINVAL);
	EXPECT(add((u8 *)&variable, (u8 *)&variable + 5, 4, 0) == -EPERM);
	EXPECT(!memcmp(before, tables_nop, sizeof(before)));
	return NULL;
}

static int join_one(unsigned int record)
{
	struct kmarkers_span span = { NULL };

	return kmarkers_join(&span, &chunk.head, record);
}

static const char *refuses_heads(void)
{
	const unsigned int site = sizeof(struct patcher_site);

	fill_head(0, site);
	EXPECT(!join_one(site));
	fill_head(2 * site, site);
	EXPECT(!join_one(site));
	chunk.head.version = 1;
	EXPECT(join_one(site) == -EINVAL);
	chunk.head.version = KMARKERS_TABLE_VERSION + 1;
	EXPECT(join_one(site) == -EINVAL);
	fill_head(2 * site, site + 1);
	EXPECT(join_one(site) == -EINVAL);
	fill_head(2 * site, site);
	EXPECT(join_one(sizeof(s32)) == -EINVAL);
	fill_head(2 * site - 1, site);
	EXPECT(join_one(site) == -EINVAL);
	return NULL;
}

/* Join two chunks of one record each, at indices @first and @second. */
static int join_two(unsigned int first, unsigned int second, struct kmarkers_span *span)
{
	const unsigned int site = sizeof(struct patcher_site);
	int err;

	memset(span, 0, sizeof(*span));
	fill_head(site, site);
	chunk.head.first += first * site;
	err = kmarkers_join(span, &chunk.head, site);
	fill_head(site, site);
	chunk.head.first += second * site;
	return err ?: kmarkers_join(span, &chunk.head, site) ?: kmarkers_span_records(span, site);
}

/* Adjacent records of two chunks form one table, in any order of the chunks. */
static const char *joins(void)
{
	struct kmarkers_span span = { NULL };

	EXPECT(!kmarkers_span_records(&span, sizeof(s32)));
	EXPECT(join_two(0, 1, &span) == 2 && span.first == &chunk.sites[0] && span.chunks == 2);
	EXPECT(join_two(1, 0, &span) == 2 && span.first == &chunk.sites[0]);
	EXPECT(span.end == &chunk.sites[2]);
	EXPECT(join_two(0, 2, &span) == -EINVAL);
	EXPECT(join_two(2, 0, &span) == -EINVAL);
	EXPECT(imv_add_table(MODULE, &span) == -EINVAL);
	EXPECT(marker_tables_add(MODULE, &span) == -EINVAL);
	EXPECT(marker_stubs_add(MODULE, &span) == -EINVAL);
	/* The same record twice. */
	EXPECT(join_two(1, 1, &span) == -EINVAL);
	/* A chunk without records has no effect on the table. */
	fill_head(0, sizeof(struct patcher_site));
	EXPECT(join_two(1, 2, &span) == 2);
	chunk.head.bytes = 0;
	chunk.head.first = 0;
	EXPECT(!kmarkers_join(&span, &chunk.head, sizeof(struct patcher_site)));
	EXPECT(kmarkers_span_records(&span, sizeof(struct patcher_site)) == 2);
	EXPECT(span.first == &chunk.sites[1] && span.chunks == 3);
	return NULL;
}

#define OTHERS		100000
#define OTHER_LEN	2
#define SETS		100
#define TRIES		5

NAME(others)

static __used noinline void other_instructions(void)
{
	asm volatile("tables_others:\n\t"
		     ".rept " __stringify(OTHERS) "\n\t"
		     "movb $0, %al\n\t"
		     ".endr");
}

static struct patcher_site others[OTHERS];
/* One site reads scaled[1], which is set.  All others read scaled[0], which lies before it. */
static DEFINE_IMV(u8, scaled)[2];

static noinline u8 read_scaled(void)
{
	u8 value;

	asm volatile(__IMV_SITE("movl $0, %k0", "1", "1", "0")
		     : "=r" (value) : "i" (&scaled__imv[1]));
	return value;
}

/* Return the nanoseconds that setting a value with one site takes: the least of several tries. */
static u64 time_sets(void)
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

static int add_others(void)
{
	struct kmarkers_span span = { others, others + OTHERS, sizeof(others), 1 };
	unsigned int i;

	for (i = 0; i < OTHERS; i++) {
		others[i] = (struct patcher_site) { .len = OTHER_LEN, .size = 1 };
		others[i].addr = (long)(tables_others + i * OTHER_LEN) - (long)&others[i].addr;
		others[i].key = (long)&scaled__imv[0] - (long)&others[i].key;
	}
	return imv_add_table(MODULE, &span);
}

/* The time of a change does not depend on the sites of other variables. */
static const char *does_not_walk(void)
{
	u64 alone = time_sets(), among;

	EXPECT(alone);
	EXPECT(!add_others());
	among = time_sets();
	EXPECT(among);
	EXPECT(among < 3 * alone);
	return NULL;
}

static void forget_others(void)
{
	imv_drop_module(MODULE);
}

const struct test_case table_cases[] = {
	{ "tables_of_reads_are_taken", takes_reads, NULL },
	{ "tables_of_others_are_refused", refuses_others, NULL },
	{ "tables_with_wrong_heads_are_refused", refuses_heads, NULL },
	{ "tables_of_units_are_joined", joins, NULL },
	{ "imv_set_looks_at_its_sites_only", does_not_walk, forget_others },
};

const unsigned int table_nr_cases = ARRAY_SIZE(table_cases);
