// SPDX-License-Identifier: GPL-2.0-only
/*
 * The arena, an array of bytes that the patcher changes instead of text, and the functions of
 * patcher/text.h for this array. patcher_text_sync(), which ends each round, checks the bytes of
 * all pokes.
 */
#include <linux/errno.h>
#include <linux/ptrace.h>

#include <kmarkers/patcher.h>

#include "../../patcher/insn.h"
#include "../../patcher/text.h"
#include "arena.h"

#define INT3	0xcc

u8 arena[ARENA_BYTES] __aligned(64);
bool arena_can_wait, arena_alone;
int arena_vet;

static u8 starts[ARENA_BYTES];
static unsigned int nr_starts;

/*
 * Pokes of the batch in progress, number of these pokes, and number of rounds of the batch so far.
 */
static struct patcher_poke *pokes;
static unsigned int nr_pokes, rounds;
static bool waited;

/*
 * Instructions of every kind: the first bytes, the number of these bytes, and the length of the
 * instruction.  Further bytes are taken from the input.
 */
static const struct {
	u8 bytes[3];
	u8 opcode, len;
} forms[] = {
	{ { 0x90 }, 1, 1 }, { { 0x66, 0x90 }, 2, 2 }, { { 0x0f, 0x1f, 0x00 }, 3, 3 },
	{ { 0x0f, 0x1f, 0x40 }, 3, 4 }, { { 0x0f, 0x1f, 0x44 }, 3, 5 },
	{ { 0x0f, 0x1f, 0x80 }, 3, 7 }, { { 0x0f, 0x1f, 0x84 }, 3, 8 },
	{ { 0xeb }, 1, 2 }, { { 0xe9 }, 1, 5 }, { { 0xe8 }, 1, 5 }, { { 0x75 }, 1, 2 },
	{ { 0x0f, 0x84 }, 2, 6 }, { { 0xb0 }, 1, 2 }, { { 0xb8 }, 1, 5 },
	{ { 0x41, 0xb8 }, 2, 6 }, { { 0x48, 0xb8 }, 2, 10 }, { { 0xf0 }, 1, 1 },
	{ { 0x3e, 0x0f, 0x85 }, 3, 7 }, { { 0x2e, 0x2e, 0xe9 }, 3, 7 },
	{ { 0x3c }, 1, 2 }, { { 0x3d }, 1, 5 }, { { 0x80, 0xfb }, 2, 3 }, { { 0x81, 0xfb }, 2, 6 },
	{ { 0x40, 0x80, 0xff }, 3, 4 }, { { 0x41, 0x81, 0xff }, 3, 7 },
};

void arena_take_instruction(struct input *in, u8 *bytes, unsigned int len)
{
	unsigned int i, form = take_number(in, 1) % ARRAY_SIZE(forms);

	for (i = 0; i < len; i++)
		bytes[i] = take_number(in, 1);
	/* Begin at the selected element, and search for an instruction of length @len. */
	for (i = 0; i < ARRAY_SIZE(forms); i++, form++) {
		form %= ARRAY_SIZE(forms);
		if (forms[form].len == len) {
			memcpy(bytes, forms[form].bytes, forms[form].opcode);
			return;
		}
	}
}

void arena_fill(struct input *in)
{
	unsigned int at = 0, form;

	nr_starts = 0;
	while (at < ARENA_BYTES) {
		form = take_number(in, 1) % ARRAY_SIZE(forms);
		if (at + forms[form].len > ARENA_BYTES)
			form = 0;
		starts[nr_starts++] = at;
		memset(&arena[at], take_number(in, 1), forms[form].len);
		memcpy(&arena[at], forms[form].bytes, forms[form].opcode);
		at += forms[form].len;
	}
}

u8 *arena_take_address(struct input *in)
{
	unsigned int number = take_number(in, 1);

	if (number & 1)
		return &arena[starts[(number >> 1) % nr_starts]];
	return &arena[take_number(in, 1) % ARENA_BYTES];
}

