/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Definitions of the SDT probes and data that notes_hits.h uses.  One file of each module includes
 * this header.
 */
#include <kmarkers/sdt.h>

#include "notes.h"

SDT_PROVIDER_DEFINE(tnotes);
SDT_PROBE_DEFINE0(tnotes, , , none);
SDT_PROBE_DEFINE7(tnotes, , , registers, "long", "long", "long", "long", "long", "long", "long");
SDT_PROBE_DEFINE7(tnotes, , , sizes, "s8", "u8", "s16", "u16", "s32", "u32", "bool");
SDT_PROBE_DEFINE3(tnotes, , , constants, "int", "long", "unsigned int");
SDT_PROBE_DEFINE4(tnotes, , , stack, "long", "s16", "u8", "int");
SDT_PROBE_DEFINE2(tnotes, , , indexed, "long", "s16");
SDT_PROBE_DEFINE1(tnotes, , , global, "int");
SDT_PROBE_DEFINE4(tnotes, , , bits, "unsigned int", "int", "u64", "bool");
SDT_PROBE_DEFINE7(tnotes, , , many, "long", "long", "long", "long", "long", "long", "long");
SDT_PROBE_DEFINE2(tnotes, , , nested, "int", "int");
SDT_PROBE_DEFINE1(tnotes, , , loop, "int");

long notes_sink;
int notes_global = -12345678;
struct notes_bits notes_bits = { .a = 5, .b = -3, .c = 0xabcdef0123, .d = true };

noinline void fill_notes_frame(struct notes_frame *frame, long seed)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		frame->many[i] = -100000000000L * (long)(i + seed);
		frame->few[i] = -1000 * (int)(i + seed);
		frame->text[i] = 250 + i;
	}
	/* Hide the stored values from the compiler, so that callers must load the values. */
	barrier();
}
