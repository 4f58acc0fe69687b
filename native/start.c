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

/*
 * The chunks of the translation units follow each other, each aligned to 8.  @chunk
 * stands behind those that were taken: who tries again goes on there.
 */
static int take_chunks(struct kmarkers_chunk **chunk, struct kmarkers_chunk *stop,
		       const char *what, take_chunk *take)
{
	while (*chunk < stop) {
		unsigned long next = (unsigned long)*chunk + (*chunk)->bytes;
		int err = take(NULL, *chunk);

		if (err)
			return start_failed(what, err);
		*chunk = (void *)((next + 7) & ~7UL);
	}
	return 0;
}

int start_failed(const char *what, int err)
{
	fprintf(stderr, "kmarkers: %s: %s\n", what, strerror(-err));
	return err;
}

static int take_tables(void)
{
	static struct kmarkers_chunk *imv = __start_kmarkers_imv;
	static struct kmarkers_chunk *stubs = __start_kmarkers_stubs;
	static struct kmarkers_chunk *markers = __start_kmarkers_markers;

	return take_chunks(&imv, __stop_kmarkers_imv, "table of immediate values refused",
			   imv_add_chunk) ?:
	       take_chunks(&stubs, __stop_kmarkers_stubs, "table of typed markers refused",
			   typed_add_chunk) ?:
	       take_chunks(&markers, __stop_kmarkers_markers, "table of markers refused",
			   markers_add_chunk);
}

/* Each step finds what an earlier call has done, and does not do it again. */
int kmarkers_start(void)
{
	static bool started;
	int err;

	if (started)
		return -EBUSY;
	/* A child has either the text of before or a copy of its own. */
	native_gate_enter();
	err = text_start();
	native_gate_leave();
	err = err ?: trap_start() ?: fork_start() ?: take_tables();
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
