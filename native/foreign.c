// SPDX-License-Identifier: GPL-2.0-only
/*
 * Breakpoints that tracers and debuggers have stored into the program's text.  A tracer handles
 * a breakpoint only in a mapping of the program's file.  In a copy of the text, the breakpoint
 * would raise an unhandled SIGTRAP and end the program.  So breakpoints are removed from each copy.
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

/*
 * Return true if the program has text relocations, so that the text in memory differs from the text
 * in the file.
 */
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
 * Return true if the instruction at @addr, whose bytes are @bytes, is a call that the kernel stored
 * for a uprobe.  Since Linux 6.18, the kernel replaces a probed long nop by a call to a page that
 * it maps into the program.
 */
static bool is_call_to_trampoline(const u8 *bytes, unsigned long addr)
{
	char name[sizeof(TRAMPOLINE)];
	s32 distance;

	if (bytes[0] != CALL)
		return false;
	memcpy(&distance, bytes + 1, sizeof(distance));
	return native_find_mapping_name(addr + CALL_BYTES + distance, name, sizeof(name)) &&
	       !strcmp(name, TRAMPOLINE);
}

/*
 * Return the number of bytes that a tracer has written at @memory, or 0.  If the first byte of a
 * nop is an int3, return the length of the nop: while the kernel replaces a nop by a call, the
 * bytes behind the int3 may belong to the nop or to the call.
 * @memory: text of the program, whose first byte differs from @file
 * @file: the same text in the program's file
 * @size: number of bytes up to the end of the text
 * @addr: address of @memory in the program
 */
static size_t count_tracer_bytes(const u8 *memory, const u8 *file, size_t size, unsigned long addr)
{
	struct patcher_insn insn;
	bool is_nop = !patcher_insn_decode(file, size, &insn) && insn.kind == PATCHER_INSN_NOP;

	if (*memory == KMARKERS_INT3)
		return is_nop ? insn.len : 1;
	if (is_nop && insn.len >= CALL_BYTES &&
	    is_call_to_trampoline(memory + insn.len - CALL_BYTES, addr + insn.len - CALL_BYTES))
		return insn.len;
	return 0;
}

void native_remove_breakpoints(unsigned char *copy, size_t size, const ElfW(Phdr) *segment)
{
	const struct native_program *program = native_get_program();
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
		     count_tracer_bytes(copy + at, was + at, size - at, start + at);
		memcpy(copy + at, was + at, nr);
		nr = nr ?: 1;
	}
}
