// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arm SDT notes with kprobes.  Each enabled note has its own kprobe.  The kernel combines the
 * kprobes at one address, and optimises them to one jump where possible.
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
 * struct sdt_note_probe - the kprobe of an SDT note
 * @kp: the kprobe as registered with the kernel
 * @table: table that contains the note
 * @site: index of the note in the table
 */
struct sdt_note_probe {
	struct kprobe kp;
	struct sdt_table *table;
	unsigned int site;
};

/* Pre-handler of the kprobe, called in breakpoint context or with preemption disabled. */
static int call_note_handlers(struct kprobe *kp, struct pt_regs *regs)
{
	const struct sdt_note_probe *note = container_of(kp, struct sdt_note_probe, kp);
	const struct sdt_note_record *record = sdt_get_note_record(note->table, note->site);
	struct sdt_state *state = &note->table->states[note->site];
	struct sdt_hit hit = {
		.site = &state->shown,
		.nr = sdt_count_args(&record->site),
	};
	/* Pairs with rcu_assign_pointer() in sdt_assign_handler_set(). */
	const struct sdt_call *call = rcu_dereference_raw(state->call);
	bool in_breakpoint = in_nmi();

	sdt_fetch_operands(sdt_get_note_codes(record), hit.nr, regs, hit.args);
	/*
	 * Call the handler with the preemption depth raised by one, as call_site_handlers() does.
	 * The kernel disables preemption for a kprobe that is a jump or an ftrace callback, but not
	 * in a breakpoint, where in_nmi() is true.
	 */
	if (in_breakpoint)
		preempt_disable_notrace();
	sdt_call_handler(call, &hit);
	if (in_breakpoint)
		preempt_enable_notrace();
	return 0;
}
NOKPROBE_SYMBOL(call_note_handlers);

/*
 * True if the kernel refused a kprobe because the module is being unloaded.  The refusal is not
 * an error: the SDT notes of the module are about to be unregistered.
 */
static bool is_error_due_to_unloading(const struct sdt_table *table, int err)
{
	return err == -ENOENT && READ_ONCE(table->sites.module->state) == MODULE_STATE_GOING;
}

static const char refused[] = "the kernel accepts no kprobe at the next instruction";

/*
 * True if the kernel refused a kprobe while the module is being loaded, unless memory was short.
 * The refusal is not an error: a module is loaded even if an SDT note cannot have a kprobe.
 */
static bool is_error_due_to_loading(const struct sdt_table *table, int err)
{
	return err && err != -ENOMEM &&
	       READ_ONCE(table->sites.module->state) == MODULE_STATE_COMING;
}

static int arm_note(struct sdt_table *table, unsigned int i)
{
	struct sdt_note_probe *probe = kzalloc(sizeof(*probe), GFP_KERNEL);
	int err;

	if (!probe)
		return -ENOMEM;
	probe->table = table;
	probe->site = i;
	probe->kp.addr = (kprobe_opcode_t *)patcher_site_addr(sdt_get_site(table, i));
	probe->kp.pre_handler = call_note_handlers;
	err = register_kprobe(&probe->kp);
	if (is_error_due_to_unloading(table, err)) {
		kfree(probe);
		return 0;
	}
	if (err) {
		pr_info("SDT probe %s: a site of the flavour 'note' cannot be armed: no kprobe possible at %pS: error %d\n",
			sdt_get_probe(sdt_get_site(table, i))->name, probe->kp.addr, err);
		kfree(probe);
		if (!is_error_due_to_loading(table, err))
			return err;
		table->notes[i].reason = refused;
		return 0;
	}
	table->notes[i].probe = probe;
	table->states[i].mode = SDT_PROBED;
	return 0;
}

/**
 * sdt_arm_notes() - arm each SDT note that has handlers
 *
 * The kernel refuses kprobes in a module that is being unloaded: the module's notes stay off, so
 * hits in the exit function are not reported. If the kernel refuses a kprobe in a module that is
 * being loaded, the note becomes unarmable.
 *
 * Context: may sleep; the registry's lock is held.
 * Return: 0; -ENOMEM; or an error of register_kprobe(), which is logged.  After an error, some
 * notes may have been armed.
 */
int sdt_arm_notes(void)
{
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i;
	int err;

	lockdep_assert_held(&sdt_registry.lock);
	sdt_for_each_state(state, table, i) {
		if (!table->notes || table->notes[i].reason || table->notes[i].probe ||
		    !sdt_count_live_handlers(sdt_get_handler_set(state)))
			continue;
		err = arm_note(table, i);
		if (err)
			return err;
	}
	return 0;
}

/* True if an SDT note is armed but has no handlers. */
static bool is_idle_note(const struct sdt_table *table, const struct sdt_state *state,
			 unsigned int i)
{
	return table->notes && table->notes[i].probe &&
	       !sdt_count_live_handlers(sdt_get_handler_set(state));
}

/* Return the number of idle SDT notes; if @idle is not NULL, store their kprobes in @idle. */
static unsigned int collect_idle_kprobes(struct kprobe **idle)
{
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i, nr = 0;

	sdt_for_each_state(state, table, i) {
		if (!is_idle_note(table, state, i))
			continue;
		if (idle)
			idle[nr] = &table->notes[i].probe->kp;
		nr++;
	}
	return nr;
}

/*
 * Unregister the kprobes of idle SDT notes, which have no handlers: all with one grace period, or
 * one by one if there is no memory for the array.
 */
static void unregister_idle_kprobes(void)
{
	unsigned int nr = collect_idle_kprobes(NULL);
	struct kprobe **idle = kvcalloc(nr, sizeof(*idle), GFP_KERNEL);
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i;

	if (idle) {
		collect_idle_kprobes(idle);
		unregister_kprobes(idle, nr);
		kvfree(idle);
		return;
	}
	sdt_for_each_state(state, table, i)
		if (is_idle_note(table, state, i))
			unregister_kprobe(&table->notes[i].probe->kp);
}

/*
 * Return the number of missed hits of an SDT note: hits for which no handler was called, because
 * the handler of another kprobe was running on the same CPU.
 */
unsigned long sdt_count_missed_hits(const struct sdt_note *note)
{
	return note->missed + (note->probe ? note->probe->kp.nmissed : 0);
}

/**
 * sdt_disarm_notes() - unregister the kprobes of SDT notes that have no handlers
 *
 * On return the handlers of these kprobes are not running on any CPU.
 *
 * Context: may sleep; the registry's lock is held.
 */
void sdt_disarm_notes(void)
{
	struct sdt_table *table;
	struct sdt_state *state;
	unsigned int i;

	lockdep_assert_held(&sdt_registry.lock);
	if (!collect_idle_kprobes(NULL))
		return;
	unregister_idle_kprobes();
	sdt_for_each_state(state, table, i) {
		struct sdt_note *note;

		if (!is_idle_note(table, state, i))
			continue;
		note = &table->notes[i];
		note->missed = sdt_count_missed_hits(note);
		kfree(note->probe);
		note->probe = NULL;
		state->mode = SDT_OFF;
	}
}
