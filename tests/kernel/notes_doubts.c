// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notes that cannot be armed, and some that look like it and can.  Those of the provider
 * trefused are at an instruction at which the kernel takes no kprobe.
 */
#include <linux/compiler.h>
#include <linux/jump_label.h>
#include <linux/kernel.h>

#include "../common/notes.h"
#include "note_at.h"
#include "notes_doubts.h"

SDT_PROVIDER_DECLARE(tnotes);
SDT_PROBE_DEFINE0(tnotes, , , behind);
SDT_PROBE_DEFINE0(tnotes, , , first);
SDT_PROBE_DEFINE0(tnotes, , , inside);
SDT_PROBE_DEFINE1(tnotes, , , elsewhere, "long");
SDT_PROBE_DEFINE1(tnotes, , , alone, "int");
SDT_PROVIDER_DEFINE(trefused);
SDT_PROBE_DEFINE0(trefused, , , refused);

/* A function that nobody calls; without arguments. */
#define FUNCTION(name, insns)						\
	"	.type " name ", @function\n"				\
	name ":\n"							\
	insns								\
	"	.size " name ", . - " name "\n"
#define TNOTE(label, name)	NOTE_AT(label, "sdt_tnotes___" name, "0", "")

/*
 * What follows the note behind is no instruction of its function, as if the compiler knew that
 * what is in front does not return.  The notes first are all that their functions begin with.
 * The last two bytes in front of inside are those of a jump over nothing, but they are the end
 * of a constant.  The argument of elsewhere is relative to another segment.
 */
asm(".pushsection .text, \"ax\"\n"
	FUNCTION("notes_behind", "	jmp notes_behind\n")
	"1:\n"
	FUNCTION("__pfx_notes_first", "	jmp notes_behind\n")
	"2:\n"
	FUNCTION("notes_first", "	jmp notes_first.cold\n")
	".balign 16, 0xcc\n"
	"3:\n"
	FUNCTION("notes_first.cold", "	jmp notes_first\n")
	".balign 16, 0xcc\n"
	FUNCTION("notes_inside",
		 "	movl $0x00740000, %eax\n"
		 "4:	nop\n"
		 "5:	jmp notes_inside\n")
	".balign 16, 0xcc\n"
	TNOTE("1b", "behind")
	TNOTE("2b", "first")
	TNOTE("3b", "first")
	TNOTE("4b", "inside")
	NOTE_AT("5b", "sdt_tnotes___elsewhere", "1", "	.byte -8\n	movq %gs:8(%rbx), %rax\n")
	".popsection\n");

/* Whether value is 0 or not, the same instructions are executed. */
noinline void notes_alone(int value)
{
	if (value)
		SDT_PROBE_FLAVOUR(note, tnotes, , , alone, value);
	WRITE_ONCE(notes_sink, 2);
}

static DEFINE_STATIC_KEY_FALSE(never);

/* The instruction of a static key is the kernel's own. */
noinline void notes_refused(void)
{
	SDT_PROBE_FLAVOUR(note, trefused, , , refused);
	if (static_branch_unlikely(&never))
		barrier();
}
