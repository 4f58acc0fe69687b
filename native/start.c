// SPDX-License-Identifier: GPL-2.0-only
/* What the module loader does for a module, done for a program: hand over its tables. */
#include <stdio.h>
#include <string.h>

#include <kmarkers/marker.h>

#include "../immediate/imv.h"
#include "../markers/registry.h"
#include "native.h"
#include "text.h"

#define DECLARE_SECTION(kind)						\
	extern struct kmarkers_chunk __start_kmarkers_##kind[], __stop_kmarkers_##kind[]

DECLARE_SECTION(imv);
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
	if (err)
		fprintf(stderr, "kmarkers: table of %s refused: %s\n", what, strerror(-err));
	return err;
}

int native_start(void)
{
	int err;

	err = native_text_start();
	if (err)
		return err;
	err = for_each_chunk(__start_kmarkers_imv, __stop_kmarkers_imv, "immediate values",
			     imv_add_chunk);
	if (err)
		return err;
	return for_each_chunk(__start_kmarkers_markers, __stop_kmarkers_markers, "markers",
			      markers_add_chunk);
}
