/* SPDX-License-Identifier: GPL-2.0-only */
/* An assembly macro that writes the record of a note, an SDT site without its own instruction. */
#ifndef TESTS_KERNEL_NOTE_AT_H
#define TESTS_KERNEL_NOTE_AT_H

#include <linux/build_bug.h>
#include <linux/stringify.h>

#include <kmarkers/sdt.h>

/*
 * Write the record of an SDT note at @label.  @probe is the note's struct sdt_probe, @nr the number
 * of arguments, and @codes are the encoded locations of the arguments.
 */
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
