/* SPDX-License-Identifier: GPL-2.0-only */
/* Tables that the fuzz target of typed markers passes to the code under test. */
#ifndef TESTS_FUZZ_TYPED_H
#define TESTS_FUZZ_TYPED_H

#include <kmarkers/patcher.h>
#include <kmarkers/typed.h>

#include "arena.h"

#define CHUNKS		2
#define MARKERS		(CHUNKS * 2)
#define STUBS		3	/* maximum number of stubs in a chunk */
#define SITES		(STUBS * 3)
#define STUB_BYTES	20
#define MODULE(number)	((struct module *)(unsigned long)((number) + 1))
#define FAR		((marker_typed_func *)0x7f0000000000UL)

struct typed_stubs {
	struct kmarkers_chunk head;
	struct patcher_site sites[SITES];
} __aligned(8);

struct typed_table {
	struct kmarkers_chunk head;
	s32 records[2];
} __aligned(8);

extern struct typed_stubs typed_stubs[CHUNKS];
extern struct typed_table typed_tables[CHUNKS];
extern struct marker_typed typed_markers[MARKERS];
extern const char *const typed_names[MARKERS];

/* Bytes of a valid stub, and offsets and lengths of its three instructions. */
extern const u8 typed_stub_bytes[STUB_BYTES], typed_stub_at[3], typed_stub_len[3];

/* The function that a marker calls while the marker has no probe. */
void typed_empty_probe(void);

/* Fill the markers of a chunk, the stubs of a chunk, and the arena, as selected by the input. */
void typed_fill_markers(struct input *in, int chunk);
void typed_fill_stubs(struct input *in, int chunk);
void typed_fill_arena(struct input *in);

#endif /* TESTS_FUZZ_TYPED_H */
