// SPDX-License-Identifier: GPL-2.0-only
/*
 * Breakpoints that a tracer or a debugger has stored into the program's text.  They are valid
 * only at their address in a mapping of the program's file: a copy of one is handled by no
 * one, and would end the program.
 */
#include <string.h>

#include <linux/types.h>

#include <kmarkers/opcodes.h>

#include "../patcher/insn.h"
#include "foreign.h"
#include "program.h"

#define PAGE_BYTES	4096UL
#define CALL		0xe8
#define CALL_BYTES	5
#define TRAMPOLINE	"[uprobes-trampoline]"

/* Does the dynamic linker write into the text, so that it differs from that of the file? */
static bool has_text_relocations(const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *entry = NULL;
	int i;

	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			entry = (void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; entry && entry->d_tag != DT_NULL; entry++)
		if (entry->d_tag == DT_TEXTREL ||
		    (entry->d_tag == DT_FLAGS && entry->d_un.d_val & DF_TEXTREL))
			return true;
	return false;
}

/*
 * Is the instruction a call of a uprobe?  From Linux 6.18 on, a uprobe on a long nop becomes a
 * call to a page that the kernel maps.
 */
static bool calls_trampoline(const u8 *bytes, unsigned long addr)
{
	char name[sizeof(TRAMPOLINE)];
	s32 distance;

	if (bytes[0] != CALL)
		return false;
	memcpy(&distance, bytes + 1, sizeof(distance));
	return native_mapping_name(addr + CALL_BYTES + distance, name, sizeof(name)) &&
	       !strcmp(name, TRAMPOLINE);
}

/*
 * Return how many bytes, from the first that differs from the file, a tracer wrote.  A nop may be
 * on its way to a call: an int3, and behind it bytes of either.
 */
static size_t foreign_bytes(const u8 *now, const u8 *was, size_t left, unsigned long addr)
{
	struct patcher_insn insn;
	bool is_nop = !patcher_insn_decode(was, left, &insn) && insn.kind == PATCHER_INSN_NOP;

	if (*now == KMARKERS_INT3)
		return is_nop ? insn.len : 1;
	if (is_nop && insn.len >= CALL_BYTES &&
	    calls_trampoline(now + insn.len - CALL_BYTES, addr + insn.len - CALL_BYTES))
		return insn.len;
	return 0;
}

void native_drop_foreign(unsigned char *copy, size_t size, const ElfW(Phdr) *segment)
{
	const struct native_program *program = native_program();
	unsigned long start = (program->info.dlpi_addr + segment->p_vaddr) & ~(PAGE_BYTES - 1);
	unsigned long offset = segment->p_offset & ~(PAGE_BYTES - 1);
	const u8 *was = (const u8 *)program->file + offset;
	size_t at, nr;

	if (!program->file || offset >= program->size || has_text_relocations(&program->info))
		return;
	if (size > program->size - offset)
		size = program->size - offset;
	for (at = 0; at < size; at += nr) {
		if (at % PAGE_BYTES == 0 && size - at >= PAGE_BYTES &&
		    !memcmp(copy + at, was + at, PAGE_BYTES)) {
			nr = PAGE_BYTES;
			continue;
		}
		nr = copy[at] == was[at] ? 0 :
		     foreign_bytes(copy + at, was + at, size - at, start + at);
		memcpy(copy + at, was + at, nr);
		nr = nr ?: 1;
	}
}
