// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notes that cannot be armed, and similar notes that can be armed.  A note is an SDT site without
 * an instruction of its own; a kprobe on the note's address arms the note.  The note of the
 * provider trefused is at an instruction on which the kernel refuses a kprobe.
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

/* Define a function without arguments, which is never called. */
#define FUNCTION(name, insns)						\
	"	.type " name ", @function\n"				\
	name ":\n"							\
	insns								\
	"	.size " name ", . - " name "\n"
#define TNOTE(label, name)	NOTE_AT(label, "sdt_tnotes___" name, "0", "")

/*
 * Functions with SDT notes.  The note "behind" is at the end of its function, as happens after a
 * call that does not return.  The notes "first" are at the beginning of their functions.  The last
 * two bytes before "inside" look like a jump over nothing, but are the end of a constant.  The
 * argument of "elsewhere" has a segment override.
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

/*
 * The SDT note makes no code, so the function executes the same instructions whether @value is 0 or
 * not.
 */
noinline void notes_alone(int value)
{
	if (value)
		SDT_PROBE_FLAVOUR(note, tnotes, , , alone, value);
	WRITE_ONCE(notes_sink, 2);
}

static DEFINE_STATIC_KEY_FALSE(never);

/* The SDT note is at the nop of a static key, on which the kernel refuses a kprobe. */
noinline void notes_refused(void)
{
	SDT_PROBE_FLAVOUR(note, trefused, , , refused);
	if (static_branch_unlikely(&never))
		barrier();
}
