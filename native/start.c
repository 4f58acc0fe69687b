// SPDX-License-Identifier: GPL-2.0-only
/* What the module loader does for a module, done for a program: hand over its tables. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <linux/mutex.h>
#include <linux/seq_file.h>

#include <kmarkers/user.h>

#include "../immediate/imv.h"
#include "../markers/registry.h"
#include "text.h"

#define DECLARE_SECTION(kind)						\
	extern struct kmarkers_chunk __start_kmarkers_##kind[], __stop_kmarkers_##kind[]

DECLARE_SECTION(imv);
DECLARE_SECTION(stubs);
DECLARE_SECTION(markers);

typedef int take_chunk(struct module *module, struct kmarkers_chunk *chunk);

/* The chunks of the translation units follow each other, each aligned to 8. */
static int for_each_chunk(struct kmarkers_chunk *start, struct kmarkers_chunk *stop,
			  const char *what, take_chunk *take)
{
	struct kmarkers_chunk *chunk = start;
	int err = 0;

	while (chunk < stop && !err) {
		unsigned long next = (unsigned long)chunk + chunk->bytes;

		err = take(NULL, chunk);
		chunk = (void *)((next + 7) & ~7UL);
	}
	return err ? start_failed(what, err) : 0;
}

int start_failed(const char *what, int err)
{
	fprintf(stderr, "kmarkers: %s: %s\n", what, strerror(-err));
	return err;
}

int kmarkers_start(void)
{
	static bool started;
	int err;

	if (started)
		return -EBUSY;
	/* A child has either the text of before or a copy of its own. */
	pthread_rwlock_rdlock(&native_fork_gate);
	err = text_start();
	pthread_rwlock_unlock(&native_fork_gate);
	if (!err)
		err = trap_start();
	if (!err)
		err = fork_start();
	if (!err)
		err = for_each_chunk(__start_kmarkers_imv, __stop_kmarkers_imv,
				     "table of immediate values refused", imv_add_chunk);
	if (!err)
		err = for_each_chunk(__start_kmarkers_stubs, __stop_kmarkers_stubs,
				     "table of typed markers refused", typed_add_chunk);
	if (!err)
		err = for_each_chunk(__start_kmarkers_markers, __stop_kmarkers_markers,
				     "table of markers refused", markers_add_chunk);
	started = !err;
	return err;
}

/* A program has no table of its symbols at hand. */
void imv_show_symbol(struct seq_file *m, unsigned long addr)
{
	seq_printf(m, "0x%lx", addr);
}

void kmarkers_list(FILE *file)
{
	struct seq_file m = { .file = file };

	markers_show(&m, NULL);
}
