// SPDX-License-Identifier: GPL-2.0-only
/*
 * Check whether anyone else claims bytes of core text, by asking the kernel's own code.
 *
 * A kprobe that is registered disabled never changes a byte, but register_kprobe()
 * tells whether the address is an instruction boundary (-EILSEQ if not), whether it
 * may be probed at all (-EINVAL for noinstr, jump labels, static calls, freed text or
 * no text), whether it belongs to ftrace, and whether another kprobe was there first.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/printk.h>
#include <linux/slab.h>

#include <kmarkers/opcodes.h>

#include "../base/lock.h"
#include "core_text.h"
#include "claim_check.h"

/* An optimised kprobe is a jump: it may begin 4 bytes before a site. */
#define REACH		(KMARKERS_JMP_LEN - 1)
#define MAX_PROBES	(REACH + PATCHER_INSN_MAX + 1)

/**
 * struct claim_check - the kernel's answers for consecutive addresses
 * @probes: a disabled kprobe for each address
 * @errors: what register_kprobe() returned for each
 * @nr: number of addresses
 */
struct claim_check {
	struct kprobe probes[MAX_PROBES];
	int errors[MAX_PROBES];
	unsigned int nr;
};

static int try_kprobe_at(struct kprobe *probe, unsigned long addr)
{
	int err;

	probe->addr = (kprobe_opcode_t *)addr;
	probe->flags = KPROBE_FLAG_DISABLED;
	err = register_kprobe(probe);
	if (err || (unsigned long)probe->addr == addr)
		return err;
	/* The kernel moved the probe behind an ENDBR; another probe must be alone there. */
	unregister_kprobe(probe);
	return -EINVAL;
}

static void try_kprobes(struct claim_check *check, unsigned long addr, unsigned int nr)
{
	unsigned int i;

	check->nr = nr;
	for (i = 0; i < nr; i++)
		check->errors[i] = try_kprobe_at(&check->probes[i], addr + i);
}

/* Unregister all probes in one call: each call waits for a grace period of its own. */
static void dismiss(struct claim_check *check)
{
	struct kprobe *registered[MAX_PROBES];
	unsigned int i, count = 0;

	for (i = 0; i < check->nr; i++)
		if (!check->errors[i])
			registered[count++] = &check->probes[i];
	if (count)
		unregister_kprobes(registered, count);
}

/*
 * Is there another kprobe at the address of a probe?  Kprobes at one address hang in a
 * ring around an aggregate.  A probe that could be optimised gets an aggregate even
 * when it is alone, so only a third node in the ring is another kprobe.
 */
static bool shares_address(const struct claim_check *check, unsigned int i)
{
	const struct list_head *list = &check->probes[i].list;

	return !check->errors[i] && list->next != list->prev;
}

/* Judge the answers for REACH addresses before a site, its bytes and the address behind it. */
static int judge_claims(const struct claim_check *check, unsigned int len, const char **owner)
{
	unsigned int i;

	for (i = 0; i < check->nr; i++) {
		if (check->errors[i] == -ENOMEM) {
			*owner = "no memory to ask";
			return -ENOMEM;
		}
	}
	for (i = 0; i < REACH + len; i++) {
		if (shares_address(check, i)) {
			*owner = "a kprobe";
			return -EBUSY;
		}
	}
	if (check->errors[REACH] == -EILSEQ) {
		*owner = "no instruction begins there";
		return -EINVAL;
	}
	if (check->errors[REACH]) {
		*owner = "not to be probed: noinstr, a jump label, a static call or no text";
		return -EPERM;
	}
	if (check->probes[REACH].flags & KPROBE_FLAG_FTRACE) {
		*owner = "ftrace";
		return -EPERM;
	}
	for (i = 1; i < len; i++) {
		if (check->errors[REACH + i] != -EILSEQ) {
			*owner = "more than one instruction";
			return -EINVAL;
		}
	}
	if (check->errors[REACH + len] == -EILSEQ) {
		*owner = "a longer instruction";
		return -EINVAL;
	}
	return 0;
}

/**
 * patcher_vet() - may one instruction of core text be written now?
 * @addr: its first byte
 * @len: its bytes
 *
 * Context: as patcher_vet_pokes().
 * Return: as patcher_vet_pokes().
 */
int patcher_vet(unsigned long addr, unsigned int len)
{
	struct claim_check *check;
	const char *owner = "";
	int err;

	patcher_assert_locked();
	if (!patcher_is_core_text(addr))
		return -EPERM;
	check = kzalloc(sizeof(*check), GFP_KERNEL);
	if (!check)
		return -ENOMEM;
	try_kprobes(check, addr - REACH, REACH + len + 1);
	err = judge_claims(check, len, &owner);
	dismiss(check);
	kfree(check);
	if (err)
		pr_info("%pS refused: %s\n", (void *)addr, owner);
	return err;
}

/**
 * patcher_vet_pokes() - may these sites of core text be written now?
 * @pokes: the batch; pokes in module text are skipped
 * @nr: how many
 *
 * Context: may sleep; patcher_lock() is held; cpus_read_lock() and text_mutex are
 * not held.
 * Return: 0, -EBUSY, -EPERM, -EINVAL or -ENOMEM.
 */
int patcher_vet_pokes(const struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		if (patcher_is_core_text((unsigned long)pokes[i].addr))
			err = patcher_vet((unsigned long)pokes[i].addr, pokes[i].len);
	return err;
}
