// SPDX-License-Identifier: GPL-2.0-only
/* Check and change the instructions that read immediate values. */
#include <linux/string.h>

#include <kmarkers/branch.h>
#include <kmarkers/immediate.h>
#include <kmarkers/patcher.h>

#include "../base/operand.h"
#include "reads.h"

/* Maximum length in bytes of an instruction with an immediate of 8 bits: cmp with REX. */
#define SHORT_LEN	4

/*
 * Return the size in bytes of the immediate in a site's mov or cmp.  The immediate of a value of 1
 * or 2 bytes has 4 bytes, with two exceptions for values of 1 byte, whose immediate has 1 byte: in
 * a cmp of a byte register, and in the mov of a module built with older headers.
 */
static unsigned int get_immediate_size(const struct patcher_site *site)
{
	if (site->size == 1 && site->len <= SHORT_LEN)
		return 1;
	return site->size < 4 ? 4 : site->size;
}

/* Return the value of a variable of @size bytes. */
u64 imv_load_value(const void *var, unsigned int size)
{
	u64 value = 0;

	memcpy(&value, var, size);
	return value;
}

/* Turn a conditional jump into a je if @value is not 0, else into a jne, by changing one bit. */
static void set_jump_condition(u8 *insn, u64 value)
{
	u8 *opcode = insn[0] == 0x0f ? insn + 1 : insn;

	*opcode = value ? *opcode & ~1 : *opcode | 1;
}

/*
 * Return true if @insn is an instruction mov $imm,%reg of the site's size, with no prefix or with a
 * REX prefix.  The patcher has checked that the site is one instruction, so REX.W is set only if
 * the immediate has 8 bytes.
 */
static bool is_value_mov(const struct patcher_site *site, const u8 *insn)
{
	unsigned int size = get_immediate_size(site), prefixes = site->len - size - 1;
	u8 rex = prefixes ? insn[0] : KMARKERS_REX;

	if (prefixes > 1 || (rex & KMARKERS_REX_MASK) != KMARKERS_REX)
		return false;
	return (insn[prefixes] & 0xf8) == (size == 1 ? 0xb0 : 0xb8);
}

/*
 * Return true if @insn is an instruction cmp $imm,%reg of the site's size, with no prefix or with a
 * REX prefix.
 */
static bool is_value_cmp(const struct patcher_site *site, const u8 *insn)
{
	unsigned int size = get_immediate_size(site), before = site->len - size;

	if (before == 1)
		return insn[0] == (size == 1 ? 0x3c : 0x3d);
	/* The only bit of REX that may be set is B, for the registers r8 to r15. */
	if (before == 3 && (*insn++ & 0xfe) != KMARKERS_REX)
		return false;
	return before <= 3 && insn[0] == (size == 1 ? 0x80 : 0x81) && (insn[1] & 0xf8) == 0xf8;
}

/* Return true if @insn is the branch, conditional jump, cmp or mov that the site's flags name. */
static bool is_value_reading_insn(const struct patcher_site *site, const u8 *insn)
{
	if (site->flags & IMV_BRANCH)
		return kmarkers_is_branch(insn);
	if (site->flags & IMV_FLIP)
		return site->len == 2 ? (insn[0] & 0xfe) == 0x74
				      : insn[0] == 0x0f && (insn[1] & 0xfe) == 0x84;
	if (site->flags & IMV_COMPARE)
		return is_value_cmp(site, insn);
	return is_value_mov(site, insn);
}

/*
 * Fill in the poke that makes a site read @value.  Read the bytes of the site only once, because
 * a kprobe at the site may be armed or disarmed meanwhile.
 *
 * If the bytes are not an instruction that reads a value, return false, and invert @poke->old[0] so
 * that the patcher refuses the batch.  The patcher then logs the kprobe if there is one at the
 * site.
 */
bool imv_fill_poke(struct patcher_poke *poke, const struct patcher_site *site, u64 value)
{
	unsigned int size = get_immediate_size(site);
	bool intact;

	/* Truncate the value to the size of the variable. */
	value = imv_load_value(&value, site->size);
	poke->addr = (u8 *)patcher_site_addr(site);
	poke->len = site->len;
	memcpy(poke->old, poke->addr, site->len);
	memcpy(poke->new, poke->old, site->len);
	if (site->flags & IMV_SIGNED)
		value = kmarkers_read_signed_number((u8 *)&value, site->size);
	intact = is_value_reading_insn(site, poke->new);
	if (!intact)
		poke->old[0] = ~poke->old[0];
	if (site->flags & IMV_BRANCH)
		kmarkers_switch_branch(poke->new, value);
	else if (site->flags & IMV_FLIP)
		set_jump_condition(poke->new, value);
	else
		memcpy(poke->new + site->len - size, &value, size);
	return intact;
}

/* Return true if a record is valid, except for its address, which the patcher checks later. */
bool imv_is_site_record_valid(const struct patcher_site *site)
{
	switch (site->flags) {
	case IMV_BRANCH:
		return site->size == 1 && site->len == KMARKERS_BRANCH_LEN;
	case IMV_FLIP:
		return site->size == 1 && (site->len == 2 || site->len == 6);
	case IMV_COMPARE:
	case IMV_COMPARE | IMV_SIGNED:
	case 0:
		break;
	default:
		return false;
	}
	if (site->size != 1 && site->size != 2 && site->size != 4 && site->size != 8)
		return false;
	return site->len > get_immediate_size(site);
}
