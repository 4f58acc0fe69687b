// SPDX-License-Identifier: GPL-2.0-only
/*
 * Check, by registering kprobes on certain bytes of core text, that no other code uses these bytes.
 *
 * Registering a disabled kprobe changes no byte of text, but register_kprobe() makes all of the
 * kernel's checks of the address.  register_kprobe() returns -EILSEQ if no instruction begins at
 * the address, and -EINVAL if the address must not be probed (noinstr, a jump label, a static call,
 * freed text, no text).  register_kprobe() sets KPROBE_FLAG_FTRACE if ftrace uses the address, and
 * links the kprobe with other kprobes at the address.
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

/*
 * Number of addresses before a site at which a kprobe could overlap the site, because an optimised
 * kprobe is a jump of 5 bytes.
 */
#define REACH		(KMARKERS_JMP_LEN - 1)
#define MAX_PROBES	(REACH + PATCHER_INSN_MAX + 1)

/**
 * struct claim_check - disabled kprobes at consecutive addresses, and their errors
 * @probes: a disabled kprobe for each address
 * @errors: return value of register_kprobe() for each address
 * @nr: number of addresses
 */
struct claim_check {
	struct kprobe probes[MAX_PROBES];
	int errors[MAX_PROBES];
	unsigned int nr;
};

static int register_disabled_kprobe(struct kprobe *probe, unsigned long addr)
{
	int err;

	probe->addr = (kprobe_opcode_t *)addr;
	probe->flags = KPROBE_FLAG_DISABLED;
	err = register_kprobe(probe);
	if (err || (unsigned long)probe->addr == addr)
		return err;
	/* The kernel moved the kprobe behind an ENDBR, so @addr itself was not checked. */
	unregister_kprobe(probe);
	return -EINVAL;
}

static void register_disabled_kprobes(struct claim_check *check, unsigned long addr,
				      unsigned int nr)
{
	unsigned int i;

	check->nr = nr;
	for (i = 0; i < nr; i++)
		check->errors[i] = register_disabled_kprobe(&check->probes[i], addr + i);
}

/* Unregister all kprobes of @check in one call, because each call waits for a grace period. */
static void unregister_disabled_kprobes(struct claim_check *check)
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
 * Return true if a kprobe of other code is at the address of probe @i.  Kprobes at one address are
 * in a circular list together with an aggregate kprobe.  The kernel also makes an aggregate for a
 * single kprobe if it may optimise this kprobe.  So a list of two nodes contains only probe @i and
 * an aggregate, and a third node is a kprobe of other code.
 */
static bool has_foreign_kprobe(const struct claim_check *check, unsigned int i)
{
	const struct list_head *list = &check->probes[i].list;

	return !check->errors[i] && list->next != list->prev;
}

/*
 * Evaluate the results of register_kprobe() for the REACH addresses before a site, the site's @len
 * bytes and the address behind the site.  On error, set @reason to a text for the log.
 */
static int evaluate_kprobe_errors(const struct claim_check *check, unsigned int len,
				  const char **reason)
{
	unsigned int i;

	for (i = 0; i < check->nr; i++) {
		if (check->errors[i] == -ENOMEM) {
			*reason = "out of memory";
			return -ENOMEM;
		}
	}
	for (i = 0; i < REACH + len; i++) {
		if (has_foreign_kprobe(check, i)) {
			*reason = "a kprobe overlaps this instruction: unregister the kprobe first";
			return -EBUSY;
		}
	}
	if (check->errors[REACH] == -EILSEQ) {
		*reason = "no instruction begins there";
		return -EINVAL;
	}
	if (check->errors[REACH]) {
		*reason = "kprobes are forbidden there: noinstr, a jump label, a static call or no text";
		return -EPERM;
	}
	if (check->probes[REACH].flags & KPROBE_FLAG_FTRACE) {
		*reason = "ftrace uses this instruction, so no other code may change it";
		return -EPERM;
	}
	for (i = 1; i < len; i++) {
		if (check->errors[REACH + i] != -EILSEQ) {
			*reason = "the given length spans more than one instruction";
			return -EINVAL;
		}
	}
	if (check->errors[REACH + len] == -EILSEQ) {
		*reason = "the instruction is longer than the given length";
		return -EINVAL;
	}
	return 0;
}

/**
 * patcher_check_core_write() - check that the patcher is allowed to write one instruction of core
 * text now
 * @addr: address of the instruction's first byte
 * @len: length of the instruction in bytes
 *
 * Context: as patcher_check_core_pokes().
 * Return: as patcher_check_core_pokes().
 */
int patcher_check_core_write(unsigned long addr, unsigned int len)
{
	struct claim_check *check;
	const char *reason = "";
	int err;

	patcher_assert_locked();
	if (!patcher_is_core_text(addr))
		return -EPERM;
	check = kzalloc(sizeof(*check), GFP_KERNEL);
	if (!check)
		return -ENOMEM;
	register_disabled_kprobes(check, addr - REACH, REACH + len + 1);
	err = evaluate_kprobe_errors(check, len, &reason);
	unregister_disabled_kprobes(check);
	kfree(check);
	if (err)
		pr_info("instruction change at %pS refused: %s\n", (void *)addr, reason);
	return err;
}

/**
 * patcher_check_core_pokes() - check that the patcher is allowed to write the sites of a batch in
 * core text now
 * @pokes: the batch; pokes in module text are skipped
 * @nr: number of pokes
 *
 * Context: may sleep; patcher_lock() is held; cpus_read_lock() and text_mutex are
 * not held.
 * Return: 0, -EBUSY, -EPERM, -EINVAL or -ENOMEM.
 */
int patcher_check_core_pokes(const struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		if (patcher_is_core_text((unsigned long)pokes[i].addr))
			err = patcher_check_core_write((unsigned long)pokes[i].addr, pokes[i].len);
	return err;
}
