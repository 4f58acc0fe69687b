// SPDX-License-Identifier: GPL-2.0-only
/*
 * The door to core text: who may come in, asked of the kernel's own code.
 *
 * Two of its interfaces serve as oracles. A kprobe that is registered disabled
 * never touches a byte, but register_kprobe() tells whether the address is an
 * instruction boundary (-EILSEQ if not), may be probed at all (-EINVAL for
 * noinstr, jump labels, static calls, freed or no text), belongs to ftrace, and
 * whether another kprobe was there first.  register_kprobe() with a symbol also
 * leaves the symbol's address behind, even when it refuses it; that is how the
 * kernel's text_mutex is found, which everyone who writes core text takes.
 */
#include <linux/errno.h>
#include <linux/ftrace.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pgtable.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kmarkers/redirect.h>

#include "core.h"
#include "sites.h"

/* An optimised kprobe replaces up to 5 bytes: it may begin 4 bytes before a site. */
#define REACH		4
#define CALL_LEN	5
#define CALL_OPCODE	0xe8
#define INT3		0xcc
#define ENDBR_LEN	4
/* Before each function, where the kernel is built to put the counting of calls there. */
#ifdef CONFIG_FUNCTION_PADDING_BYTES
#define PADDING		CONFIG_FUNCTION_PADDING_BYTES
#else
#define PADDING		0
#endif
#define MAX_ORACLES	(REACH + PATCHER_INSN_MAX + 1)

static struct {
	struct mutex *mutex;		/* the kernel's text_mutex */
	unsigned long start, end;	/* its text, without what is freed after init */
} text;

/*
 * What may run between a breakpoint and our handler and still be traceable, on
 * debug kernels too, by the beginnings of names: the notifier chain, what checks
 * its pointers and those in it with our own priority, the kernel's debuggers,
 * RCU, and what instruments all of that.  tests/vm/handler_path.sh walks that
 * path on a running kernel and asks for each function it finds.
 */
static const char *const handler_path[] = {
	"__rcu_", "rcu_", "lock_", "lockdep_", "debug_lockdep_", "notify_die", "notifier_",
	"atomic_notifier_", "kprobe", "get_kprobe", "hw_breakpoint_", "kgdb_", "preempt_", "ct_", "irqentry_",
	"ftrace_", "__ftrace_", "kasan_", "__kasan_", "kcsan_", "__kcsan_", "do_int3",
	"func_ptr_is_", "kernel_text_", "__kernel_text_", "core_kernel_text", "in_gate_area",
	"is_module_", "__module_", "mod_find",
};

static bool on_handler_path(const char *function)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(handler_path); i++)
		if (strstarts(function, handler_path[i]))
			return true;
	return false;
}

/*
 * Oracles are registered kprobes for a while: under the patcher's lock, where no
 * batch takes one for somebody else's, and no oracle another one.
 */
unsigned long core_resolve(const char *symbol)
{
	struct kprobe probe = { .symbol_name = symbol, .flags = KPROBE_FLAG_DISABLED };
	unsigned long addr;

	patcher_assert_locked();
	if (!register_kprobe(&probe)) {
		addr = (unsigned long)probe.addr;
		unregister_kprobe(&probe);
		return addr;
	}
	return (unsigned long)probe.addr;
}

bool core_is_text(unsigned long addr)
{
	return addr >= text.start && addr < text.end;
}

/**
 * struct oracle - what the kernel says of some addresses in a row
 * @probes: one disabled kprobe each
 * @errors: what register_kprobe() returned
 * @nr: how many
 */
struct oracle {
	struct kprobe probes[MAX_ORACLES];
	int errors[MAX_ORACLES];
	unsigned int nr;
};

static int ask_at(struct kprobe *probe, unsigned long addr)
{
	int err;

	probe->addr = (kprobe_opcode_t *)addr;
	probe->flags = KPROBE_FLAG_DISABLED;
	err = register_kprobe(probe);
	if (err || (unsigned long)probe->addr == addr)
		return err;
	/* Moved behind an ENDBR, where another oracle must be alone. */
	unregister_kprobe(probe);
	return -EINVAL;
}

