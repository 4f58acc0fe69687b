// SPDX-License-Identifier: GPL-2.0-only
/* kmarkers_start(): register the tables of a program.  In the kernel, module notifiers do that. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/mutex.h>
#include <linux/seq_file.h>

#include <kmarkers/patcher.h>
#include <kmarkers/sdt.h>
#include <kmarkers/user.h>

#include "../immediate/load.h"
#include "../immediate/symbol.h"
#include "../markers/list.h"
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

DECLARE_SECTION(stubs);
DECLARE_SECTION(markers);
DECLARE_SECTION(sdt);
DECLARE_SECTION(sdttarget);
DECLARE_SECTION(imv);

#define RECORDS(kind, record)	__start_kmarkers_##kind##_heads, __stop_kmarkers_##kind##_heads, record

/*
 * Tables in the order of registration.  The table MARKERS precedes the table IMV: registering
 * MARKERS sets the state of each marker, and registering IMV patches the sites of the markers to
 * this state.
 */
enum { STUBS, MARKERS, SDT, IMV, TABLES, TARGETS = TABLES };

static const struct {
	const struct kmarkers_chunk *chunks, *stop;
	unsigned int record;
	const char *failure;
} tables[] = {
	[STUBS] = { RECORDS(stubs, sizeof(struct patcher_site)),
		    "cannot register the table of typed markers" },
	[MARKERS] = { RECORDS(markers, sizeof(s32)), "cannot register the table of markers" },
	[SDT] = { RECORDS(sdt, sizeof(struct patcher_site)),
		  "cannot register the table of SDT probes" },
	[IMV] = { RECORDS(imv, sizeof(struct patcher_site)),
		  "cannot register the table of immediate values" },
	[TARGETS] = { RECORDS(sdttarget, sizeof(struct sdt_target)), NULL },
};

/* Join the chunks of a table, one from each translation unit. */
static int join_table_chunks(struct kmarkers_span *span, unsigned int table)
{
	const struct kmarkers_chunk *chunk;
	int err = 0;

	memset(span, 0, sizeof(*span));
	for (chunk = tables[table].chunks; chunk < tables[table].stop && !err; chunk++)
		err = kmarkers_join_chunk(span, chunk, tables[table].record);
	return err;
}

static int register_program_table(unsigned int table)
{
	struct kmarkers_span span, targets;
	int err = join_table_chunks(&span, table);

	if (err)
		return err;
	if (table == STUBS)
		return marker_stubs_register_module(NULL, &span);
	if (table == MARKERS)
		return marker_tables_register_module(NULL, &span);
	if (table == IMV)
		return imv_register_module_sites(NULL, &span);
	return join_table_chunks(&targets, TARGETS) ?: sdt_register_sites(NULL, &span, &targets);
}

/* Register all tables, even if some of them are refused.  Return the first error, or 0. */
static int register_program_tables(void)
{
	static bool taken[TABLES];
	unsigned int table;
	int err, first = 0;

	for (table = 0; table < TABLES; table++) {
		if (taken[table])
			continue;
		err = register_program_table(table);
		taken[table] = !err;
		if (err)
			native_report_failure(tables[table].failure, err);
		first = first ?: err;
	}
	return first;
}

/*
 * Take the steps of kmarkers_start().  After an error, the program can call kmarkers_start() again:
 * a step that succeeded in an earlier call then does nothing.
 */
static int start_kmarkers_once(void)
{
	static bool started;
	int err;

	if (started)
		return -EBUSY;
	err = native_move_text_to_shared_memory() ?: native_install_sigtrap(patcher_handle_int3) ?:
	      native_check_fork_handlers() ?: register_program_tables();
	started = !err;
	return err;
}

/*
 * The mutex also keeps other threads from forking while the text is moved, because fork() waits
 * until no thread holds a mutex (see native/lock.c).  A child forked during the move could share
 * the moved text with its parent: a patch by one process would change the code of the other
 * process, too.
 */
int kmarkers_start(void)
{
	static struct mutex starting = __MUTEX_INITIALIZER(starting);
	int err;

	mutex_lock(&starting);
	err = start_kmarkers_once();
	mutex_unlock(&starting);
	return err;
}

/* Print the address of a variable instead of its name: a program has no kallsyms. */
void imv_show_variable_name(struct seq_file *m, unsigned long addr)
{
	seq_printf(m, "0x%lx", addr);
}

/*
 * List the markers.  The list is first written to memory, because fputs() takes the lock of the
 * stream, and a thread must not wait for that lock while it holds the locks of the list.
 */
void kmarkers_list(FILE *file)
{
	struct seq_file m;
	char *text = NULL;
	size_t size;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	m.file = open_memstream(&text, &size);
	if (m.file) {
		marker_list_show(&m, NULL);
		fclose(m.file);
	}
	if (text)
		fputs(text, file);
	else
		native_report_failure("cannot list the markers", -ENOMEM);
	free(text);
	pthread_setcancelstate(cancel, NULL);
}
