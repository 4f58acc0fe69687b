/* SPDX-License-Identifier: GPL-2.0-only */
/* Notes that tests write by hand, in the language of the assembler. */
#ifndef TESTS_KERNEL_NOTE_AT_H
#define TESTS_KERNEL_NOTE_AT_H

#include <linux/build_bug.h>
#include <linux/stringify.h>

#include <kmarkers/sdt.h>

/* A note at a label, of a probe with nr arguments; codes say where these are. */
#define NOTE_AT(label, probe, nr, codes)				\
	KMARKERS_RECORD(sdtnote,					\
	"	.long " label " - ., " probe " - .\n"			\
	"	.byte 0, 4\n"						\
	"	.short " nr " << " __stringify(SDT_ARGS_SHIFT) "\n"	\
	"	.long 9f - .\n")					\
	"	.pushsection " KMARKERS_SECTION(sdtnote) "_codes, \"aw\", @progbits\n" \
	"9:\n"								\
	codes								\
	"	.popsection\n"

static_assert(SDT_NOTE == 4);

#endif /* TESTS_KERNEL_NOTE_AT_H */