static void ask(struct oracle *oracle, unsigned long addr, unsigned int nr)
{
	unsigned int i;

	oracle->nr = nr;
	for (i = 0; i < nr; i++)
		oracle->errors[i] = ask_at(&oracle->probes[i], addr + i);
}

/* All in one: each unregistration would wait for a grace period of its own. */
static void dismiss(struct oracle *oracle)
{
	struct kprobe *registered[MAX_ORACLES];
	unsigned int i, count = 0;

	for (i = 0; i < oracle->nr; i++)
		if (!oracle->errors[i])
			registered[count++] = &oracle->probes[i];
	if (count)
		unregister_kprobes(registered, count);
}

/*
 * Kprobes at one address hang in a ring around an aggregate.  An oracle that
 * could be optimised gets an aggregate for itself: only a third node is company.
 */
static bool has_company(const struct oracle *oracle, unsigned int i)
{
	const struct list_head *list = &oracle->probes[i].list;

	return !oracle->errors[i] && list->next != list->prev;
}

/* The answers for REACH addresses before a site, the site and the address behind it. */
static int judge(const struct oracle *oracle, unsigned int len, const char **owner)
{
	unsigned int i;

	for (i = 0; i < oracle->nr; i++) {
		if (oracle->errors[i] == -ENOMEM) {
			*owner = "no memory to ask";
			return -ENOMEM;
		}
	}
	for (i = 0; i < REACH + len; i++) {
		if (has_company(oracle, i)) {
			*owner = "a kprobe";
			return -EBUSY;
		}
	}
	if (oracle->errors[REACH] == -EILSEQ) {
		*owner = "no instruction begins there";
		return -EINVAL;
	}
	if (oracle->errors[REACH]) {
		*owner = "not to be probed: noinstr, a jump label, a static call or no text";
		return -EPERM;
	}
	if (oracle->probes[REACH].flags & KPROBE_FLAG_FTRACE) {
		*owner = "ftrace";
		return -EPERM;
	}
	for (i = 1; i < len; i++) {
		if (oracle->errors[REACH + i] != -EILSEQ) {
			*owner = "more than one instruction";
			return -EINVAL;
		}
	}
	if (oracle->errors[REACH + len] == -EILSEQ) {
		*owner = "a longer instruction";
		return -EINVAL;
	}
	return 0;
}

static int vet(unsigned long addr, unsigned int len)
{
	struct oracle *oracle;
	const char *owner = "";
	int err;

	patcher_assert_locked();
	if (!core_is_text(addr))
		return -EPERM;
	oracle = kzalloc(sizeof(*oracle), GFP_KERNEL);
	if (!oracle)
		return -ENOMEM;
	ask(oracle, addr - REACH, REACH + len + 1);
	err = judge(oracle, len, &owner);
	dismiss(oracle);
	kfree(oracle);
	if (err)
		pr_info("patcher: %pS refused: %s\n", (void *)addr, owner);
	return err;
}

/* May this one be written now? */
int core_vet_site(const struct patcher_core_site *core)
{
	int err;

	patcher_lock();
	err = vet((unsigned long)core->addr, core->len);
	patcher_unlock();
	return err;
}

/**
 * core_vet() - may these sites of core text be written now?
 * @pokes: the batch; those in module text are passed over
 * @nr: how many
 *
 * Context: may sleep; patcher_lock() is held, neither cpus_read_lock() nor
 * text_mutex is.
 * Return: 0, -EBUSY, -EPERM, -EINVAL or -ENOMEM.
 */
int core_vet(const struct patcher_poke *pokes, unsigned int nr)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < nr && !err; i++)
		if (core_is_text((unsigned long)pokes[i].addr))
			err = vet((unsigned long)pokes[i].addr, pokes[i].len);
	return err;
}

void core_text_lock(void)
{
	mutex_lock(text.mutex);
}

void core_text_unlock(void)
{
	mutex_unlock(text.mutex);
}

