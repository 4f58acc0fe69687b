/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tables that the build collects and the loader finds.
 *
 * Every translation unit that includes a header of kmarkers contributes one
 * *chunk* to an ELF section: a head, then the records that macros placed there
 * from wherever in the code they stand.  Assembler subsections keep the head in
 * front (0), the records in the middle (1) and the end label behind (2), so no
 * linker script and no begin/end objects are needed.
 *
 * The head holds a reference to a symbol of the module that serves the records:
 * a client cannot be loaded without that module, and pins it while it stays.
 *
 * In a kernel module the chunks are found by the local symbol at each head,
 * which mod->kallsyms still has while the module is MODULE_STATE_COMING.  In
 * user space the linker's __start_ and __stop_ symbols bound the section.
 *
 * The section names begin with .discard because objtool passes over such
 * sections (they point at code that is no indirect branch target), and continue
 * without a dot because the module linker script drops only .discard.*.
 */
#ifndef KMARKERS_TABLE_H
#define KMARKERS_TABLE_H

#include <linux/stringify.h>
#include <linux/types.h>

#define KMARKERS_TABLE_VERSION	1

/**
 * struct kmarkers_chunk - head of the records of one translation unit
 * @needs: address of a symbol of the module that serves them
 * @bytes: of this head and all its records
 * @record: bytes of one record
 * @version: KMARKERS_TABLE_VERSION of the header that was compiled
 */
struct kmarkers_chunk {
	u64 needs;
	u32 bytes;
	u16 record;
	u16 version;
};

/* True if the head was compiled by this version and holds whole records of @record bytes. */
static inline bool kmarkers_chunk_valid(const struct kmarkers_chunk *chunk, unsigned int record)
{
	return chunk->version == KMARKERS_TABLE_VERSION && chunk->record == record &&
	       chunk->bytes >= sizeof(*chunk) && (chunk->bytes - sizeof(*chunk)) % record == 0;
}

/* Number of records behind a head; 0 if it is not valid. */
static inline unsigned int kmarkers_chunk_records(const struct kmarkers_chunk *chunk,
						  unsigned int record)
{
	if (!kmarkers_chunk_valid(chunk, record))
		return 0;
	return (chunk->bytes - sizeof(*chunk)) / record;
}

#ifdef __KERNEL__
#define KMARKERS_SECTION(kind)	".discard_kmarkers_" #kind
#else
#define KMARKERS_SECTION(kind)	"kmarkers_" #kind
#endif

#define KMARKERS_SYMBOL(kind)	"kmarkers_chunk_" #kind

/* Once per translation unit and kind, at file scope. */
#define KMARKERS_CHUNK(kind, needs, record)				\
asm(".pushsection " KMARKERS_SECTION(kind) ", 0, \"aw\", @progbits\n"	\
	"	.balign 8\n"							\
	KMARKERS_SYMBOL(kind) ":\n"						\
	"	.quad " #needs "\n"						\
	"	.long .Lkmarkers_end_" #kind " - " KMARKERS_SYMBOL(kind) "\n"	\
	"	.short " #record ", " __stringify(KMARKERS_TABLE_VERSION) "\n"	\
	".popsection\n"							\
	".pushsection " KMARKERS_SECTION(kind) ", 2, \"aw\", @progbits\n"	\
	".Lkmarkers_end_" #kind ":\n"					\
	".popsection\n")

/* Around one record, inside an asm statement. */
#define KMARKERS_RECORD(kind, text)					\
	".pushsection " KMARKERS_SECTION(kind) ", 1, \"aw\", @progbits\n" \
	"	.balign 4\n"						\
	text								\
	".popsection\n"

#endif /* KMARKERS_TABLE_H */
