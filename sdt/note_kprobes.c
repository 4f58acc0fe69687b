// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arm notes by kprobes. An enabled note has a kprobe of its own; the kernel aggregates those at one
 * address, and optimises them to a jump where it can.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "hit.h"
#include "note_kprobes.h"
#include "operands.h"
#include "registry.h"
#include "sets.h"

/**
 * struct sdt_note_probe - the kprobe of a site
 * @kp: what the kernel knows
 * @table: the table of the site
 * @site: its number there
 */
struct sdt_note_probe {
	struct kprobe kp;
	struct sdt_table *table;
	unsigned int site;
};

/* The kernel calls this with preemption disabled, maybe in the context of a breakpoint. */
static int on_kprobe(struct kprobe *kp, struct pt_regs *regs)
{
	const struct sdt_note_probe *note = container_of(kp, struct sdt_note_probe, kp);
	const struct sdt_note_record *record = sdt_note_record(note->table, note->site);
	struct sdt_state *state = &note->table->states[note->site];
	struct sdt_hit hit = {
		.probe = sdt_probe_of(&record->site),
		.ip = patcher_site_addr(&record->site),
		.nr = sdt_args_of(&record->site),
		.site = state,
	};
	/* Pairs with rcu_assign_pointer() in sdt_sets_use(). */
	const struct sdt_set *set = rcu_dereference_raw(state->set);
	bool in_breakpoint = in_nmi();

	if (!set)
		return 0;
	sdt_operands_fetch(sdt_note_codes(record), hit.nr, regs, hit.args);
	/*
	 * Preemption is disabled once, as in sdt_fire(): the kernel does so for a kprobe that is a
	 * jump or a callback of ftrace, and does not in a breakpoint.  There, in_nmi() is true.
	 */
	if (in_breakpoint)
		preempt_disable_notrace();
	sdt_call_handlers(set, &hit);
	if (in_breakpoint)
		preempt_enable_notrace();
	return 0;
}
NOKPROBE_SYMBOL(on_kprobe);

/*
 * The kernel refuses kprobes in a module that is being unloaded. Its notes are about to be
 * unregistered, and must not keep other notes from being armed.
 */
static bool is_leaving(const struct sdt_table *table, int err)
{
	return err == -ENOENT && READ_ONCE(table->sites.module->state) == MODULE_STATE_GOING;
}

static const char refused[] = "the kernel takes no kprobe at its instruction";

/* A pattern that waits for notes must not keep a module from being loaded. */
static bool is_coming(const struct sdt_table *table, int err)
{
	return err && err != -ENOMEM &&
	       READ_ONCE(table->sites.module->state) == MODULE_STATE_COMING;
}

static int arm(struct sdt_table *table, unsigned int i)
{
	struct sdt_note_probe *probe = kzalloc(sizeof(*probe), GFP_KERNEL);
	int err;

	if (!probe)
		return -ENOMEM;
	probe->table = table;
	probe->site = i;
	probe->kp.addr = (kprobe_opcode_t *)patcher_site_addr(sdt_site(table, i));
	probe->kp.pre_handler = on_kprobe;
	err = register_kprobe(&probe->kp);
	if (is_leaving(table, err)) {
		kfree(probe);
		return 0;
	}
	if (err) {
		pr_info("%s: a note is not armed: no kprobe at %pS: error %d\n",
			sdt_probe_of(sdt_site(table, i))->name, probe->kp.addr, err);
		kfree(probe);
		if (!is_coming(table, err))
			return err;
		table->notes[i].doubt = refused;
		return 0;
	}
	table->notes[i].probe = probe;
	table->states[i].mode = SDT_PROBED;
	return 0;
}

/**
 * sdt_notes_on() - arm each note that has handlers
 *
 * Those of a module that is being unloaded stay off: hits in its exit function are not reported.
 * Those of a module that is being loaded, at which the kernel refuses a kprobe, become unarmable.
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0, -ENOMEM, or what register_kprobe() returns, with a line in the log.  With
 * an error, some may be armed.
 */
int sdt_notes_on(void)
{
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i;
	int err;

	lockdep_assert_held(&sdt_registry.lock);
	sdt_for_each_state(state, table, i) {
		if (!table->notes || table->notes[i].doubt || table->notes[i].probe ||
		    !sdt_live(sdt_set_of(state)))
			continue;
		err = arm(table, i);
		if (err)
			return err;
	}
	return 0;
}

/* Is a note armed that has no handlers? */
static bool is_idle(const struct sdt_table *table, const struct sdt_state *state, unsigned int i)
{
	return table->notes && table->notes[i].probe && !sdt_live(sdt_set_of(state));
}

/* Return the number of idle kprobes; @idle has room for that many, or is NULL. */
static unsigned int collect_idle(struct kprobe **idle)
{
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i, nr = 0;

	sdt_for_each_state(state, table, i) {
		if (!is_idle(table, state, i))
			continue;
		if (idle)
			idle[nr] = &table->notes[i].probe->kp;
		nr++;
	}
	return nr;
}

/* The kernel waits once for all of them, or for each if there is no memory for a list. */
static void unregister_idle(void)
{
	unsigned int nr = collect_idle(NULL);
	struct kprobe **idle = kvcalloc(nr, sizeof(*idle), GFP_KERNEL);
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i;

	if (idle) {
		collect_idle(idle);
		unregister_kprobes(idle, nr);
		kvfree(idle);
		return;
	}
	sdt_for_each_state(state, table, i)
		if (is_idle(table, state, i))
			unregister_kprobe(&table->notes[i].probe->kp);
}

/*
 * Return the number of hits that the kernel missed while another kprobe's handler ran on the CPU.
 */
unsigned long sdt_note_missed(const struct sdt_note *note)
{
	return note->missed + (note->probe ? note->probe->kp.nmissed : 0);
}

/**
 * sdt_notes_off() - unregister the kprobes of notes that have no handlers
 *
 * Context: may sleep; the registry's lock is held.  On return no handler of such a kprobe
 * runs.
 */
void sdt_notes_off(void)
{
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i;

	lockdep_assert_held(&sdt_registry.lock);
	if (!collect_idle(NULL))
		return;
	unregister_idle();
	sdt_for_each_state(state, table, i) {
		struct sdt_note *note;

		if (!is_idle(table, state, i))
			continue;
		note = &table->notes[i];
		note->missed = sdt_note_missed(note);
		kfree(note->probe);
		note->probe = NULL;
		state->mode = SDT_OFF;
	}
}