/* It says name+offset/size. */
int core_find_extent(unsigned long addr, struct extent *extent)
{
	char text[KSYM_SYMBOL_LEN], *plus;
	unsigned long offset;

	sprint_symbol(text, addr);
	plus = strrchr(text, '+');
	if (!plus || sscanf(plus, "+0x%lx/0x%lx", &offset, &extent->size) != 2)
		return -ENOENT;
	extent->start = addr - offset;
	*plus = '\0';
	strscpy(extent->name, text, sizeof(extent->name));
	return 0;
}

/* A function of the kernel itself. */
static int resolve_function(const char *name, struct extent *extent)
{
	unsigned long addr = core_resolve(name);

	if (!addr || !core_is_text(addr) || core_find_extent(addr, extent))
		return -ENOENT;
	/* Data and the middle of something have no function around them. */
	return addr - extent->start <= ENDBR_LEN ? 0 : -ENOENT;
}

/**
 * core_trace_at() - let ftrace operations see the function at an address
 * @ops: the operations
 * @addr: its first byte, or what core_resolve() says
 *
 * Return: 0, -EPERM if ftrace has no function there, or -ENOMEM.
 */
int core_trace_at(struct ftrace_ops *ops, unsigned long addr)
{
	int err = ftrace_set_filter_ip(ops, addr, 0, 0);

	if (err == -EINVAL)
		err = ftrace_set_filter_ip(ops, addr + ENDBR_LEN, 0, 0);
	return err && err != -ENOMEM ? -EPERM : err;
}

/* Only what can be traced: neither entry code nor noinstr nor anything in assembly. */
static int vet_ftrace_entry(const struct extent *extent)
{
	struct ftrace_ops *ops;
	int err;

	ops = kzalloc(sizeof(*ops), GFP_KERNEL);
	if (!ops)
		return -ENOMEM;
	err = core_trace_at(ops, extent->start);
	compat_ftrace_free_filter(ops);
	kfree(ops);
	return err;
}

bool core_handles_breakpoints(const char *name, unsigned long addr)
{
	struct extent extent;

	return on_handler_path(name) ||
	       (!core_find_extent(addr, &extent) && on_handler_path(extent.name));
}

/* One that a caller may name for a change. */
static int find_function(const char *name, struct extent *extent)
{
	int err = resolve_function(name, extent);

	if (err)
		return err;
	err = core_handles_breakpoints(name, extent->start) ? -EPERM :
	      vet_ftrace_entry(extent);
	if (err == -EPERM)
		pr_info("patcher: %s refused: runs where a breakpoint is handled, or cannot be traced\n",
			name);
	return err;
}

static int register_site(struct patcher_core_site *core)
{
	struct extent extent;
	unsigned long addr;
	int err;

	if (sites_has(&core->table))
		return -EBUSY;
	err = find_function(core->function, &extent);
	if (err)
		return err;
	if (core->offset >= extent.size || core->len > extent.size - core->offset)
		return -EINVAL;
	addr = extent.start + core->offset;
	err = vet(addr, core->len);
	if (err)
		return err;
	core->addr = (u8 *)addr;
	core->site.addr = addr;
	core->site.key = 0;
	core->site.len = core->len;
	core->site.flags = PATCHER_SITE_ABSOLUTE;
	core->table.sites = &core->site;
	core->table.nr = 1;
	core->table.module = NULL;
	core->table.owner = core->owner;
	/* A kprobe may be armed after we asked, before the bytes are copied or after. */
	memcpy(core->original, core->addr, core->len);
	if (core->original[0] == INT3)
		return -EBUSY;
	err = patcher_register_core(&core->table);
	return err == -EINVAL && READ_ONCE(*core->addr) == INT3 ? -EBUSY : err;
}

/**
 * patcher_core_register() - make one instruction of the kernel a site
 * @core: function, offset, len and owner filled in; must stay until unregistered
 *
 * Context: may sleep.
 * Return: 0; -ENOENT if there is no such function in the kernel itself; -EINVAL
 * if no single instruction of that length is there; -EPERM if it may not be
 * changed; -EBUSY if a kprobe overlaps it, another site does, or @core is registered;
 * -ENOMEM.
 */