unsigned int arena_get_insn_len(const u8 *place)
{
	struct patcher_insn insn;

	if (patcher_insn_decode(place, arena + ARENA_BYTES - place, &insn))
		return 1;
	return insn.len;
}

bool patcher_is_module_text(struct module *module, unsigned long addr, unsigned int len)
{
	unsigned long start = (unsigned long)arena;

	return addr >= start && addr < start + ARENA_BYTES && len <= start + ARENA_BYTES - addr;
}

bool patcher_is_text_unexecuted(const struct module *module)
{
	return false;
}

int patcher_text_check_kprobes(const struct patcher_poke *batch, unsigned int nr, bool locked)
{
	return 0;
}

void patcher_text_remove_unneeded_guards(void)
{
}

int patcher_text_check_core(const struct patcher_poke *batch, unsigned int nr)
{
	return arena_vet;
}

int patcher_text_map(struct patcher_text_alias *alias, struct patcher_poke *batch, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		batch[i].alias = batch[i].addr;
	pokes = batch;
	nr_pokes = nr;
	rounds = 0;
	return 0;
}

void patcher_text_unmap(struct patcher_text_alias *alias)
{
	pokes = NULL;
}

void patcher_text_lock(bool core_text)
{
}

void patcher_text_unlock(bool core_text)
{
}

bool patcher_text_can_wait_for_tasks(void)
{
	return arena_can_wait;
}

void patcher_text_wait_for_tasks(void)
{
	waited = true;
}

bool patcher_is_one_cpu_online(void)
{
	return arena_alone;
}

void patcher_text_store_first_bytes_again(struct patcher_poke *pokes, unsigned int nr)
{
}

/* Call the breakpoint handler for a poke, and check that it emulates the new instruction. */
static void check_emulated_insn(const struct patcher_poke *poke)
{
	unsigned long addr = (unsigned long)poke->addr, stack[4] = { 0 };
	struct pt_regs regs, expected;
	struct patcher_insn insn;

	memset(&regs, 0xa5, sizeof(regs));
	regs.ip = addr + 1;
	regs.sp = (unsigned long)&stack[2];
	expected = regs;
	MUST(patcher_handle_int3(&regs));
	if (!patcher_insn_decode(poke->new, poke->len, &insn) && insn.len == poke->len)
		patcher_insn_emulate(&insn, addr, &expected);
	else
		expected.ip = addr + poke->len;
	MUST(!memcmp(&regs, &expected, sizeof(regs)));
}

/* Return true if the site of a poke holds the byte @first and the other bytes of @tail. */
static bool does_site_hold(const struct patcher_poke *poke, u8 first, const u8 *tail)
{
	return poke->addr[0] == first && !memcmp(poke->addr + 1, tail + 1, poke->len - 1);
}

/*
 * Check the site of a poke after round number @round.  After round 0, the site holds int3 and the
 * old tail; after round 1, int3 and the new tail; after round 2, the new instruction.
 */
static void check_poked_site(const struct patcher_poke *poke, unsigned int round)
{
	bool old = does_site_hold(poke, poke->old[0], poke->old);
	bool new = does_site_hold(poke, poke->new[0], poke->new);

	if (poke->addr[0] != INT3) {
		/* The chunk of this poke is not in progress: all bytes are old, or all are new. */
		MUST(old || new);
		return;
	}
	MUST(round < 2);
	MUST(does_site_hold(poke, INT3, round ? poke->new : poke->old));
	check_emulated_insn(poke);
}

void patcher_text_sync(void)
{
	unsigned int i, trapping = 0;

	for (i = 0; i < nr_pokes; i++) {
		trapping += pokes[i].addr[0] == INT3;
		check_poked_site(&pokes[i], rounds % 3);
	}
	/* A batch of prefixes has one round, and no breakpoints. */
	if (!(pokes[0].flags & PATCHER_SITE_PREFIX) && rounds % 3 < 2 && pokes[0].len > 1)
		MUST(trapping);
	rounds++;
}
