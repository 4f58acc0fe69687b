// SPDX-License-Identifier: GPL-2.0-only
/* Check and change the instructions that read immediate values. */
#include <linux/string.h>

#include <kmarkers/branch.h>
#include <kmarkers/immediate.h>
#include <kmarkers/patcher.h>

#include "reads.h"

/* Length in bytes of an 8-bit mov with REX, by which older modules read one-byte values. */
#define SHORT_LEN	3

/*
 * Return the size in bytes of the immediate in a site's mov.  Values of 1 or 2 bytes are read with
 * a 32-bit mov, except for values of 1 byte in modules built with older headers.
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

#define REX_MASK	0xf0
#define REX		0x40
#define REX_W		0x08

/* Return true if @insn is mov $imm,%reg of the site's size, without a prefix or with REX. */
static bool is_value_mov(const struct patcher_site *site, const u8 *insn)
{
	unsigned int size = get_immediate_size(site), prefixes = site->len - size - 1;
	u8 rex = prefixes ? insn[0] : REX;

	if (prefixes > 1 || (rex & REX_MASK) != REX)
		return false;
	if (size == 1)
		return (insn[prefixes] & 0xf8) == 0xb0;
	return (insn[prefixes] & 0xf8) == 0xb8 && !(rex & REX_W) == (size == 4);
}

/* Return true if @insn is an instruction that reads a value, of the kind in the site's flags. */
static bool is_reading_insn(const struct patcher_site *site, const u8 *insn)
{
	if (site->flags & IMV_BRANCH)
		return kmarkers_is_branch(insn);
	if (site->flags & IMV_FLIP)
		return site->len == 2 ? (insn[0] & 0xfe) == 0x74
				      : insn[0] == 0x0f && (insn[1] & 0xfe) == 0x84;
	return is_value_mov(site, insn);
}

/*
 * Fill in the poke that makes a site read @value.
 *
 * The function reads the bytes of the site only once, because kprobes may be armed or disarmed
 * meanwhile.  If the bytes are not an instruction that reads a value, the function returns false,
 * and makes @poke->old differ from the bytes of the site, so that the patcher refuses the batch.
 * If a kprobe at the site is the cause, the patcher logs the kprobe.
 */
bool imv_fill_read_poke(struct patcher_poke *poke, const struct patcher_site *site, u64 value)
{
	unsigned int size = get_immediate_size(site);
	bool intact;

	/* Truncate the value to the size of the variable. */
	value = imv_load_value(&value, site->size);
	poke->addr = (u8 *)patcher_site_addr(site);
	poke->len = site->len;
	memcpy(poke->old, poke->addr, site->len);
	memcpy(poke->new, poke->old, site->len);
	intact = is_reading_insn(site, poke->new);
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

/* Return true if the fields of a record are valid.  The patcher checks its address later. */
bool imv_is_site_record_valid(const struct patcher_site *site)
{
	if (site->flags & ~(IMV_BRANCH | IMV_FLIP))
		return false;
	if (site->flags & IMV_BRANCH)
		return site->size == 1 && site->len == KMARKERS_BRANCH_LEN;
	if (site->flags & IMV_FLIP)
		return site->size == 1 && (site->len == 2 || site->len == 6);
	if (site->size != 1 && site->size != 2 && site->size != 4 && site->size != 8)
		return false;
	return site->len > get_immediate_size(site);
}
