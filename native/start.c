// SPDX-License-Identifier: GPL-2.0-only
/* Registration of a program's tables, which for a module is done by module notifiers. */
#include <errno.h>
#include <stdio.h>

#include <linux/mutex.h>
#include <linux/seq_file.h>

#include <kmarkers/patcher.h>
#include <kmarkers/sdt.h>
#include <kmarkers/user.h>

#include "../immediate/load.h"
#include "../immediate/symbol.h"
#include "../markers/look.h"
#include "../markers/stubs.h"
#include "../markers/tables.h"
#include "../sdt/tables.h"
#include "failure.h"
#include "fork.h"
#include "text.h"
#include "trap.h"

#define DECLARE_SECTION(kind)						\
	extern struct kmarkers_chunk __start_kmarkers_##kind##_heads[],	\
		__stop_kmarkers_##kind##_heads[]

DECLARE_SECTION(imv);
DECLARE_SECTION(stubs);
DECLARE_SECTION(markers);
DECLARE_SECTION(sdt);

typedef int take_table(struct module *module, const struct kmarkers_span *span);

/* Join the chunks of all translation units and register them, unless an earlier call has. */
static int take(bool *taken, const struct kmarkers_chunk *chunk, const struct kmarkers_chunk *stop,
		unsigned int record, take_table *add, const char *what)
{
	struct kmarkers_span span = { NULL };
	int err = 0;

	if (*taken)
		return 0;
	for (; chunk < stop && !err; chunk++)
		err = kmarkers_join(&span, chunk, record);
	if (!err)
		err = add(NULL, &span);
	*taken = !err;
	return err ? native_failed(what, err) : 0;
}

#define TAKE(kind, record, add, what)					\
	take(&taken.kind, __start_kmarkers_##kind##_heads, __stop_kmarkers_##kind##_heads, \
	     record, add, "table of " what " refused")

/* Register all tables in the order of modules: markers have their states when sites are written. */
static int take_tables(void)
{
	static struct {
		bool stubs, markers, sdt, imv;
	} taken;

	return TAKE(stubs, sizeof(struct patcher_site), marker_stubs_add, "typed markers") ?:
	       TAKE(markers, sizeof(s32), marker_tables_add, "markers") ?:
	       TAKE(sdt, sizeof(struct patcher_site), sdt_add_table, "SDT probes") ?:
	       TAKE(imv, sizeof(struct patcher_site), imv_add_table, "immediate values");
}

/* Each step checks whether an earlier call has done it, and does not do it again. */
int kmarkers_start(void)
{
	static bool started;
	int err;

	if (started)
		return -EBUSY;
	/* The gate keeps fork() out: a child has either the old text or a copy of its own. */
	native_gate_enter();
	err = native_text_start();
	native_gate_leave();
	err = err ?: native_trap_start(patcher_handle_int3) ?: native_fork_start() ?: take_tables();
	started = !err;
	return err;
}

/* Print a variable's address: a program has no table of its symbols. */
void imv_show_symbol(struct seq_file *m, unsigned long addr)
{
	seq_printf(m, "0x%lx", addr);
}

void kmarkers_list(FILE *file)
{
	struct seq_file m = { .file = file };

	marker_list_show(&m, NULL);
}
