// SPDX-License-Identifier: GPL-2.0-only
/* Tables that no compiler made: heads that are wrong, and sites that read no value. */
#include <errno.h>
#include <string.h>

#include <linux/kernel.h>

#include <kmarkers/immediate.h>
#include <kmarkers/marker.h>
#include <kmarkers/patcher.h>

#include "../../immediate/imv.h"
#include "../../markers/registry.h"
#include "tables.h"

#define NAME(label)	extern u8 tables_##label[];
#define SITE(label, code)	"tables_" #label ":\n\t" code "\n"

NAME(mov1) NAME(mov4) NAME(mov8) NAME(nop) NAME(jump) NAME(jne) NAME(mov2) NAME(end)

/* Never executed: changed bytes do no harm. */
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

static struct {
	struct kmarkers_chunk head;
	struct patcher_site site;
} __aligned(8) chunk;

static u64 variable;

/* A module of its own, so that the table can be dropped. */
#define MODULE	((struct module *)1)

static int add(const u8 *addr, const u8 *end, u8 size, u16 flags)
{
	int err;

	chunk.head = (struct kmarkers_chunk) {
		.bytes = sizeof(chunk.head) + sizeof(chunk.site), .record = sizeof(chunk.site),
		.version = KMARKERS_TABLE_VERSION,
	};
	chunk.site = (struct patcher_site) { .len = end - addr, .size = size, .flags = flags };
	chunk.site.addr = (long)addr - (long)&chunk.site.addr;
	chunk.site.key = (long)&variable - (long)&chunk.site.key;
	err = imv_add_chunk(MODULE, &chunk.head);
	if (!err)
		imv_drop_module(MODULE);
	return err;
}

/* What reads a value is taken, and reads it from then on, even if it is 0. */
static const char *takes_reads(void)
{
	u32 operand;

	variable = 0;
	EXPECT(!add(tables_mov1, tables_mov4, 1, 0));
	EXPECT(tables_mov1[1] == 0);
	EXPECT(!add(tables_mov4, tables_mov8, 4, 0));
	EXPECT(!add(tables_mov4, tables_mov8, 2, 0));
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

static const char *refuses_heads(void)
{
	struct kmarkers_chunk head = {
		.bytes = sizeof(head), .record = sizeof(struct patcher_site),
		.version = KMARKERS_TABLE_VERSION,
	};

	EXPECT(!imv_add_chunk(MODULE, &head));
	head.version++;
	EXPECT(imv_add_chunk(MODULE, &head) == -EINVAL);
	head.version--;
	head.record++;
	EXPECT(imv_add_chunk(MODULE, &head) == -EINVAL);
	EXPECT(markers_add_chunk(MODULE, &head) == -EINVAL);
	head.record = sizeof(s32);
	EXPECT(!markers_add_chunk(MODULE, &head));
	head.bytes--;
	EXPECT(markers_add_chunk(MODULE, &head) == -EINVAL);
	return NULL;
}

const struct test_case table_cases[] = {
	{ "tables_of_reads_are_taken", takes_reads, NULL },
	{ "tables_of_others_are_refused", refuses_others, NULL },
	{ "tables_with_wrong_heads_are_refused", refuses_heads, NULL },
};

const unsigned int table_nr_cases = ARRAY_SIZE(table_cases);