int patcher_core_register(struct patcher_core_site *core)
{
	int err;

	if (!core->function || !core->len || core->len > PATCHER_INSN_MAX || !core->owner)
		return -EINVAL;
	patcher_lock();
	err = register_site(core);
	patcher_unlock();
	return err;
}
EXPORT_SYMBOL_GPL(patcher_core_register);

/* What was found there, but for a breakpoint that somebody else may have set since. */
static int check_original(const struct patcher_core_site *core)
{
	if (!sites_has(&core->table))
		return -EINVAL;
	if (!memcmp(core->addr, core->original, core->len))
		return 0;
	return READ_ONCE(*core->addr) == INT3 ? -EBUSY : -EILSEQ;
}

/**
 * patcher_core_unregister() - forget a site of core text
 * @core: as registered, with its bytes as they were found
 *
 * What the owner has changed he must have put back: a site that holds anything
 * else stays registered, so that it can still be changed back, and the log says
 * so.  @core must stay until this has returned 0.
 *
 * Context: may sleep.
 * Return: 0; -EINVAL if @core is not registered; -EILSEQ if the bytes are not
 * those that were found; -EBUSY if somebody has a breakpoint there now.
 */
int patcher_core_unregister(struct patcher_core_site *core)
{
	int err;

	patcher_lock();
	err = check_original(core);
	if (!err)
		patcher_forget_table(&core->table);
	patcher_unlock();
	if (!err)
		synchronize_rcu();
	else if (err != -EINVAL)
		pr_err("patcher: %pS stays a site of %s: %s\n", core->addr, core->owner,
		       err == -EBUSY ? "it has a breakpoint" : "its bytes were not put back");
	return err;
}
EXPORT_SYMBOL_GPL(patcher_core_unregister);

/* The target of a call instruction. */
static unsigned long call_target(unsigned long addr)
{
	s32 displacement;

	memcpy(&displacement, (void *)addr + 1, sizeof(displacement));
	return addr + CALL_LEN + displacement;
}

/*
 * On IBT builds a direct call may pass over the ENDBR.  A kernel that counts its
 * calls (retbleed=stuff) lets them go to the padding before the function, where
 * it has put the counting.  A call that somebody has a breakpoint on is a call:
 * vet() says whose it is.
 */
static bool calls(unsigned long addr, const struct extent *callee)
{
	u8 opcode = READ_ONCE(*(u8 *)addr);

	return (opcode == CALL_OPCODE || opcode == INT3) &&
	       call_target(addr) - (callee->start - PADDING) <= PADDING + ENDBR_LEN;
}

/**
 * core_find_call() - the first direct call in a function to another
 * @function: a function that may be changed
 * @callee: what it calls
 * @offset: set to where in @function
 *
 * Context: may sleep.
 * Return: 0, -ENOENT, -EPERM or -ENOMEM.
 */
int core_find_call(const char *function, const char *callee, unsigned long *offset)
{
	struct extent extent, target;
	unsigned long at;
	int err;

	patcher_lock();
	err = find_function(function, &extent) ?: resolve_function(callee, &target);
	patcher_unlock();
	if (err)
		return err;
	for (at = 0; at + CALL_LEN <= extent.size; at++) {
		if (calls(extent.start + at, &target)) {
			*offset = at;
			return 0;
		}
	}
	return -ENOENT;
}

static int __init find_text(void)
{
	text.mutex = (struct mutex *)core_resolve("text_mutex");
	text.start = core_resolve("_stext");
	text.end = core_resolve("_etext");
	if (text.mutex && text.start && text.end)
		return 0;
	pr_err("patcher: the kernel's text or its text_mutex cannot be found: is it built without KALLSYMS_ALL?\n");
	return -ENOENT;
}

int __init core_init(void)
{
	int err;

	patcher_lock();
	err = find_text() ?: kprobes_init();
	patcher_unlock();
	return err;
}
